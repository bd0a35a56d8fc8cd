"""Why a listed model fits: for each constraint of a query the model's own value and its basis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.protocol import filters
from hub.protocol.accuracy import Limit
from hub.protocol.figures import Kind
from hub.protocol.intervals import Interval
from registry.catalogue.query import Query
from registry.models import DocumentAccuracy, DocumentSpeed, PredictedSpeed

# Number -> its key in what lists show of the newest version.
_COUNTS = {
    bound.name: bound.attribute.column
    for bound in filters.BOUNDS.values()
    if bound.attribute and not bound.is_exact
}
_STATEMENTS = {name: choice.basis for name, choice in filters.CHOICES.items() if choice.basis}


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
    """The value that keeps a constraint, with the interval of what is measured or predicted.

    ``limit`` and ``value`` are numbers in ``unit``, or words. ``evaluated`` is None except for
    accuracy.
    """

    constraint: str
    limit: float | str
    value: float | str
    unit: str
    basis: Kind
    interval: Interval | None = None
    evaluated: Evaluated | None = None


def are_asked(query: Query) -> bool:
    """Whether a query has a constraint for which models have a value to show."""
    names = {filters.MAX_LATENCY.name, *_COUNTS, *_STATEMENTS}
    return bool(query.accuracy) or any(name in names for name, _ in query.values)


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
    limit = query[filters.MAX_LATENCY]
    measured = [_latency(limit, speed)] if limit is not None and speed else []
    measured += [_accuracy(limit, figure) for limit, figure in accuracies]
    return (*measured, *_stated(query, latest or {}, task, licence))


def _stated(query: Query, latest: Mapping[str, Any], task: str, licence: str) -> Iterator[Fit]:
    """What is counted from the file or declared by the card."""
    texts = {"task": task, "precision": latest.get("precision"), "license": licence}
    for name, limit in query.values:
        if name in _COUNTS and (value := latest.get(_COUNTS[name])) is not None:
            yield Fit(name, limit, value, filters.BOUNDS[name].quantity.unit, Kind.COUNT)
        elif name in _STATEMENTS and texts[name]:
            yield Fit(name, ", ".join(limit), str(texts[name]), "", _STATEMENTS[name])


def _latency(limit: float, speed: DocumentSpeed | PredictedSpeed) -> Fit:
    figure, bound = speed.figure, filters.MAX_LATENCY
    unit = bound.quantity.unit
    return Fit(bound.name, limit, speed.p50_ms, unit, figure.kind, figure.interval)


def _accuracy(limit: Limit, figure: DocumentAccuracy) -> Fit:
    evaluated = Evaluated(figure.metric, figure.dataset, figure.version, figure.split, figure.rows)
    return Fit(
        "max" if limit.is_maximum else "min",
        limit.value,
        figure.value,
        "",
        Kind.MEASURED,
        figure.figure.interval,
        evaluated,
    )
