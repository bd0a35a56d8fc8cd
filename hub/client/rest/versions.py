"""The REST operations of versions, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, json_of, model_path, part
from hub.client.rest.shared import File, Proof, Version, VersionSummary


@dataclass(frozen=True, kw_only=True)
class NodeCost:
    """One node in order of execution."""

    operator: str
    name: str
    # null where unknown
    macs: int | None
    # read and written
    bytes: int | None
    # parameters that it is the first to use
    parameters: int
    # how macs were counted: `exact`; `at-most`, since data select a branch or end a loop; `per-
    # iteration`, since data tell how often it runs
    exactness: str | None = None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of one run, computed from the graph."""

    variant: str
    # sizes of the free dimensions
    sizes: dict[str, int]
    # free dimensions that keep one size, where there are many
    fixed: dict[str, int]
    # multiply-accumulate operations; null, as bytes and memory are, for sizes of which the graph
    # has no run
    macs: int | None
    # bytes that nodes read and write
    bytes: int | None
    weights_bytes: int
    # at the peak, in order of execution; null where unknown
    activations_bytes: int | None
    # weights and activations, without what a runtime adds
    memory_bytes: int | None
    # `all sizes`, `multiples of N`, or `no size` where the functions are approximate, or macs is a
    # bound or lacks nodes
    exact_for: str
    # macs as a function of the free dimensions
    macs_function: str
    # nodes that macs lacks, by operator
    unknown: dict[str, int]
    # nodes whose part of macs is a bound, by operator
    at_most: dict[str, int] | None = None
    # loops that macs has once, since data tell how often they run, by operator
    per_iteration: dict[str, int] | None = None
    nodes: tuple[NodeCost, ...]


@dataclass(frozen=True, kw_only=True)
class ResolvedVariant:
    """The variant that was chosen."""

    name: str
    entry: str
    opset: int | None
    precision: str
    proof: Proof | None


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """A reference as files and digests."""

    ref: str
    namespace: str
    model: str
    number: int
    label: str
    commit_id: str
    manifest_sha256: str
    state: str
    variant: ResolvedVariant
    files: tuple[File, ...]
    warning: str | None


@dataclass(frozen=True, kw_only=True)
class ShapeFinding:
    """One kind of violation of a shape."""

    code: str
    severity: str
    message: str
    # the property, as an IRI
    path: str
    # field of the card that provides it, if any
    field: str
    times: int
    # some of the resources concerned
    where: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ShapeReport:
    """The findings of a profile's shapes on a version's graph; never a reason not to publish it."""

    profile: str
    # name of the shapes
    shapes: str
    shapes_sha256: str
    # whether these are the profile's official shapes
    official: bool
    # the graph, together with the graphs of its model and of the hub
    graph_sha256: str
    conforms: bool
    count: int
    findings: tuple[ShapeFinding, ...]
    at: datetime


@dataclass(frozen=True, kw_only=True)
class VersionDependent:
    """What depends on a version: such as an alias, a training, or a model made from it."""

    kind: str
    name: str


class VersionsGroup(Group):
    """The operations of versions."""

    def costs(
        self,
        model: str,
        number: int,
        *,
        size: Annotated[
            Sequence[str] | None,
            "size of a free dimension as name:size, such as sequence:256; repeat for several (default: usual sizes)",
        ] = None,
        variant: Annotated[str | None, "name of the variant (default: the first)"] = None,
    ) -> Costs:
        """Read the multiply-accumulate operations, bytes and memory of a run for given sizes."""
        return self._call(
            Costs,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/costs",
            query={"size": size, "variant": variant},
        )

    def resolve(
        self,
        *,
        ref: str,
        opset: int | None = None,
        precision: str | None = None,
        strength: Annotated[
            Literal["certified", "sampled"] | None,
            "least strength of the proof of an upgraded variant (default: that of the hub)",
        ] = None,
        variant: str | None = None,
    ) -> Resolution:
        """Resolve a reference to a version and variant."""
        return self._call(
            Resolution,
            "GET",
            "resolve",
            query={
                "opset": opset,
                "precision": precision,
                "ref": ref,
                "strength": strength,
                "variant": variant,
            },
        )

    def shape_report(self, model: str, number: int) -> ShapeReport:
        """Read the validation of a published version's graph against the MLDCAT-AP shapes."""
        return self._call(
            ShapeReport,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/checks/mldcat-ap",
        )

    def create(
        self, model: str, *, message: str | None = None, label: str | None = None
    ) -> Version:
        """Create a draft with the next version number."""
        return self._call(
            Version,
            "POST",
            f"models/{model_path(model)}/versions",
            content=json_of({"message": message, "label": label}),
            is_idempotent=True,
        )

    def delete(self, model: str, number: int) -> None:
        """Delete a draft."""
        self._do("DELETE", f"models/{model_path(model)}/versions/{part(number)}")

    def dependents(self, model: str, number: int) -> tuple[VersionDependent, ...]:
        """List what depends on a version, as far as you can see it; for users who may yank it."""
        return self._items(
            VersionDependent,
            "GET",
            f"models/{model_path(model)}/versions/{part(number)}/dependents",
        )

    def deprecate(
        self,
        model: str,
        number: int,
        *,
        message: Annotated[str, "the reason, which is shown to users"],
        successor: Annotated[
            str | None, "reference of the model or version to use, such as zoo/resnet50@4"
        ] = None,
    ) -> Version:
        """Deprecate a version: it still resolves, with a warning that names its successor.

        Deprecating it again replaces message and successor.
        """
        return self._call(
            Version,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/deprecate",
            content=json_of({"message": message, "successor": successor}),
        )

    def list(
        self,
        model: str,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[VersionSummary]:
        """List versions, newest first."""
        return self._pages(VersionSummary, f"models/{model_path(model)}/versions", limit=limit)

    def publish(self, model: str, number: int) -> Version:
        """Publish a submitted version whose checks have passed.

        Fails with checks-pending or checks-failed otherwise.
        """
        return self._call(
            Version, "POST", f"models/{model_path(model)}/versions/{part(number)}/publish"
        )

    def read(self, model: str, number: int) -> Version:
        """Read a version with its files, variants, checks and jobs."""
        return self._call(Version, "GET", f"models/{model_path(model)}/versions/{part(number)}")

    def restore(self, model: str, number: int) -> Version:
        """Undo a yank."""
        return self._call(
            Version, "POST", f"models/{model_path(model)}/versions/{part(number)}/restore"
        )

    def submit(self, model: str, number: int, *, publish: bool | None = None) -> Version:
        """Submit a draft: its files are frozen and checked.

        With `publish`, it is published when all checks pass.
        """
        return self._call(
            Version,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/submit",
            content=json_of({"publish": publish}),
        )

    def undeprecate(self, model: str, number: int) -> Version:
        """Undo the deprecation of a version."""
        return self._call(
            Version, "POST", f"models/{model_path(model)}/versions/{part(number)}/undeprecate"
        )

    def withdraw(
        self,
        model: str,
        number: int,
        *,
        reason: str,
        breaks_dependents: Annotated[
            bool | None, "go on although something depends on the version"
        ] = None,
    ) -> Version:
        """Withdraw a version: its files are deleted unless others use them.

        Page and digests remain.

        What depends on it is named with 409, unless it may break.
        """
        return self._call(
            Version,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/withdraw",
            content=json_of({"reason": reason, "breaks_dependents": breaks_dependents}),
        )

    def yank(
        self,
        model: str,
        number: int,
        *,
        reason: str,
        breaks_dependents: Annotated[
            bool | None, "go on although something depends on the version"
        ] = None,
    ) -> Version:
        """Yank a version: it leaves lists, and is no longer the newest.

        Its exact number still resolves, with a warning. What depends on it is named with 409,
        unless it may break.
        """
        return self._call(
            Version,
            "POST",
            f"models/{model_path(model)}/versions/{part(number)}/yank",
            content=json_of({"reason": reason, "breaks_dependents": breaks_dependents}),
        )
