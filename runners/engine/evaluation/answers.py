"""What the children of an evaluation answer; `runners.engine.runs.answers` reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hub.protocol import pairs
from hub.protocol.intervals import OF_ROWS
from runners.engine.runs import answers

if TYPE_CHECKING:
    from runners.engine.evaluation.resampling import Estimate

_DIGEST = re.compile(r"[0-9a-f]{64}")
_METRIC = re.compile(r"[a-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class Port:
    """An input of a model.

    ``dtype`` is a NumPy name, `text`, or empty where it is no tensor that can be fed; ``shape``
    has None for a free size and is None where not even the rank is declared. ``is_required`` is
    False where an initialiser gives a default.
    """

    name: answers.Name
    dtype: str
    shape: tuple[int | None, ...] | None
    is_required: bool


@dataclass(frozen=True, slots=True)
class Ports:
    """The inputs of a model."""

    inputs: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """What the reader made of one input of a split: the shape of a row's value, and its kind.

    ``missing`` counts values that are absent or not a number.
    """

    shape: tuple[int, ...]
    is_text: bool
    missing: int


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows were read, of how many classes (0 for regression), and each input's column."""

    rows: int
    classes: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """Which outputs of the model answered, and how many rows were run at once."""

    rows: int
    batch: int
    output: answers.Name
    label_output: answers.Name
    seconds: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric with its interval; one without an interval has no method, and its value as ends."""

    metric: str
    value: answers.Number
    low: answers.Number
    high: answers.Number
    interval_method: str

    @classmethod
    def of(cls, metric: str, estimate: Estimate) -> Figure:
        """The figure of an estimate."""
        value, interval = estimate
        low, high = (interval.low, interval.high) if interval else (value, value)
        # That of resamples need not hold the value.
        return cls(
            metric,
            answers.Number(value),
            answers.Number(min(low, value)),
            answers.Number(max(high, value)),
            str(interval.method) if interval else "",
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures, the metrics that could not be computed and why, and the rows' digest.

    ``right_rows`` are the bits of `hub.protocol.pairs`.
    """

    figures: tuple[Figure, ...]
    skipped: dict[str, str]
    notes: answers.Names
    predictions_sha256: str
    seed: int
    is_constant: bool
    right_rows: str


def figures(answer: Any) -> Figures:
    """Read the figures; raises JobError."""
    figures = answers.read(Figures, answer)
    if not _DIGEST.fullmatch(figures.predictions_sha256):
        raise answers.unreadable("predictions_sha256 is no digest")
    if len(figures.right_rows) > pairs.MOST_ROWS:
        raise answers.unreadable("right_rows is too long")
    if not all(_METRIC.fullmatch(figure.metric) for figure in figures.figures):
        raise answers.unreadable("metric is no name")
    methods = {figure.interval_method for figure in figures.figures}
    if not methods <= {"", *map(str, OF_ROWS)}:
        raise answers.unreadable("interval_method is no method")
    return figures
