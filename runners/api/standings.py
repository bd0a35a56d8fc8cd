"""Benchmarks across models over HTTP: rankings, devices and environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.outputs import answers_of
from registry.api.parameters import PAGED, asks
from runners.api.benchmarks import whole
from runners.api.measurements import (
    DeviceOutput,
    EnvironmentOutput,
    KeyOutput,
    StandingOutput,
)
from runners.benchmarks import rankings, selectors

if TYPE_CHECKING:
    from rest_framework.request import Request

TEXTS = ("task", "key", "device", "runtime", "provider", "scenario", "precision")
NUMBERS = ("batch", "max_parameters", "max_bytes")


class Standings(APIView):
    """Results across models."""

    @extend_schema(
        operation_id="benchmarks_list",
        responses=pagination.paged(StandingOutput, keys=KeyOutput(many=True)),
    )
    @asks(
        *(OpenApiParameter(name, str) for name in TEXTS),
        *(OpenApiParameter(name, int) for name in NUMBERS),
        OpenApiParameter("sort", enum=list(rankings.SORTS)),
        OpenApiParameter("contributed", bool, description="include contributed results"),
        *PAGED,
    )
    def get(self, request: Request) -> Response:
        """Accepted results of each model's newest version, ranked inside their comparability key.

        Results are grouped by comparability key. `keys` lists the keys; `key` selects one.
        """
        query = request.query_params
        texts = {name: query.get(name, "") for name in TEXTS}
        selection = rankings.Selection(
            **texts,
            batch=whole(query, "batch"),
            max_parameters=whole(query, "max_parameters"),
            max_bytes=whole(query, "max_bytes"),
            sort=query.get("sort", "p50"),
            contributed=query.get("contributed", "") in ("1", "true"),
        )
        ranking = rankings.across(
            request.user,
            selection,
            limit=pagination.limit_of(request),
            cursor=query.get("cursor", ""),
        )
        keys = answers_of(KeyOutput, ranking.keys)
        items, following = list(ranking.items), ranking.next
        return pagination.respond(
            request, StandingOutput, items, following, keys=keys, capped=ranking.capped
        )


class DeviceList(APIView):
    """The devices that models were measured on."""

    @extend_schema(operation_id="devices_list", responses=pagination.paged(DeviceOutput))
    @asks()
    def get(self, request: Request) -> Response:
        """List device classes, the most measured first."""
        rows = selectors.devices(request.user)[: pagination.LONGEST]
        return pagination.respond(request, DeviceOutput, rows, None)


class EnvironmentDetail(APIView):
    """One environment."""

    @extend_schema(operation_id="environments_read", responses=EnvironmentOutput)
    def get(self, request: Request, digest: str) -> Response:
        """Read the environment of results that you can see."""
        row = selectors.environment(request.user, digest)
        return Response(EnvironmentOutput(row).data)


class EnvironmentList(APIView):
    """The environments of results."""

    @extend_schema(operation_id="environments_list", responses=pagination.paged(EnvironmentOutput))
    @asks()
    def get(self, request: Request) -> Response:
        """List the environments of results that you can see, newest first."""
        rows = selectors.environments(request.user)[: pagination.LONGEST]
        return pagination.respond(request, EnvironmentOutput, list(rows), None)
