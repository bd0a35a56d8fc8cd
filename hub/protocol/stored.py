"""Readers of untrusted JSON: each gives the expected shape, else an empty one."""

from __future__ import annotations

import sys
from typing import Any


def mapping(value: object) -> dict[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[dict[str, Any]]:
    """The objects of a list, without its other members; none where it is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """A text; empty for anything else."""
    return value if isinstance(value, str) else ""


def whole(value: object) -> int | None:
    """A whole number; None for anything else, also for true and false."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def finite(value: object) -> float | None:
    """A number that is finite as a float; None for anything else, also for infinity and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


def wholes(value: object) -> list[int]:
    """The whole numbers of a list, without its other members; none where it is no list."""
    return [one for one in value if whole(one) is not None] if isinstance(value, list) else []


def count(value: object) -> int:
    """A whole number; 0 for anything else."""
    return whole(value) or 0
