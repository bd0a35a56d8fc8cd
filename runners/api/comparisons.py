"""Comparisons of the speed of versions over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.inputs import Input, parse
from registry.api.parameters import asks
from registry.versions import selectors
from runners.api.measurements import ComparisonOutput
from runners.api.responses import jobs_response
from runners.api.serializers import JobOutput
from runners.benchmarks import comparisons
from runners.benchmarks import selectors as benchmarks

if TYPE_CHECKING:
    from rest_framework.request import Request


class ComparisonInput(Input):
    """The baseline of a comparison with the version in the URL."""

    baseline = serializers.IntegerField(help_text="the number of a version of the same model")
    baseline_variant = serializers.CharField(required=False, default="", allow_blank=True)
    variant = serializers.CharField(required=False, default="", allow_blank=True)
    runtime = serializers.CharField(required=False, default="", allow_blank=True)
    provider = serializers.CharField(required=False, default="", allow_blank=True)


class ComparisonList(APIView):
    """Comparisons of a version with earlier ones."""

    @extend_schema(operation_id="comparisons_list", responses=pagination.paged(ComparisonOutput))
    @asks()
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List comparisons: the newest with each earlier variant on each runtime."""
        version = selectors.version(request.user, namespace, name, number)
        rows = benchmarks.comparisons_of(version)
        return pagination.respond(request, ComparisonOutput, rows, None)

    @extend_schema(
        operation_id="comparisons_run",
        request=ComparisonInput,
        responses={202: pagination.paged(JobOutput)},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Compare the speed of this version with another one; for maintainers."""
        version = selectors.version(request.user, namespace, name, number)
        data = parse(ComparisonInput, request.data)
        before = selectors.version(request.user, namespace, name, data["baseline"])
        jobs = comparisons.ask(
            request.user,
            baseline=selectors.variant(before, data["baseline_variant"] or None, None, None),
            candidate=selectors.variant(version, data["variant"] or None, None, None),
            runtime=data["runtime"],
            provider=data["provider"],
        )
        return jobs_response(request, jobs)


class ComparisonDetail(APIView):
    """One comparison."""

    @extend_schema(operation_id="comparisons_read", responses=ComparisonOutput)
    def get(self, request: Request, namespace: str, name: str, number: int, pk: int) -> Response:
        """Read a comparison."""
        version = selectors.version(request.user, namespace, name, number)
        return Response(ComparisonOutput(benchmarks.comparison(version, pk)).data)
