"""The REST operations of variants, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import Job, Variant


@dataclass(frozen=True, kw_only=True)
class BenchmarkStanding:
    """The state of a variant's benchmark."""

    state: str
    # why it is not measured; otherwise empty
    reason: str
    # the newest benchmark job
    job: str | None = None


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy of a variant's file with other metadata_props; everything else is equal."""

    path: str
    sha256: str
    # bytes
    size: int
    # the original file's path
    made_from: str
    job: str


@dataclass(frozen=True, kw_only=True)
class VariantDetail(Variant):
    """A variant with the details of its derivation."""

    size: int
    sha256: str
    job: str | None
    # how the variant was made, and how it compares with its source
    derivation: dict[str, Any]
    # whether the hub measured its speed; if not, why
    benchmark: BenchmarkStanding


@dataclass(frozen=True, kw_only=True)
class VariantList(Variant):
    """A variant with its file."""

    size: int
    sha256: str
    job: str | None
    # how the variant was made, and how it compares with its source
    derivation: dict[str, Any]
    # whether the hub measured its speed; if not, why
    benchmark: BenchmarkStanding


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
        keep_float32: Annotated[
            Sequence[str] | None,
            "for fp16: names of nodes that stay in float32, beside those that would overflow",
        ] = None,
    ) -> Job:
        """Create a variant. Returns the job."""
        return self._call(
            Job,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/variants",
            content=json_of(
                {
                    "kind": kind,
                    "variant": variant,
                    "opset": opset,
                    "calibration": calibration,
                    "keep_float32": keep_float32,
                }
            ),
        )

    def list(self, model: str, number: int) -> tuple[VariantList, ...]:
        """List variants: the uploaded ones, then those derived from them."""
        return self._items(
            VariantList, "GET", f"models/{model_path(model)}/versions/{part(number)}/variants"
        )

    def read(self, model: str, number: int, variant: str) -> VariantDetail:
        """Read a variant, and how it was created."""
        return self._call(
            VariantDetail,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}",
        )

    def with_metadata_create(self, model: str, number: int, variant: str) -> Copy | Job:
        """Create a copy with current embedded metadata.

        Returns the job, or the copy if it is up to date.
        """
        return self._either(
            (Copy, Job),
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}/with-metadata",
        )

    def with_metadata_read(self, model: str, number: int, variant: str) -> Copy:
        """Read the address of the variant's copy with current embedded metadata.

        Returns 404 if none exists.
        """
        return self._call(
            Copy,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/variants/{part(variant)}/with-metadata",
        )
