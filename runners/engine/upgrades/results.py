"""Results of upgrades: expected outputs, the status of a target, and the result of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hub.protocol import proofs
from runners.engine.runs.answers import Comparison, Row

# Judges of expected outputs: the original in ONNX Runtime, the test data beside the model, and the
# ONNX reference implementation.
ORIGINAL, DATA, REFERENCE = "original", "bundled-data", "reference"


class TargetStatus(StrEnum):
    """How the attempt to reach one target opset ended, as reports have it."""

    UNTRIED = ""
    # The conversion.
    BLOCKED = "blocked"
    CRASHED = "crashed"
    NOT_CONVERTED = "not-converted"
    NO_CHANGE = "no-change"
    # The check and the runs of the new model.
    INVALID = "invalid"
    NOT_LOADING = "not-loading"
    NOT_RUNNING = "not-running"
    NOT_COMPARABLE = "not-comparable"
    PARITY_LOST = "parity-lost"
    NOT_PROVABLE = "not-provable"
    # The new model is kept.
    EQUAL = "equal"
    PARTIAL = "partial"
    UNCHANGED_OPERATORS = "unchanged-operators"


@dataclass(frozen=True, slots=True)
class ExpectedOutputs:
    """Expected outputs on the data sets of one origin, and which judge produced them.

    `sets` and `results` are folders of inputs and outputs, of `count` data sets. `own` are the
    folders of repeated runs of the original on the same inputs, which show its numerical noise.
    `refused` has the data sets on which the original does not run, and why.
    """

    origin: str
    sets: Path
    results: Path
    judge: str
    count: int
    own: tuple[Path, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """Result of comparing a candidate with all expected outputs.

    `worst` is the origin and name of the first data set that disagrees; `runtime` ran the
    candidate. Without a `proof` the candidate is rejected.
    """

    status: TargetStatus
    reason: str = ""
    rows: list[Row] = field(default_factory=list)
    worst: tuple[str, str] = ("", "")
    runtime: str = ""
    proof: proofs.Proof | None = None


def first_difference(comparison: Comparison) -> str:
    """Why the first row that disagrees does; empty if all agree."""
    return next((str(row["reason"]) for row in comparison.rows if not row["agrees"]), "")


def finite(figure: Any) -> float | None:
    """A figure of a row as a number; None for text such as "inf"."""
    return float(figure) if isinstance(figure, int | float) else None


def largest_finite(rows: list[Row], output: str, name: str) -> float | None:
    """The largest number of a figure over all rows of one output."""
    figures = [finite(row.get(name)) for row in rows if row["name"] == output]
    return max((figure for figure in figures if figure is not None), default=None)


def largest(rows: list[Row], name: str) -> float | str | None:
    """The largest value of a figure; "inf" or "nan", which rows have as text, win."""
    figures = [row[name] for row in rows if row.get(name) is not None]
    texts = [figure for figure in figures if isinstance(figure, str)]
    return texts[0] if texts else max(figures, default=None)
