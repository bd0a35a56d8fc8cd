"""Why a listed model fits: for each constraint of a query the model's own value and its basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hub.protocol.accuracy import Limit
    from registry.catalogue.query import Query
    from registry.models import DocumentAccuracy, DocumentSpeed, PredictedSpeed

Basis = Literal["measured", "predicted", "counted", "declared"]

# Limit -> the value in what a list shows of the newest version, and its unit.
_COUNTS = {
    "max_memory": ("memory_bytes", "B"),
    "max_macs": ("macs", "MAC"),
    "max_bytes": ("size", "B"),
    "max_parameters": ("parameters", ""),
    "opset_max": ("opset", ""),
}


_WORDS = ("task", "precision", "license")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a measured accuracy is of: the metric, the split of a data set and its rows."""

    metric: str
    dataset: str
    version: int
    split: str
    rows: int


@dataclass(frozen=True, slots=True)
class Fit:
    """The value that keeps a constraint; ``low`` and ``high`` are the interval of what is measured.

    ``limit`` and ``value`` are numbers in ``unit``, or words. ``evaluated`` is None except for
    accuracy.
    """

    constraint: str
    limit: float | str
    value: float | str
    unit: str
    basis: Basis
    low: float | None = None
    high: float | None = None
    evaluated: Evaluated | None = None


def are_asked(query: Query) -> bool:
    """Whether a query has a constraint for which models have a value to show."""
    numbers = (getattr(query, name) for name in ("max_p50", *_COUNTS))
    return any(number is not None for number in numbers) or any(
        getattr(query, name) for name in ("accuracy", *_WORDS)
    )


def of(
    query: Query,
    latest: Mapping[str, Any] | None,
    *,
    task: str,
    licence: str,
    speed: DocumentSpeed | PredictedSpeed | None,
    accuracies: Sequence[tuple[Limit, DocumentAccuracy]] = (),
) -> tuple[Fit, ...]:
    """Why a model of the list that ``query`` asks for fits: latency, accuracy, then the rest."""
    measured = [_latency(query.max_p50, speed)] if query.max_p50 is not None and speed else []
    measured += [_accuracy(limit, figure) for limit, figure in accuracies]
    return (*measured, *_stated(query, latest or {}, task, licence))


def _stated(query: Query, latest: Mapping[str, Any], task: str, licence: str) -> Iterator[Fit]:
    """What is counted from the file or declared by the card."""
    for constraint, (name, unit) in _COUNTS.items():
        limit, value = getattr(query, constraint), latest.get(name)
        if limit is not None and value is not None:
            yield Fit(constraint, limit, value, unit, "counted")
    texts = (task, str(latest.get("precision") or ""), licence)
    for constraint, text in zip(_WORDS, texts, strict=True):
        if (choices := getattr(query, constraint)) and text:
            basis: Basis = "counted" if constraint == "precision" else "declared"
            yield Fit(constraint, ", ".join(choices), text, "", basis)


def _latency(limit: float, speed: DocumentSpeed | PredictedSpeed) -> Fit:
    low, high = speed.interval
    basis: Basis = "predicted" if speed.is_predicted else "measured"
    return Fit("max_p50", limit, speed.p50_ms, "ms", basis, low, high)


def _accuracy(limit: Limit, figure: DocumentAccuracy) -> Fit:
    evaluated = Evaluated(figure.metric, figure.dataset, figure.version, figure.split, figure.rows)
    return Fit(
        "max" if limit.is_maximum else "min", limit.value, figure.value, "", "measured",
        figure.low, figure.high, evaluated,
    )  # fmt: skip
