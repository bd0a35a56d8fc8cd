"""Intervals of figures in the API: the ends in the unit of the figure, level and method."""

from __future__ import annotations

from typing import Any

from hub.protocol.intervals import Interval
from registry.api.outputs import Column

LEVEL = "level of the interval in per cent; null without an interval"
METHOD = "how the interval was computed; null without an interval"


def basis(figure: str) -> tuple[Column, Column]:
    """The columns of level and method; ``figure`` is the path of the figure."""
    of = f"{figure}.interval"
    return (
        Column("interval_level", f"{of}.level", kind=int, allow_null=True, help_text=LEVEL),
        Column("interval_method", f"{of}.method", kind=str, allow_null=True, help_text=METHOD),
    )


def fields(interval: Interval | None, low: str = "low", high: str = "high") -> dict[str, Any]:
    """The fields of an interval, under these names of its ends."""
    return {
        low: interval and interval.low,
        high: interval and interval.high,
        "interval_level": interval and int(interval.level),
        "interval_method": interval and str(interval.method),
    }
