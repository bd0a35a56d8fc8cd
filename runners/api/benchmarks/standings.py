"""Benchmarks across models over HTTP: rankings, devices and environments."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api import pagination
from registry.api.operations import View, detail, listing, resource
from registry.api.outputs import answers_of
from registry.api.parameters import PAGED, asks
from runners.api.benchmarks.measurements import (
    DeviceOutput,
    EnvironmentOutput,
    KeyOutput,
    StandingOutput,
)
from runners.api.benchmarks.results import whole_number
from runners.benchmarks import machines, rankings
from runners.models import Environment

TEXTS = ("task", "key", "device", "runtime", "provider", "scenario", "precision")
NUMBERS = ("batch", "max_parameters", "max_bytes")


class Standings(View):
    """Results across models, their devices and environments."""

    environment = resource(machines.environment, "digest")

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
    def index(self, request: Request) -> Response:
        """Accepted results of each model's newest version, ranked inside their comparability key.

        Results are grouped by comparability key. `keys` lists the keys; `key` selects one.
        """
        query = request.query_params
        texts: dict[str, Any] = {name: query.get(name, "") for name in TEXTS}
        numbers: dict[str, Any] = {name: whole_number(query, name) for name in NUMBERS}
        selection = rankings.Selection(
            **texts,
            **numbers,
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

    @listing("devices_list", DeviceOutput)
    def devices(self) -> list[Any]:
        """List device classes, the most measured first."""
        return machines.devices(self.request.user)[: pagination.LONGEST]

    @listing("environments_list", EnvironmentOutput)
    def environments(self) -> list[Environment]:
        """List the environments of results that you can see, newest first."""
        return list(machines.environments(self.request.user)[: pagination.LONGEST])

    read_environment = detail(
        "environments_read",
        EnvironmentOutput,
        "Read the environment of results that you can see.",
        targets=("environment",),
    )
