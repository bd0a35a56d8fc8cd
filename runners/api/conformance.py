"""Conformance over HTTP: the newest result of each check, the evidence behind it, another run."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from registry.api.addresses import file_url
from registry.api.inputs import Input
from registry.api.operations import VersionView, listing, operation
from registry.api.outputs import Column, Columns, Digest, Output
from registry.api.pagination import paged, whole
from registry.versions import evidence
from runners.api.serializers import JobOutput
from runners.models import ConformanceResult
from runners.proofs import selectors as proof_selectors
from runners.proofs import verification


class ConformanceOutput(Output[ConformanceResult]):
    """The result of one check of a variant on a version of a runtime; outcomes as in EARL 1.0."""

    columns = Columns(
        "id",
        Column("variant", "variant.name"),
        Column("entry_sha256", field=Digest),
        "runtime",
        "runtime_version",
        Column("check", "check_kind"),
        "outcome",
        "blames",
        Column("graph_pass"),
        Column(
            "verdict",
            help_text="the outcome in one word; only `failed`, `optimiser-wrong`, and "
            "`does-not-run` with the outcome `failed`, count against the model or the runtime",
        ),
        Column(
            "runs",
            help_text="whether the runtime completed at least one input; null if it was not tried "
            "or the result predates this field",
        ),
        "reason",
        Column("profile", help_text="the tolerance profile"),
        "datasets",
        "seconds",
        Column(
            "node",
            help_text="the first node that diverged: name, op, index in its graph, figures, alone, "
            "and path: the bodies that it stands in from the outside, each with op, name, index, "
            "body and iteration (from 0; null outside of loops)",
        ),
        "at",
        Column("job", "job_id"),
        Column("evidence", help_text="the extracted node, with its inputs"),
        "url",
    )

    blames = serializers.ChoiceField(
        [("", "nobody"), *ConformanceResult.Blame.choices], help_text="cause of the failure"
    )

    @extend_schema_field(serializers.URLField(allow_null=True))
    def get_evidence(self, result: ConformanceResult) -> str | None:
        version = result.variant.version
        return file_url(version, result.evidence.path) if result.evidence else None

    def get_url(self, result: ConformanceResult) -> str:
        path = evidence.path(result.variant.version, "conformance", result.pk)
        return f"{settings.HUB_PUBLIC_URL}{path}"


class ConformanceDetailOutput(ConformanceOutput):
    """A result with its figures for each data set and output."""

    columns = Columns("figures", Column("versions", help_text="versions of the tools used"))

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_versions(self, result: ConformanceResult) -> Any:
        return result.job.typed_report.versions


class ConformanceInput(Input):
    """Which conformance checks to run again (default: all)."""

    columns = Columns("variant", "runtime", of=verification.again)


class Conformance(VersionView):
    """The conformance of a version."""

    @listing(
        "conformance_list",
        ConformanceOutput,
        OpenApiParameter("history", bool, description="include older results"),
        OpenApiParameter("variant", str),
        OpenApiParameter("runtime", str),
    )
    def index(self) -> list[ConformanceResult]:
        """List conformance results: the newest of each check on each runtime."""
        query = self.request.query_params
        with_history = query.get("history", "") in ("1", "true")
        rows = proof_selectors.results_of(self.version, with_history=with_history)
        variant, runtime = query.get("variant"), query.get("runtime")
        rows = [
            row
            for row in rows
            if variant in (None, row.variant.name) and runtime in (None, row.runtime)
        ]
        for row in rows:
            row.variant.version = self.version
        return rows

    @operation("conformance_run", paged(JobOutput), reads=ConformanceInput, status=202)
    def run(self, **checks: str) -> dict[str, Any]:
        """Run the conformance checks again. Returns the jobs."""
        return whole(verification.again(self.request.user, version=self.version, **checks))

    @operation("conformance_read", ConformanceDetailOutput)
    def read(self) -> ConformanceResult:
        """Read a conformance result with its figures."""
        result = proof_selectors.result(self.version, self.kwargs["pk"])
        result.variant.version = self.version
        return result
