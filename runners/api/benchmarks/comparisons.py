"""Comparisons of the speed of versions over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from registry.api.inputs import Input
from registry.api.operations import VersionView, listing, operation
from registry.api.pagination import paged, whole
from registry.versions import selectors
from runners.api.benchmarks.measurements import ComparisonOutput
from runners.api.serializers import JobOutput
from runners.benchmarks import comparisons
from runners.benchmarks import selectors as benchmarks

if TYPE_CHECKING:
    from runners.models import Comparison


class ComparisonInput(Input):
    """The baseline of a comparison with the version in the URL."""

    baseline = serializers.IntegerField(help_text="the number of a version of the same model")
    baseline_variant = serializers.CharField(required=False, default="", allow_blank=True)
    variant = serializers.CharField(required=False, default="", allow_blank=True)
    runtime = serializers.CharField(required=False, default="", allow_blank=True)
    provider = serializers.CharField(required=False, default="", allow_blank=True)


class ComparisonList(VersionView):
    """Comparisons of a version with earlier ones."""

    @listing("comparisons_list", ComparisonOutput)
    def get(self) -> list[Comparison]:
        """List comparisons: the newest with each earlier variant on each runtime."""
        return benchmarks.comparisons_of(self.version)

    @operation("comparisons_run", paged(JobOutput), reads=ComparisonInput, status=202)
    def post(
        self, baseline: int, baseline_variant: str, variant: str, runtime: str, provider: str
    ) -> dict[str, Any]:
        """Compare the speed of this version with another one; for maintainers."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        before = selectors.version(actor, *place, baseline)
        jobs = comparisons.ask(
            actor,
            baseline=selectors.variant(before, baseline_variant or None, None, None),
            candidate=selectors.variant(self.version, variant or None, None, None),
            runtime=runtime,
            provider=provider,
        )
        return whole(jobs)


class ComparisonDetail(VersionView):
    """One comparison."""

    @operation("comparisons_read", ComparisonOutput)
    def get(self) -> Comparison:
        """Read a comparison."""
        return benchmarks.comparison(self.version, self.kwargs["pk"])
