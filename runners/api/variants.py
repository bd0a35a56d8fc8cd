"""Variants of a version over HTTP: what there is, what it cost, and asking for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.addresses import api_url
from registry.api.inputs import Input, parse
from registry.api.outputs import Column, Columns
from registry.api.parameters import asks
from registry.api.serializers import Digest, VariantOutput
from registry.versions import selectors
from runners.api.serializers import JobOutput
from runners.benchmarks import unmeasured
from runners.proofs import derivations

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.models import Variant


class BenchmarkStandingOutput(serializers.Serializer[Any]):
    """The state of a variant's benchmark."""

    state = serializers.ChoiceField(unmeasured.STATES)
    reason = serializers.CharField(help_text="why it is not measured; otherwise empty")
    job = serializers.UUIDField(
        source="job.pk", default=None, allow_null=True, help_text="the newest benchmark job"
    )


class VariantListOutput(VariantOutput):
    """A variant with its file."""

    columns = Columns(
        Column("size", "entry.blob.size"),
        Column("sha256", "entry.blob_id", field=Digest),
        Column("job", "job_uuid"),
        Column(
            "derivation", help_text="how the variant was made, and how it compares with its source"
        ),
        Column("benchmark", help_text="whether the hub measured its speed; if not, why"),
    )

    @extend_schema_field(serializers.DictField())
    def get_derivation(self, variant: Variant) -> dict[str, Any]:
        """Everything but the single figures, which may be hundreds."""
        return {key: value for key, value in variant.derivation.items() if key != "figures"}

    @extend_schema_field(BenchmarkStandingOutput)
    def get_benchmark(self, variant: Variant) -> dict[str, Any]:
        return dict(BenchmarkStandingOutput(unmeasured.of(variant)).data)


class VariantDetailOutput(VariantListOutput):
    """A variant with the details of its derivation."""

    @extend_schema_field(serializers.DictField())
    def get_derivation(self, variant: Variant) -> dict[str, Any]:
        return dict(variant.derivation)


class VariantInput(Input):
    """A variant to create: an upgrade to another opset, or a recipe for another precision."""

    kind = serializers.ChoiceField(derivations.KINDS)
    variant = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="default: the first variant"
    )
    opset = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        help_text="target opset of an upgrade, newer or older (default: the highest that runs)",
    )
    calibration = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="for int8-qdq: digest of an uploaded .npz file with one array per input",
    )


class VariantList(APIView):
    """The variants of a version."""

    @extend_schema(operation_id="variants_list", responses=pagination.paged(VariantListOutput))
    @asks()
    def get(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """List variants: the uploaded ones, then those derived from them."""
        version = selectors.version(request.user, namespace, name, number)
        rows = selectors.variants(version)
        return pagination.respond(request, VariantListOutput, list(rows), None)

    @extend_schema(operation_id="variants_create", request=VariantInput, responses={202: JobOutput})
    def post(self, request: Request, namespace: str, name: str, number: int) -> Response:
        """Create a variant. Returns the job."""
        version = selectors.version(request.user, namespace, name, number)
        job = derivations.request(
            request.user, version=version, **parse(VariantInput, request.data)
        )
        return accepted(job)


class VariantDetail(APIView):
    """One variant."""

    @extend_schema(operation_id="variants_read", responses=VariantDetailOutput)
    def get(
        self, request: Request, namespace: str, name: str, number: int, variant: str
    ) -> Response:
        """Read a variant, and how it was created."""
        version = selectors.version(request.user, namespace, name, number)
        row = selectors.variant(version, variant, None, None)
        return Response(VariantDetailOutput(row).data)


def accepted(job: Any) -> Response:
    """The answer to a wish that a job will fulfil."""
    response = Response(JobOutput(job).data, status=202)
    response["Location"] = api_url("jobs", str(job.pk))
    return response
