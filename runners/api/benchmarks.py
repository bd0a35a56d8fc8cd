"""Benchmarks of a version over HTTP: results, records and samples, runs, contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import FileResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.protocol import problems
from registry.api import pagination
from registry.api.inputs import Input, Items, parse
from registry.api.parameters import asks
from registry.versions import selectors
from runners.api.measurements import (
    ChallengeOutput,
    MeasurementDetailOutput,
    MeasurementOutput,
    SamplesOutput,
)
from runners.api.responses import jobs_response
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

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.models import Version
    from runners.models import Measurement

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

    variant = serializers.CharField(required=False, default="", allow_blank=True)
    runtime = serializers.CharField(required=False, default="", allow_blank=True)
    provider = serializers.CharField(required=False, default="", allow_blank=True)
    pool = serializers.CharField(required=False, default="", allow_blank=True)
    effort = serializers.ChoiceField(("light", "full"), required=False, default="full")
    scenario = serializers.CharField(required=False)
    rate_per_s = serializers.FloatField(
        required=False, help_text="requests per second in the server scenario"
    )
    concurrency = serializers.IntegerField(
        required=False, help_text="requests in flight at once in the server scenario, 1 to 64"
    )
    latency_bound_ms = serializers.FloatField(
        required=False,
        help_text="bound of a latency percentile in the server scenario; without rate_per_s, the "
        "highest rate within it is searched",
    )
    bound_percentile = serializers.CharField(
        required=False, help_text="p50, p90, p95, p99 (default) or p99.9"
    )
    call_style = serializers.CharField(required=False)
    batch = serializers.IntegerField(
        required=False,
        help_text="default: 1; in the offline scenario the one of the highest throughput",
    )
    most_batch = serializers.IntegerField(
        required=False, help_text="largest batch to try in the offline scenario (default: 64)"
    )
    threads = serializers.IntegerField(required=False)
    shapes = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="sizes of dynamic dimensions by name",
    )
    input_shapes = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField()),
        required=False,
        help_text="complete shapes of inputs by name",
    )
    sweep_batch = Items(child=serializers.IntegerField(), max_length=64, required=False)
    sweep_threads = Items(child=serializers.IntegerField(), max_length=64, required=False)
    provider_options = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="options of the execution provider or runtime by name; name the provider too",
    )
    strict_provider = serializers.BooleanField(
        required=False, help_text="fail if another provider would run part of the model"
    )


class BenchmarkList(APIView):
    """The benchmark results of a version."""

    parser_classes = [RecordParser]

    @extend_schema(
        operation_id="benchmarks_of_version",
        responses=pagination.paged(MeasurementOutput),
    )
    @asks(
        *(OpenApiParameter(name, str) for name in FILTERS),
        OpenApiParameter("batch", int),
        OpenApiParameter("history", bool, description="include older results"),
    )
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List the newest result of each variant and comparability key."""
        version = selectors.version(request.user, namespace, name, number)
        query = request.query_params
        filters = benchmark_selectors.Filters(
            **{key: query.get(key, "") for key in FILTERS}, batch=whole(query, "batch")
        )
        rows = benchmark_selectors.of_version(
            version, filters, with_history=query.get("history", "") in ("1", "true")
        )
        return pagination.respond(request, MeasurementOutput, rows, None)

    @extend_schema(
        operation_id="benchmarks_contribute",
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
        responses={201: pagination.paged(MeasurementOutput)},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Contribute a benchmark record of your own machine, as `hub bench --contribute` does.

        The record contains a challenge from `/benchmarks/challenges`. Without the
        signature of an enrolled worker, it is listed as unverified under your name and
        never ranked.
        """
        version = selectors.version(request.user, namespace, name, number)
        variant = request.query_params.get("variant", "")
        rows = contributions.contribute(
            request.user,
            version=version,
            text=str(request.data or ""),
            variant=variant,
            signature=_signature(request),
        )
        for row in rows:
            row.variant.version = version
        response = pagination.respond(request, MeasurementOutput, rows, None)
        response.status_code = 201
        response["Location"] = response.data["items"][0]["record"].removesuffix("/record.json")
        return response


class BenchmarkChallenges(APIView):
    """Challenges for records that are to be contributed."""

    @extend_schema(
        operation_id="benchmarks_challenge", request=None, responses={201: ChallengeOutput}
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Create a challenge for one record of this version.

        It can be used once before it expires.
        """
        version = selectors.version(request.user, namespace, name, number)
        return Response(
            ChallengeOutput(challenges.issue(request.user, version=version)).data, status=201
        )


class BenchmarkRuns(APIView):
    """Having benchmarks run."""

    @extend_schema(
        operation_id="benchmarks_run",
        request=RunInput,
        responses={202: pagination.paged(JobOutput)},
    )
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Run benchmarks again; for maintainers. Returns the jobs."""
        version = selectors.version(request.user, namespace, name, number)
        jobs = scheduling.ask(request.user, version=version, **parse(RunInput, request.data))
        return jobs_response(request, jobs)


class BenchmarkDetail(APIView):
    """One result."""

    @extend_schema(operation_id="benchmarks_read", responses=MeasurementDetailOutput)
    def get(self, request: Request, namespace: str, name: str, number: int, pk: int) -> Response:
        """Read a benchmark result with its record, without the samples."""
        row = _one(request, namespace, name, number, pk)
        return Response(MeasurementDetailOutput(row).data)

    @extend_schema(operation_id="benchmarks_remove", responses={204: None})
    def delete(self, request: Request, namespace: str, name: str, number: int, pk: int) -> Response:
        """Delete a contributed result; for its contributor and maintainers."""
        row = _one(request, namespace, name, number, pk)
        contributions.remove(request.user, version=row.variant.version, row=row)
        return Response(status=204)


class BenchmarkRecord(APIView):
    """The whole record of a result."""

    @extend_schema(
        operation_id="benchmarks_record", responses={(200, "application/json"): OpenApiTypes.OBJECT}
    )
    def get(
        self, request: Request, namespace: str, name: str, number: int, pk: int
    ) -> FileResponse:
        """Download the original record with every sample. `hub bench verify` checks its figures."""
        row = _whole(request, namespace, name, number, pk)
        file = samples.open_record(row)
        return FileResponse(file, content_type="application/json", filename=f"benchmark-{pk}.json")


class BenchmarkSamples(APIView):
    """The samples of a result, in order."""

    @extend_schema(operation_id="benchmarks_samples", responses=SamplesOutput)
    def get(self, request: Request, namespace: str, name: str, number: int, pk: int) -> Response:
        """Download the samples of each process, in nanoseconds."""
        row = _whole(request, namespace, name, number, pk)
        processes = [
            {
                "ordinal": one.ordinal,
                "rejected": one.rejected,
                "reasons": one.reasons,
                "kept_every": one.kept_every,
                "samples_ns": one.samples_ns,
            }
            for one in samples.of(row)
        ]
        return Response({"benchmark": row.pk, "processes": processes})


class BenchmarkTable(APIView):
    """The samples of a result as a table."""

    @extend_schema(
        operation_id="benchmarks_samples_csv", responses={(200, "text/csv"): OpenApiTypes.STR}
    )
    def get(
        self, request: Request, namespace: str, name: str, number: int, pk: int
    ) -> StreamingHttpResponse:
        """Download the samples as CSV: process, sample, kept_every, rejected, nanoseconds."""
        row = _whole(request, namespace, name, number, pk)
        samples.of(row)
        response = StreamingHttpResponse(samples.csv(row), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="benchmark-{pk}.csv"'
        return response


def _one(request: Request, namespace: str, name: str, number: int, pk: int) -> Measurement:
    version: Version = selectors.version(request.user, namespace, name, number)
    return benchmark_selectors.one(version, pk)


def _whole(request: Request, namespace: str, name: str, number: int, pk: int) -> Measurement:
    """A result whose record or samples are sent: they are files of the version, gated as such."""
    row = _one(request, namespace, name, number, pk)
    selectors.require_files(request.user, row.variant.version.model)
    return row


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


def whole(query: Any, name: str) -> int | None:
    """A whole number that an address gives, or None; raises InvalidRequest for anything else."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise problems.InvalidRequest.at(f"/{name}", f"{name} must be an integer.")
    return int(text)
