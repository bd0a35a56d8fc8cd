"""What the children of a conversion answer; `runners.engine.runs.answers` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runners.engine.reports import Scan
from runners.engine.runs.answers import Name, Names


@dataclass(frozen=True, slots=True)
class SetRun:
    """A data set that the original ran on; for conversions."""

    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Runs of the original: data sets, why others are missing, nondeterministic outputs.

    `held_out` tells whether no calibration data is among the sets.
    """

    sets: list[SetRun]
    reasons: list[str]
    nondeterministic: list[str]
    held_out: bool
    calibration: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Preparation:
    """The preparation of a model for a tool: opsets, rules between them, and other steps."""

    source: int | None
    target: int | None
    rules: list[str]
    steps: list[str]


@dataclass(frozen=True, slots=True)
class Variant:
    """Number of nodes that a conversion left in float32."""

    left_in_float32: int


@dataclass(frozen=True, slots=True)
class RangedNode:
    """A node with a value that half precision cannot hold: the value and its largest magnitude."""

    node: Name
    op: Name
    value: Name
    largest: float


@dataclass(frozen=True, slots=True)
class Ranges:
    """Magnitudes of all float32 values over some data sets of the original, against half precision.

    `sets` of `of` data sets were run. `largest` is the largest finite magnitude, `smallest` the
    smallest one but 0. `nodes` read or write a value that overflows or vanishes as a whole.
    `infinite` are values that are not finite in the original. `unmeasured` counts nodes in bodies,
    whose values are not seen.
    """

    sets: int
    of: int
    largest: float | None = None
    smallest: float | None = None
    nodes: list[RangedNode] = field(default_factory=list)
    infinite: Names = field(default_factory=list)
    unmeasured: int = 0


@dataclass(frozen=True, slots=True)
class HalfRun:
    """A variant computed in half precision by the reference, against the original.

    `sets` of `of` data sets were run in the time. `worst` sums the figures of those that resemble
    real data up. `overflowing` are nodes that make finite inputs infinite or NaN, and the readers
    of their outputs. `broken` says where outputs are not finite although the original's are.
    """

    sets: int
    of: int
    worst: Mapping[str, Any]
    overflowing: Names
    broken: list[str]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Results of scan, checker and loader for a variant, and the processor that loaded it."""

    scan: Scan
    checker: str
    cpu: list[str]


@dataclass(frozen=True, slots=True)
class Parity:
    """Distance of a variant from the original: a row for each output, failures, and the worst."""

    measures: list[Mapping[str, Any]]
    broken: list[str]
    parity: Mapping[str, Any]
