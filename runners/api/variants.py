"""Variants of a version over HTTP: what there is, what it cost, and asking for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from registry.api import pagination
from registry.api.inputs import Input, parse
from registry.api.parameters import asks
from registry.api.serializers import Digest, VariantOutput, api_url
from registry.versions import selectors
from runners.api.serializers import JobOutput
from runners.proofs import derivations

if TYPE_CHECKING:
    from rest_framework.request import Request

    from registry.models import Variant


class VariantListOutput(VariantOutput):
    """A variant with its file."""

    size = serializers.IntegerField(source="entry.blob.size")
    sha256 = Digest(source="entry.blob_id")
    job = serializers.UUIDField(source="job_uuid", allow_null=True)
    derivation = serializers.SerializerMethodField(
        help_text="how the variant was made, and how it compares with its source"
    )

    @extend_schema_field(serializers.DictField())
    def get_derivation(self, variant: Variant) -> dict[str, Any]:
        """Everything but the single figures, which may be hundreds."""
        return {key: value for key, value in variant.derivation.items() if key != "figures"}


class VariantDetailOutput(VariantListOutput):
    """A variant with every figure of how it was made."""

    @extend_schema_field(serializers.DictField())
    def get_derivation(self, variant: Variant) -> dict[str, Any]:
        return dict(variant.derivation)


class VariantInput(Input):
    """The variant to be made: an upgrade to another opset, or a recipe for another precision."""

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
        """Request a variant; returns the job."""
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
        """Read a variant with the figures of its creation."""
        version = selectors.version(request.user, namespace, name, number)
        row = selectors.variant(version, variant, None, None)
        return Response(VariantDetailOutput(row).data)


def accepted(job: Any) -> Response:
    """The answer to a wish that a job will fulfil."""
    response = Response(JobOutput(job).data, status=202)
    response["Location"] = api_url("jobs", str(job.pk))
    return response
