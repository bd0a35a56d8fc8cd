"""Comparisons of the speed of versions over HTTP."""

from __future__ import annotations

from typing import Any

from registry.api.inputs import OPTIONAL_TEXT, Input
from registry.api.operations import VersionView, detail, listing, operation, resource
from registry.api.outputs import Column, Columns
from registry.api.pagination import paged, whole
from registry.versions import selectors
from runners.api.benchmarks.measurements import ComparisonOutput
from runners.api.serializers import JobOutput
from runners.benchmarks import comparisons
from runners.benchmarks import selectors as benchmarks
from runners.models import Comparison


class ComparisonInput(Input):
    """The baseline of a comparison with the version in the URL."""

    columns = Columns(
        Column("baseline", kind=int, help_text="the number of a version of the same model"),
        Column("baseline_variant", **OPTIONAL_TEXT),
        Column("variant", **OPTIONAL_TEXT),
        Column("runtime", **OPTIONAL_TEXT),
        Column("provider", **OPTIONAL_TEXT),
    )


class Comparisons(VersionView):
    """Comparisons of a version with earlier ones."""

    comparison = resource(benchmarks.comparison, "version", "pk", needs_actor=False)

    @listing("comparisons_list", ComparisonOutput)
    def index(self) -> list[Comparison]:
        """List comparisons: the newest with each earlier variant on each runtime."""
        return benchmarks.comparisons_of(self.version)

    @operation("comparisons_run", paged(JobOutput), reads=ComparisonInput, status=202)
    def run(
        self, baseline: int, baseline_variant: str, variant: str, **offer: str
    ) -> dict[str, Any]:
        """Compare the speed of this version with another one; for maintainers."""
        actor, place = self.request.user, (self.kwargs["namespace"], self.kwargs["name"])
        before = selectors.version(actor, *place, baseline)
        jobs = comparisons.ask(
            actor,
            baseline=selectors.variant(before, baseline_variant or None, None, None),
            candidate=selectors.variant(self.version, variant or None, None, None),
            **offer,
        )
        return whole(jobs)

    read = detail(
        "comparisons_read",
        ComparisonOutput,
        "Read a comparison.",
        targets=("comparison",),
    )
