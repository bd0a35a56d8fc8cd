"""Figures of how far two values lie apart, as stored with a result, and the worst among them.

They crossed a process that had opened somebody's upload: what has another shape than expected is
left out, never guessed and never an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from frontend.parts import formatting
from hub.protocol import arithmetic, stored

LARGEST = "max_abs"
LIMIT = 50


# Column -> its words. The order is that of the page.
COLUMNS = {
    "max_abs": "Max abs",
    "max_rel": "Max rel",
    "p999_rel": "99.9 % rel",
    "ulp_max": "ULP",
    "cosine": "Cosine",
    "top1": "Top-1",
    "outside": "Outside",
    "first_bad": "First bad",
}


def lines(rows: Any) -> list[dict[str, Any]]:
    """Figures as a table, those that do not agree first."""
    unsorted = map(_line, stored.rows(rows))
    return sorted(unsorted, key=lambda line: line["agrees"])


def largest(rows: Iterable[Any]) -> float | None:
    """The largest absolute difference of several figures; None where none has one."""
    numbers = [_number(row.get(LARGEST)) for row in rows if isinstance(row, dict)]
    values = [value for value in numbers if value is not None]
    return max(
        values, key=lambda value: math.inf if math.isnan(value) else abs(value), default=None
    )


def worst(rows: Any, summed: Any = None) -> dict[str, Any]:
    """The worst figures of a comparison: as its report sums them up, else out of the single ones.

    A report may leave out of its sum what was run on inputs that nobody would give. Of a
    half-precision variant, figures that were computed in half precision count too, and
    ``arithmetic`` says how all of them were computed.
    """
    each = stored.rows(rows)
    whole = stored.mapping(summed)
    inner = whole.get("worst")
    summary = inner if isinstance(inner, dict) else whole

    half = stored.mapping(whole.get("half"))

    def of(key: str) -> list[dict[str, Any]]:
        return [summary, half] if key in summary else each

    return {
        "arithmetic": arithmetic.sentence(whole),
        "max_abs": formatting.figure(largest(of(LARGEST))),
        "cosine": _cosine(_least(of("cosine"), "cosine")),
        "top1": _share(_least(of("top1"), "top1")),
    }


def _line(row: dict[str, Any]) -> dict[str, Any]:
    shape = row.get("shape")
    dims = ", ".join(str(size) for size in shape) if isinstance(shape, list) else ""
    dtype = str(row.get("dtype") or "")
    return {
        "dataset": str(row.get("dataset") or ""),
        "output": str(row.get("name") or ""),
        "shape": f"{dtype}[{dims}]" if isinstance(shape, list) else dtype,
        "agrees": row.get("agrees") is not False,
        "reason": str(row.get("reason") or ""),
        "cells": tuple(_cell(name, row.get(name)) for name in COLUMNS),
    }


def _cell(name: str, value: Any) -> str:
    if name == "top1":
        return _share(_number(value))
    if name == "cosine":
        return _cosine(_number(value))
    return formatting.figure(value)


def _cosine(value: float | None) -> str:
    """A cosine, never rounded up to 1."""
    if value is None or not math.isfinite(value):
        return formatting.figure(value)
    if 1 - 1e-9 <= value <= 1 + 1e-6:
        return "1"
    return f"{min(value, 1 - 1e-6):.6f}".replace("-", formatting.MINUS)


def _share(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else formatting.share(value)


def _least(rows: list[dict[str, Any]], key: str) -> float | None:
    numbers = [_number(row.get(key)) for row in rows]
    values = [value for value in numbers if value is not None]
    return next((value for value in values if math.isnan(value)), min(values, default=None))


def _number(value: Any) -> float | None:
    """A stored figure as a number, written as a word where JSON has none."""
    if not stored.is_scalar(value):
        return None
    try:
        return float(value)
    except ValueError:
        return None
