"""Variants of a version over HTTP: what there is, what it cost, and asking for another one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.protocol.variants import KINDS, Option, with_option
from registry.api.inputs import Input
from registry.api.operations import VersionView, command, listing, operation
from registry.api.outputs import Column, Columns, Digest, Output
from registry.api.version_serializers import VariantOutput
from registry.models import Variant
from registry.versions import selectors
from runners.api.serializers import JobOutput, job_url
from runners.benchmarks import unmeasured
from runners.proofs import derivations


class BenchmarkStandingOutput(Output[unmeasured.Standing]):
    """The state of a variant's benchmark."""

    columns = Columns(
        Column("state", choices=unmeasured.STATES),
        Column("reason", kind=str, help_text="why it is not measured; otherwise empty"),
        Column(
            "job",
            "job.pk",
            kind=UUID,
            default=None,
            allow_null=True,
            help_text="the newest benchmark job",
        ),
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

    columns = Columns(
        Column("kind", choices=list(KINDS)),
        Column("variant", help_text="default: the first variant"),
        Column(
            "opset",
            help_text="target opset of an upgrade, newer or older (default: the highest that runs)",
        ),
        Column(
            "calibration",
            help_text=f"for {with_option(Option.CALIBRATION)}: digest of an uploaded .npz file "
            "with one array per input",
        ),
        Column(
            "keep_float32",
            kind=list[str],
            required=False,
            help_text=f"for {with_option(Option.KEEP_FLOAT32)}: names of nodes that stay in "
            "float32, beside those that would overflow",
        ),
        of=derivations.request,
    )


class Variants(VersionView):
    """The variants of a version."""

    @listing("variants_list", VariantListOutput)
    def index(self) -> list[Variant]:
        """List variants: the uploaded ones, then those derived from them."""
        return list(selectors.variants(self.version))

    create = command(
        "variants_create",
        derivations.request,
        "Create a variant. Returns the job.",
        JobOutput,
        reads=VariantInput,
        status=202,
        location=job_url,
    )

    @operation("variants_read", VariantDetailOutput)
    def read(self) -> Variant:
        """Read a variant, and how it was created."""
        return selectors.variant(self.version, self.kwargs["variant"], None, None)
