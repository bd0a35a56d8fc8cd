"""The models of a list on two figures: which of them no other beats, for a plot and its table."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts.options import Option
from frontend.parts.svg import charts, tradeoffs
from frontend.presenters import figures, list_filters
from hub.protocol import filters
from hub.protocol.accuracy import SHARES, Limit
from hub.protocol.benchmark_metrics import P50
from hub.protocol.figures import Compliance, Figure, Kind, Status, Unit, absent, count, together
from registry.catalogue import accuracies, predictions, search, speeds

if TYPE_CHECKING:
    from registry.catalogue.query import Query
    from registry.catalogue.speeds import Setup
    from registry.core.permissions import Actor
    from registry.models import (
        DocumentAccuracy,
        DocumentSpeed,
        PredictedSpeed,
        SearchDocument,
    )

MOST = 100
COMPARED = 6
_COLUMNS = ("pk", "title", "size", "macs")
AXES = {"latency": P50.label, "size": "File size", "macs": "MACs"}
_AGAINST = {"latency": "median latency", "size": "file size", "macs": "MACs"}
SIZE = "size"
# Figure -> the limit of the list that bounds it.
_LIMIT_OF = {
    "latency": filters.MAX_LATENCY,
    "size": filters.MAX_SIZE,
    "macs": filters.MAX_MACS,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model with its figures, and whether it keeps the limits of the list."""

    ref: str
    url: str
    size: Figure
    macs: Figure
    latency: Figure
    accuracy: Figure
    metric: str
    compliance: Compliance
    # What its trade-off rests on, where no other model beats it: accepted or noisy results.
    tradeoff: Status | None = None

    @property
    def limits(self) -> str:
        """What is said beside its name of the limits."""
        return figures.compliance(self.compliance)

    def figure(self, name: str) -> Figure:
        """A figure across, by its name in addresses."""
        return {"latency": self.latency, "size": self.size, "macs": self.macs}[name]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is plotted: the figure across, and upwards `size` or a metric and its data."""

    across: str
    measure: Limit | None

    @property
    def up(self) -> str:
        return _named(self.measure) if self.measure else SIZE


def choice(
    data: dict[str, str], query: Query, setup: Setup, offered: Sequence[accuracies.Offer]
) -> Choice:
    """What an address asks to be plotted; what it does not say follows from what was measured."""
    across = data.get("x", "")
    limit_names = _limit_names(query)
    if across not in AXES:
        across = limit_names[0] if limit_names else "latency" if setup.device else SIZE
    measures = {_named(limit): limit for limit in map(_of_offer, offered)}
    if query.accuracy:
        measures = {_named(limit): limit for limit in query.accuracy} | measures
    first = next(iter(measures), "")
    # Two limits without one of accuracy are two axes; size alone can be the vertical one.
    asks_size = SIZE in limit_names and across != SIZE and not query.accuracy
    choice = data.get("y", "") or (SIZE if asks_size else first)
    measure = measures.get(choice)
    if measure is None and across == SIZE:
        measure = measures.get(first)
    if measure is None and across == SIZE:  # nothing was measured, and size says nothing of size
        across = "macs"
    return Choice(across, measure)


def _limit_names(query: Query) -> list[str]:
    """The figures across that the list is limited or sorted by: speed first, size last."""
    by_speed = query.sort == search.FASTEST
    return [
        name
        for name in ("latency", "macs", SIZE)
        if query[_LIMIT_OF[name]] is not None or (by_speed and name == "latency")
    ]


def of(
    actor: Actor, query: Query, choice: Choice, setup: Setup, offered: Sequence[accuracies.Offer]
) -> dict[str, Any]:
    """The models of a list, and those that only miss its limits on the two figures."""
    page = search.find(actor, query, limit=MOST, columns=_COLUMNS)
    documents = {row.pk: row for row in page.items}
    fitting = set(documents)
    wider = _without_limits(query, choice)
    if wider != query:
        for row in search.find(actor, wider, limit=MOST, columns=_COLUMNS).items:
            if len(documents) < MOST:
                documents.setdefault(row.pk, row)
    timed: dict[int, DocumentSpeed | PredictedSpeed] = {}
    timed |= predictions.of_documents(documents, setup)
    timed |= speeds.of_documents(documents, setup)
    measured = _figures(list(documents), choice.measure)
    judge = _limits(query, choice)
    candidates = [
        _candidate(row, timed.get(pk), measured.get(pk), judge, is_listed=pk in fitting)
        for pk, row in documents.items()
    ]
    placed = [
        (candidate, place)
        for candidate in candidates
        if (place := _place(candidate, choice)) is not None
    ]
    best = _best(placed, choice, counts_predictions=query.predicted)
    points = [
        _point(candidate, place, choice, is_best=candidate.ref in best)
        for candidate, place in placed
    ]
    limit = query[_LIMIT_OF[choice.across]]
    across = tradeoffs.Axis(AXES[choice.across], _write(choice.across), limit)
    title = f"{_title(choice)} against {_AGAINST[choice.across]}"
    candidates = [replace(candidate, tradeoff=best.get(candidate.ref)) for candidate in candidates]
    candidates.sort(key=_order)
    compared = [candidate.ref for candidate in candidates if candidate.tradeoff][:COMPARED]
    return {
        "picture": tradeoffs.draw(points, across, _up(query, choice), title=title),
        "title": title,
        "words": _finding(placed, best, len(candidates)),
        "candidates": candidates,
        # How many of them keep the limits.
        "counts": figures.compliances(candidate.compliance for candidate in candidates),
        "is_joined": len(compared) > 1,
        "compare_url": _compare(compared) if len(compared) > 1 else "",
        "across": [Option(words, name, on=name == choice.across) for name, words in AXES.items()],
        "up": _ups(choice, offered),
        "fitting": page.count,
        "capped": page.capped or page.count > MOST,
        "is_timed": choice.across == "latency",
    }


def _named(limit: Limit) -> str:
    return f"{limit.metric}@{limit.data}" if limit.data else limit.metric


def _of_offer(offer: accuracies.Offer) -> Limit:
    return Limit(offer.metric, 0, offer.dataset, None, offer.split)


def _figures(pks: Sequence[int], measure: Limit | None) -> dict[int, DocumentAccuracy]:
    """The best figure of each document that the measure is about, whatever its value."""
    if measure is None:
        return {}
    any_value = replace(measure, value=(1 if measure.is_maximum else -1) * sys.float_info.max)
    by_document = accuracies.of_documents(pks, [any_value])
    return {pk: figures[0][1] for pk, figures in by_document.items() if figures}


def _without_limits(query: Query, choice: Choice) -> Query:
    """The query without its limits on the two figures, in an order that needs none of them."""
    wider = query.without(_LIMIT_OF[choice.across].name)
    if choice.measure:
        others = tuple(limit for limit in query.accuracy if _named(limit) != _named(choice.measure))
        wider = replace(wider, accuracy=others)
    else:
        wider = wider.without(filters.MAX_SIZE.name)
    if wider.sort == search.ACCURACY and not wider.accuracy:
        wider = replace(wider, sort=wider.default_sort)
    return wider


def _limits(query: Query, choice: Choice) -> Callable[[Candidate], Iterator[Compliance]]:
    """What judges a candidate by each limit on the two figures."""
    names = {choice.across} if choice.measure else {choice.across, SIZE}
    limits = {name: query[_LIMIT_OF[name]] for name in names}
    bounds = {name: limit for name, limit in limits.items() if limit is not None}
    accuracy = [limit for limit in query.accuracy if choice.measure and _named(limit) == choice.up]

    def judge(candidate: Candidate) -> Iterator[Compliance]:
        for name, bound in bounds.items():
            figure = candidate.figure(name)
            yield figure.compliance(bound, with_predictions=query.predicted)
        for limit in accuracy:
            yield candidate.accuracy.compliance(limit.value, is_maximum=limit.is_maximum)

    return judge


def _place(candidate: Candidate, choice: Choice) -> tuple[float, float] | None:
    x = candidate.figure(choice.across).value
    y = (candidate.size if choice.measure is None else candidate.accuracy).value
    return None if x is None or y is None else (x, y)


def _best(
    placed: Sequence[tuple[Candidate, tuple[float, float]]],
    choice: Choice,
    *,
    counts_predictions: bool,
) -> dict[str, Status]:
    """The models that no other beats in both figures, with what that rests on.

    A noisy result is beaten by any other, and beats noisy ones alone.
    """
    sign = 1 if choice.measure is None or choice.measure.is_maximum else -1
    entrants = [
        (candidate, charts.Point(x, sign * y, is_ranked=candidate.figure(choice.across).is_ranked))
        for candidate, (x, y) in placed
        if counts_predictions or candidate.figure(choice.across).kind is not Kind.PREDICTED
    ]
    ranked = charts.undominated([point for _, point in entrants])
    best = {
        candidate.ref: Status.ACCEPTED
        for (candidate, _), is_best in zip(entrants, ranked, strict=True)
        if is_best
    }
    of_all = charts.undominated([replace(point, is_ranked=True) for _, point in entrants])
    noisy = {
        candidate.ref: Status.NOISY
        for (candidate, point), is_best in zip(entrants, of_all, strict=True)
        if is_best and not point.is_ranked
    }
    return best | noisy


def _order(candidate: Candidate) -> tuple[bool, bool, bool]:
    """The best trade-offs first, accepted before noisy ones, then what keeps the limits."""
    return (
        candidate.tradeoff is None,
        candidate.tradeoff is Status.NOISY,
        candidate.compliance is not Compliance.WITHIN,
    )


def _point(
    candidate: Candidate, place: tuple[float, float], choice: Choice, *, is_best: bool
) -> tradeoffs.Point:
    figure = candidate.figure(choice.across)
    is_predicted = figure.kind is Kind.PREDICTED
    return tradeoffs.Point(
        *place,
        candidate.ref.partition("/")[2],
        candidate.url,
        _sentence(candidate),
        figure.interval if is_predicted else None,
        "predicted" if is_predicted else "" if figure.is_ranked else "grey",
        is_best=is_best,
    )


def _sentence(of: Candidate) -> str:
    parts = [("p50", of.latency), (figures.title(of.metric), of.accuracy), ("", of.size)]
    words = [
        f"{name} {figures.sentence(figure)}".strip() for name, figure in parts if figure.is_known
    ]
    return ", ".join((of.ref, *words))


def _candidate(
    row: SearchDocument,
    speed: DocumentSpeed | PredictedSpeed | None,
    accuracy: DocumentAccuracy | None,
    judge: Callable[[Candidate], Iterator[Compliance]],
    *,
    is_listed: bool,
) -> Candidate:
    candidate = Candidate(
        ref=row.title,
        url=reverse("model", args=row.title.split("/", 1)),
        size=count(row.size, Unit.BYTE, "no-files"),
        macs=count(row.macs),
        latency=speed.figure if speed else absent(P50.unit),
        accuracy=accuracy.figure if accuracy else absent(Unit.SHARE),
        metric=accuracy.metric if accuracy else "",
        compliance=Compliance.WITHIN,
    )
    return candidate if is_listed else replace(candidate, compliance=together(judge(candidate)))


def _title(choice: Choice) -> str:
    if choice.measure is None:
        return "File size"
    return list_filters.measured(choice.measure)


def _up(query: Query, choice: Choice) -> tradeoffs.Axis:
    measure = choice.measure
    if measure is None:
        return tradeoffs.Axis("File size", _write(SIZE), query[filters.MAX_SIZE])
    limits = [limit.value for limit in query.accuracy if _named(limit) == _named(measure)]
    return tradeoffs.Axis(
        figures.title(measure.metric),
        lambda value: figures.amount(measure.metric, value),
        next(iter(limits), None),
        is_logarithmic=False,
        is_maximum=measure.is_maximum,
        bounds=(0, 1) if measure.metric in SHARES else (-math.inf, math.inf),
    )


def _ups(choice: Choice, offered: Sequence[accuracies.Offer]) -> tuple[Option, ...]:
    limits = {_named(limit): limit for limit in map(_of_offer, offered)}
    if choice.measure:
        limits = {_named(choice.measure): choice.measure} | limits
    options = [
        Option(list_filters.measured(limit), name, on=name == choice.up)
        for name, limit in limits.items()
    ]
    return (*options, Option("File size", SIZE, on=choice.measure is None))


def _finding(placed: Sequence[object], best: dict[str, Status], many: int) -> str:
    """What the plot shows, in a sentence."""
    missing = many - len(placed)
    words = f"{formatting.plural(len(placed), 'model')} with both figures"
    if missing:
        words += f", {missing} without"
    joined = f"{len(best)} of them {'is' if len(best) == 1 else 'are'} beaten by no other in both"
    noisy = sum(status is Status.NOISY for status in best.values())
    joined += f", {noisy} by {Status.NOISY} results" if noisy else ""
    return f"{words}; {joined}." if best else f"{words}."


def _compare(refs: Sequence[str]) -> str:
    return f"{reverse('compare')}?{urlencode([('m', ref) for ref in refs], safe='/@:')}"


def _write(name: str) -> Callable[[float], str]:
    unit = {"latency": P50.unit, "size": Unit.BYTE}.get(name, Unit.COUNT)
    return lambda value: figures.number(value, unit)
