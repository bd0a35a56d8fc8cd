"""The metrics that cards report: their names, and values on one scale for each.

A share is given as a fraction from 0 to 1, whether a card has 66.6, 66.6 per cent or 0.666.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from hub.protocol.vocabularies import REPORTED_METRICS, Scale, metric_name

UNITS: Final = ("fraction", "percent")


def scale_of(name: str) -> Scale:
    """The scale of a metric; a number for one that the vocabulary lacks."""
    metric = REPORTED_METRICS.get(metric_name(name))
    return metric.scale if metric else "number"


def unit_of(written: object) -> str:
    """One of UNITS as a card writes it; empty for whatever else."""
    word = written.strip().lower() if isinstance(written, str) else ""
    word = {"%": "percent", "per cent": "percent"}.get(word, word)
    return word if word in UNITS else ""


def scaled(name: str, value: Decimal, unit: str = "") -> tuple[Decimal, str]:
    """A reported value on the metric's own scale, and ``percent`` where it was reported so.

    Without a unit a share or rate above 1 and up to 100 is taken for per cent.
    """
    guessed = not unit and scale_of(name) != "number" and 1 < value <= 100
    if unit == "percent" or guessed:
        return value / 100, "percent"
    return value, ""
