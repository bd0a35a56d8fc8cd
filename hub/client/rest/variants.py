"""The REST operations of variants, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job, Proof


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy of a variant's file that differs from it in metadata_props alone."""

    path: str
    sha256: str
    # bytes
    size: int
    # the original file's path
    made_from: str
    job: str


@dataclass(frozen=True, kw_only=True)
class VariantDetail:
    """A variant with every figure of how it was made."""

    name: str
    entry: str
    opset: int | None
    ir_version: int | None
    precision: str
    # number of stored weights (elements) by scope, and of those in attributes; null if they were
    # not counted
    parameters: int | None
    # multiply-accumulate operations of a run for usual sizes; null if they were not counted
    macs: int | None = None
    # bytes of weights and activations for usual sizes; null if they were not counted
    memory_bytes: int | None = None
    origin: str
    proof: Proof | None
    derived_from: str | None = None
    facts: Any
    size: int
    sha256: str
    job: str | None
    # how the variant was made, and how it compares with its source
    derivation: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class VariantList:
    """A variant with its file."""

    name: str
    entry: str
    opset: int | None
    ir_version: int | None
    precision: str
    # number of stored weights (elements) by scope, and of those in attributes; null if they were
    # not counted
    parameters: int | None
    # multiply-accumulate operations of a run for usual sizes; null if they were not counted
    macs: int | None = None
    # bytes of weights and activations for usual sizes; null if they were not counted
    memory_bytes: int | None = None
    origin: str
    proof: Proof | None
    derived_from: str | None = None
    facts: Any
    size: int
    sha256: str
    job: str | None
    # how the variant was made, and how it compares with its source
    derivation: dict[str, Any]


class VariantsGroup(Group):
    """The operations of variants."""

    def create(
        self,
        model: str,
        number: int,
        *,
        kind: Literal["upgrade", "fp16", "int8", "int8-qdq"],
        variant: Annotated[str | None, "default: the first variant"] = None,
        opset: Annotated[
            int | None,
            "target opset of an upgrade, newer or older (default: the highest that runs)",
        ] = None,
        calibration: Annotated[
            str | None, "for int8-qdq: digest of an uploaded .npz file with one array per input"
        ] = None,
    ) -> Job:
        """Request a variant; returns the job."""
        return self._call(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/variants",
            content=json_of(
                {"kind": kind, "variant": variant, "opset": opset, "calibration": calibration}
            ),
        )

    def list(self, model: str, number: int) -> tuple[VariantList, ...]:
        """List variants: the uploaded ones, then those derived from them."""
        return self._items(
            VariantList, "GET", f"models/{model_path(model)}/versions/{part(number)}/variants"
        )

    def read(self, model: str, number: int, variant: str) -> VariantDetail:
        """Read a variant with the figures of its creation."""
        return self._call(
            VariantDetail,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}",
        )

    def with_metadata_create(self, model: str, number: int, variant: str) -> Copy | Job:
        """Have the copy made: the answer is its job, or the copy where nothing changed since."""
        return self._either(
            (Copy, Job),
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}/with-metadata",
        )

    def with_metadata_read(self, model: str, number: int, variant: str) -> Copy:
        """Read where the copy is that carries what the hub says now; 404 before it was made."""
        return self._call(
            Copy,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}/with-metadata",
        )
