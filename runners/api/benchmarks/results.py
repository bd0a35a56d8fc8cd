"""Benchmarks of a version over HTTP: results, records and samples, runs, contributions."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from hub.protocol import problems
from registry.api.inputs import OPTIONAL_TEXT, Input, Items
from registry.api.operations import VersionView, detail, listing, operation, resource
from registry.api.outputs import Column, Columns
from registry.api.pagination import paged, whole
from registry.versions import selectors
from runners.api.benchmarks.measurements import (
    ChallengeOutput,
    ContributedRecordOutput,
    MeasurementDetailOutput,
    MeasurementOutput,
    SamplesOutput,
    contribution_url,
)
from runners.api.serializers import JobOutput
from runners.benchmarks import (
    challenges,
    contributions,
    samples,
    scheduling,
)
from runners.benchmarks import (
    selectors as benchmark_selectors,
)
from runners.engine.benchmark.options import Options
from runners.models import Challenge, ContributedRecord, Measurement

SIGNATURE = "Hub-Signature"
FILTERS = ("variant", "precision", "device", "runtime", "provider", "scenario")


class RecordParser(BaseParser):
    """JSON as text, up to the size of a record that may be sent."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        content: bytes = stream.read(contributions.MOST_BYTES + 1)
        if len(content) > contributions.MOST_BYTES:
            raise problems.TooLarge(
                f"A record may have at most {contributions.MOST_BYTES:,} bytes. Measure fewer "
                "samples per process."
            )
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise problems.InvalidRequest("The body is not valid JSON.") from None


class RunInput(Input):
    """What to benchmark (default: the first variant, on every runtime and provider)."""

    columns = Columns(
        Column("variant", **OPTIONAL_TEXT),
        Column("runtime", **OPTIONAL_TEXT),
        Column("provider", **OPTIONAL_TEXT),
        Column("pool", **OPTIONAL_TEXT),
        Column("effort", choices=("light", "full"), default="full"),
        "scenario",
        Column("rate_per_s", help_text="requests per second in the server scenario"),
        Column(
            "concurrency", help_text="requests in flight at once in the server scenario, 1 to 64"
        ),
        Column(
            "latency_bound_ms",
            help_text="bound of a latency percentile in the server scenario; without rate_per_s, "
            "the highest rate within it is searched",
        ),
        Column("bound_percentile", help_text="p50, p90, p95, p99 (default) or p99.9"),
        "call_style",
        Column(
            "batch",
            help_text="default: 1; in the offline scenario the one of the highest throughput",
        ),
        Column(
            "most_batch", help_text="largest batch to try in the offline scenario (default: 64)"
        ),
        "threads",
        Column("shapes", help_text="sizes of dynamic dimensions by name"),
        Column("input_shapes", help_text="complete shapes of inputs by name"),
        Column("sweep_batch", field=Items, child=serializers.IntegerField(), max_length=64),
        Column("sweep_threads", field=Items, child=serializers.IntegerField(), max_length=64),
        Column(
            "provider_options",
            kind=dict[str, str],
            help_text="options of the execution provider or runtime by name; name the provider too",
        ),
        Column("strict_provider", help_text="fail if another provider would run part of the model"),
        of=Options,
        required=False,
    )


class Benchmarks(VersionView):
    """The benchmark results of a version."""

    result = resource(benchmark_selectors.one, "version", "pk", needs_actor=False)
    record_row = resource(contributions.one, "version", "pk", needs_actor=False)

    @listing(
        "benchmarks_of_version",
        MeasurementOutput,
        *(OpenApiParameter(name, str) for name in FILTERS),
        OpenApiParameter("batch", int),
        OpenApiParameter("history", bool, description="include older results"),
    )
    def index(self) -> list[Measurement]:
        """List the newest result of each variant and comparability key."""
        query = self.request.query_params
        filters = benchmark_selectors.Filters(
            **{key: query.get(key, "") for key in FILTERS}, batch=whole_number(query, "batch")
        )
        with_history = query.get("history", "") in ("1", "true")
        return benchmark_selectors.of_version(self.version, filters, with_history=with_history)

    @operation(
        "benchmarks_contribute",
        ContributedRecordOutput,
        status=201,
        location=contribution_url,
        parameters=[
            OpenApiParameter("variant", str, description="default: determined by the file"),
            OpenApiParameter(
                SIGNATURE,
                str,
                OpenApiParameter.HEADER,
                description="name of an enrolled worker, a space, and its signature",
            ),
        ],
        request=OpenApiTypes.OBJECT,
    )
    def contribute(self) -> ContributedRecord:
        """Contribute a benchmark record of your own machine, as `hub bench --contribute` does.

        The record contains a challenge from `/benchmarks/challenges`. It is pending until
        a worker of the hub has recomputed its outputs, and has no results before. Without
        the signature of an enrolled worker, these are listed as unverified under your
        name and never ranked.
        """
        return contributions.contribute(
            self.request.user,
            version=self.version,
            text=str(self.request.data or ""),
            variant=self.request.query_params.get("variant", ""),
            signature=_signature(self.request),
        )

    @listing("benchmarks_contributions", ContributedRecordOutput)
    def contributions(self) -> list[ContributedRecord]:
        """List the records contributed to a version, newest first, with their state."""
        return list(contributions.of_version(self.version))

    contribution = detail(
        "benchmarks_contribution",
        ContributedRecordOutput,
        "Read the state of a contributed record.",
        targets=("record_row",),
    )

    @operation(
        "benchmarks_challenge",
        ChallengeOutput,
        status=201,
        parameters=[
            OpenApiParameter("reuse", bool, description="return the oldest open one, if any")
        ],
    )
    def challenge(self) -> Challenge:
        """Create a challenge for one record of this version.

        It can be used once before it expires, and again if the record was refused.
        """
        reuse = self.request.query_params.get("reuse", "") in ("1", "true")
        return challenges.issue(self.request.user, version=self.version, reuse=reuse)

    @operation("benchmarks_run", paged(JobOutput), reads=RunInput, status=202)
    def run(self, **options: Any) -> dict[str, Any]:
        """Run benchmarks again; for maintainers. Returns the jobs."""
        return whole(scheduling.ask(self.request.user, version=self.version, **options))

    read = detail(
        "benchmarks_read",
        MeasurementDetailOutput,
        "Read a benchmark result with its record, without the samples.",
        targets=("result",),
    )

    @operation("benchmarks_remove")
    def remove(self) -> None:
        """Delete a contributed result; for its contributor and maintainers."""
        version = self.result.variant.version
        contributions.remove(self.request.user, version=version, row=self.result)

    def whole(self) -> Measurement:
        """The result, for its record or samples: they are files of the version, gated as such."""
        result = self.result
        selectors.require_files(self.request.user, result.variant.version.model)
        return result

    @operation("benchmarks_record", responses={(200, "application/json"): OpenApiTypes.OBJECT})
    def record(self) -> FileResponse:
        """Download the original record with every sample. `hub bench verify` checks its figures."""
        file, name = samples.open_record(self.whole()), f"benchmark-{self.result.pk}.json"
        return FileResponse(file, content_type="application/json", filename=name)

    @operation("benchmarks_samples", SamplesOutput)
    def samples(self) -> dict[str, Any]:
        """Download the samples of each process, in nanoseconds."""
        row = self.whole()
        return {"benchmark": row.pk, "processes": samples.of(row)}

    @operation("benchmarks_samples_csv", responses={(200, "text/csv"): OpenApiTypes.STR})
    def table(self) -> StreamingHttpResponse:
        """Download the samples as CSV: process, sample, kept_every, rejected, nanoseconds."""
        row = self.whole()
        samples.of(row)
        response = StreamingHttpResponse(samples.csv(row), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="benchmark-{row.pk}.csv"'
        return response


def _signature(request: Request) -> contributions.Signature | None:
    """The worker and the signature that a header names; raises InvalidRequest."""
    text = request.headers.get(SIGNATURE)
    if text is None:
        return None
    worker, _, value = text.strip().partition(" ")
    if not worker or not value:
        raise problems.InvalidRequest(
            f"{SIGNATURE} must contain a worker's name and its signature."
        )
    return contributions.Signature(worker, value.strip())


def whole_number(query: Any, name: str) -> int | None:
    """A whole number that an address gives, or None; raises InvalidRequest for anything else."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be an integer.")
    return int(text)
