"""The models of a list on two figures: which of them no other beats, for a plot and its table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts.options import Option
from frontend.parts.svg import charts, tradeoffs
from frontend.presenters import evaluations, list_filters, measurements
from hub.protocol import filters
from hub.protocol.accuracy import Limit
from registry.catalogue import accuracies, predictions, search, speeds
from registry.models import DocumentSpeed, PredictedSpeed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.utils.safestring import SafeString

    from registry.catalogue.query import Query
    from registry.catalogue.speeds import Setup
    from registry.core.permissions import Actor
    from registry.models import DocumentAccuracy

MOST = 100
COMPARED = 6
_COLUMNS = ("pk", "title", "size", "macs")
ACROSS = {"latency": "Latency, p50", "size": "File size", "macs": "MACs"}
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
    """A model with its figures in words; ``fits`` says that it keeps every limit of the list."""

    ref: str
    url: str
    size: str
    macs: str
    latency: str
    interval: str
    accuracy: str
    accuracy_interval: str
    state: str
    fits: bool
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What is plotted: the figure across, and upwards `size` or a metric and its data."""

    across: str
    measure: Limit | None

    @property
    def up(self) -> str:
        return _named(self.measure) if self.measure else SIZE


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot, its candidates, the joined ones first, and how many match in all."""

    picture: SafeString
    title: str
    words: str
    candidates: tuple[Candidate, ...]
    compare_url: str
    across: tuple[Option, ...]
    up: tuple[Option, ...]
    fitting: int
    capped: bool
    is_timed: bool

    @property
    def best(self) -> list[Candidate]:
        return [one for one in self.candidates if one.is_best]


@dataclass(frozen=True, slots=True)
class _Row:
    title: str
    size: int | None
    macs: int | None
    speed: DocumentSpeed | PredictedSpeed | None
    figure: DocumentAccuracy | None
    fits: bool

    def value(self, name: str) -> float | None:
        if name == "latency":
            return self.speed.p50_ms if self.speed else None
        number = {"size": self.size, "macs": self.macs}.get(name)
        return None if number is None else float(number)

    @property
    def state(self) -> str:
        if isinstance(self.speed, PredictedSpeed):
            return "predicted"
        is_noisy = self.speed is not None and self.speed.status == DocumentSpeed.Status.NOISY
        return "noisy" if is_noisy else "measured" if self.speed else ""


def choice(
    data: dict[str, str], query: Query, setup: Setup, offered: Sequence[accuracies.Offer]
) -> Choice:
    """What an address asks to be plotted; what it does not say follows from what was measured."""
    across = data.get("x", "")
    if across not in ACROSS:
        across = "latency" if setup.device else SIZE
    measures = {_named(limit): limit for limit in map(_of_offer, offered)}
    if query.accuracy:
        measures = {_named(limit): limit for limit in query.accuracy} | measures
    first = next(iter(measures), "")
    choice = data.get("y", "") or first
    measure = measures.get(choice)
    if measure is None and across == SIZE:
        measure = measures.get(first)
    if measure is None and across == SIZE:  # nothing was measured, and size says nothing of size
        across = "macs"
    return Choice(across, measure)


def of(
    actor: Actor, query: Query, choice: Choice, setup: Setup, offered: Sequence[accuracies.Offer]
) -> Plot:
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
    figures = _figures(list(documents), choice.measure)
    rows = [
        _Row(row.title, row.size, row.macs, timed.get(pk), figures.get(pk), pk in fitting)
        for pk, row in documents.items()
    ]
    placed = [(row, place) for row in rows if (place := _place(row, choice)) is not None]
    best = _best(placed, choice, counts_predictions=query.predicted)
    points = [_point(row, place, choice, is_best=row.title in best) for row, place in placed]
    across = tradeoffs.Axis(ACROSS[choice.across], _WRITE[choice.across], _bound(query, choice))
    title = f"{_title(choice)} against {_AGAINST[choice.across]}"
    candidates = [_candidate(row, is_best=row.title in best) for row in rows]
    candidates.sort(key=lambda one: (not one.is_best, not one.fits))
    compared = [one.ref for one in candidates if one.is_best][:COMPARED]
    return Plot(
        picture=tradeoffs.draw(points, across, _up(query, choice), title=title),
        title=title,
        words=_finding(placed, best, len(rows)),
        candidates=tuple(candidates),
        compare_url=_compare(compared) if len(compared) > 1 else "",
        across=tuple(
            Option(words, name, on=name == choice.across) for name, words in ACROSS.items()
        ),
        up=_ups(choice, offered),
        fitting=page.count,
        capped=page.capped or page.count > MOST,
        is_timed=choice.across == "latency",
    )


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
        others = tuple(one for one in query.accuracy if _named(one) != _named(choice.measure))
        wider = replace(wider, accuracy=others)
    else:
        wider = wider.without(filters.MAX_SIZE.name)
    if wider.sort == search.ACCURACY and not wider.accuracy:
        wider = replace(wider, sort=wider.default_sort)
    return wider


def _place(row: _Row, choice: Choice) -> tuple[float, float] | None:
    x = row.value(choice.across)
    figure = row.figure.value if row.figure else None
    y = row.value(SIZE) if choice.measure is None else figure
    return None if x is None or y is None else (x, y)


def _best(
    placed: Sequence[tuple[_Row, tuple[float, float]]], choice: Choice, *, counts_predictions: bool
) -> set[str]:
    """The models that no other beats in both figures; noisy results beat and join nothing."""
    sign = 1 if choice.measure is None or choice.measure.is_maximum else -1
    firm = [
        (row, charts.Point(x, sign * y))
        for row, (x, y) in placed
        if choice.across != "latency"
        or row.state == "measured"
        or (row.state == "predicted" and counts_predictions)
    ]
    stands = charts.undominated([point for _, point in firm])
    return {row.title for (row, _), is_best in zip(firm, stands, strict=True) if is_best}


def _point(
    row: _Row, place: tuple[float, float], choice: Choice, *, is_best: bool
) -> tradeoffs.Point:
    state = row.state if choice.across == "latency" else ""  # of no other figure
    low, high = row.speed.interval if state == "predicted" and row.speed else (None, None)
    return tradeoffs.Point(
        *place,
        reverse("model", args=row.title.split("/", 1)),
        _sentence(row),
        low,
        high,
        state if state != "measured" else "",
        is_best=is_best,
    )


def _sentence(row: _Row) -> str:
    parts = [row.title]
    if row.speed:
        state = f", {row.state}" if row.state != "measured" else ""
        parts.append(f"p50 {measurements.latency(row.speed.p50_ms)}{state}")
    if row.figure:
        amount = evaluations.amount(row.figure.metric, row.figure.value)
        parts.append(f"{evaluations.title(row.figure.metric)} {amount}")
    if row.size is not None:
        parts.append(formatting.size(row.size))
    return ", ".join(parts)


def _candidate(row: _Row, *, is_best: bool) -> Candidate:
    interval = ""
    if row.state == "predicted" and row.speed:
        interval = " to ".join(measurements.latency(end) for end in row.speed.interval)
    figure = row.figure
    return Candidate(
        ref=row.title,
        url=reverse("model", args=row.title.split("/", 1)),
        size="no files" if row.size is None else formatting.size(row.size),
        macs="not counted" if row.macs is None else formatting.quantity(row.macs),
        latency=measurements.latency(row.speed.p50_ms) if row.speed else "not measured",
        interval=interval,
        accuracy=evaluations.amount(figure.metric, figure.value) if figure else "not measured",
        accuracy_interval=_ends(figure) if figure else "",
        state=row.state,
        fits=row.fits,
        is_best=is_best,
    )


def _ends(figure: DocumentAccuracy) -> str:
    return " to ".join(evaluations.amount(figure.metric, end) for end in (figure.low, figure.high))


def _title(choice: Choice) -> str:
    if choice.measure is None:
        return "File size"
    return list_filters.measured(choice.measure)


def _up(query: Query, choice: Choice) -> tradeoffs.Axis:
    measure = choice.measure
    if measure is None:
        return tradeoffs.Axis("File size", _WRITE[SIZE], query[filters.MAX_SIZE])
    limits = [one.value for one in query.accuracy if _named(one) == _named(measure)]
    return tradeoffs.Axis(
        evaluations.title(measure.metric),
        lambda value: evaluations.amount(measure.metric, value),
        next(iter(limits), None),
        is_logarithmic=False,
    )


def _bound(query: Query, choice: Choice) -> float | None:
    return query[_LIMIT_OF[choice.across]]


def _ups(choice: Choice, offered: Sequence[accuracies.Offer]) -> tuple[Option, ...]:
    limits = {_named(limit): limit for limit in map(_of_offer, offered)}
    if choice.measure:
        limits = {_named(choice.measure): choice.measure} | limits
    options = [
        Option(list_filters.measured(limit), name, on=name == choice.up)
        for name, limit in limits.items()
    ]
    return (*options, Option("File size", SIZE, on=choice.measure is None))


def _finding(placed: Sequence[object], best: set[str], many: int) -> str:
    """What the plot shows, in a sentence."""
    missing = many - len(placed)
    words = f"{formatting.plural(len(placed), 'model')} with both figures"
    if missing:
        words += f", {missing} without"
    joined = f"{len(best)} of them {'is' if len(best) == 1 else 'are'} beaten by no other in both"
    return f"{words}; {joined}." if best else f"{words}."


def _compare(refs: Sequence[str]) -> str:
    return f"{reverse('compare')}?{urlencode([('m', ref) for ref in refs], safe='/@:')}"


_WRITE: dict[str, Callable[[float], str]] = {
    "latency": measurements.latency,
    "size": lambda value: formatting.size(int(value)),
    "macs": lambda value: formatting.quantity(int(value)),
}
