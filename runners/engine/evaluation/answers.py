"""What the children of an evaluation answer, and how the parent reads it: known keys, known types.

Raises JobError where an answer does not fit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from runners.engine.jobs import JobError
from runners.engine.onnx_files import text
from runners.engine.runs.answers import name_of, take

_DIGEST = re.compile(r"[0-9a-f]{64}")
_METRIC = re.compile(r"[a-z0-9_-]{1,40}")
MOST_PORTS, MOST_NOTES = 512, 20


@dataclass(frozen=True, slots=True)
class Port:
    """An input of a model.

    ``dtype`` is a NumPy name, ``text``, or empty where it is no tensor that can be fed; ``shape``
    has None for a free size and is None where not even the rank is declared. ``is_required`` is
    False where an initialiser gives a default.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    is_required: bool


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
    output: str
    label_output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric with the 95 % interval of its bootstrap."""

    metric: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures, the metrics that could not be computed and why, and the rows' digest."""

    figures: tuple[Figure, ...]
    skipped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    predictions_sha256: str
    seed: int
    is_constant: bool


def ports(answer: Any) -> tuple[Port, ...]:
    """Read the inputs of a model."""
    return tuple(
        Port(
            name=name_of(take(row, "name", str)),
            dtype=take(row, "dtype", str)[:40],
            shape=_shape(row),
            is_required=take(row, "required", bool),
        )
        for row in take(answer, "inputs", list)[:MOST_PORTS]
    )


def rows(answer: Any) -> Rows:
    """Read what the reader made of a split."""
    columns = tuple(
        Column(
            shape=tuple(_count(size) for size in take(row, "shape", list)),
            is_text=take(row, "text", bool),
            missing=_count(take(row, "missing", int)),
        )
        for row in take(answer, "columns", list)
    )
    return Rows(_count(take(answer, "rows", int)), _count(take(answer, "classes", int)), columns)


def predicted(answer: Any) -> Predicted:
    """Read how the model was run."""
    return Predicted(
        rows=_count(take(answer, "rows", int)),
        batch=_count(take(answer, "batch", int)),
        output=name_of(take(answer, "output", str)),
        label_output=name_of(take(answer, "label_output", str)),
        seconds=_number(answer, "seconds"),
    )


def figures(answer: Any) -> Figures:
    """Read the figures."""
    digest = take(answer, "predictions_sha256", str)
    if not _DIGEST.fullmatch(digest):
        raise _unreadable("predictions_sha256")
    skipped = take(answer, "skipped", dict)
    return Figures(
        figures=tuple(
            Figure(_metric(row), *(_number(row, key) for key in ("value", "low", "high")))
            for row in take(answer, "figures", list)[:MOST_NOTES]
        ),
        skipped=tuple(
            (name[:40], text.message(str(why))) for name, why in list(skipped.items())[:MOST_NOTES]
        ),
        notes=tuple(text.message(str(one)) for one in take(answer, "notes", list)[:MOST_NOTES]),
        predictions_sha256=digest,
        seed=_count(take(answer, "seed", int)),
        is_constant=take(answer, "constant", bool),
    )


def _shape(row: Any) -> tuple[int | None, ...] | None:
    if row.get("shape") is None:
        return None
    sizes = take(row, "shape", list)
    return tuple(None if size is None else _count(size) for size in sizes)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _unreadable("count")
    return value


def _metric(row: Any) -> str:
    name = take(row, "metric", str)
    if not _METRIC.fullmatch(name):
        raise _unreadable("metric")
    return name


def _number(row: Any, key: str) -> float:
    value = row.get(key) if isinstance(row, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _unreadable(key)
    return float(value)


def _unreadable(key: str) -> JobError:
    return JobError("engine-error", f"The response of a child process has no readable {key}.")
