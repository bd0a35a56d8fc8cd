"""The state of the list of models, which lives in its address: read, canonical, and as links.

Empty and preset parameters do not belong into an address, so that two people with the same view
have the same address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from frontend.parts import addresses, formatting, labels
from frontend.parts.options import Option
from frontend.presenters import figures, licences
from hub.protocol import accuracy, attributes, filters, problems
from hub.protocol.accuracy import Limit
from hub.protocol.attributes import Quantity
from hub.protocol.filters import BOUNDS, FILTERS, Bound, Choice, Text
from hub.protocol.sorts import SORTS
from registry.catalogue import accuracies, facets, search, speeds
from registry.catalogue.query import Query

LIMIT = 7
# All that the address of the list may hold: `on` is a setup in one value, as its form sends it, and
# `measure` with `bound` a limit of accuracy.
PARAMETERS = (
    *("q", "question", "sort", "cursor", "on", "predicted", "min", "max", "measure", "bound"),
    *FILTERS,
    *speeds.Setup._fields,
)
_FRACTION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
# Words for values that a filter takes beside those that it declares.
_OTHER_WORDS: dict[str, Callable[[str], str]] = {
    filters.TASK.name: labels.task,
    filters.MEASURED_ON.name: lambda value: value.replace("-", " "),
}
_AMOUNTS: dict[Quantity, Callable[[str], str]] = {
    attributes.BYTES: lambda value: formatting.size(int(value)),
    attributes.COUNT: lambda value: formatting.quantity(int(value)),
    attributes.MACS: lambda value: f"{formatting.quantity(int(value))} MACs",
    attributes.MILLISECONDS: lambda value: f"{value}{formatting.NARROW}ms",
    attributes.POINTS: lambda value: f"{value} point{'' if float(value) == 1 else 's'}",
}


def read(data: QueryDict) -> Query:
    """What an address asks for; raises InvalidRequest for a bound that is no number."""

    def many(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in data.getlist(name) if value))[:20]

    values: dict[str, Any] = {name: many(name) for name in filters.CHOICES}
    values |= {bound.name: _number(bound, data.get(bound.name, "")) for bound in BOUNDS.values()}
    values |= {name: data.get(name, "").strip()[:200] for name in filters.TEXTS}
    for day in filters.DAYS.values():
        if (text := values[day.name]) and not day.is_day(text):
            raise problems.InvalidRequest.at(
                f"/{day.name}", f"{text[:20]!r} is not a day, such as 2026-01-31."
            )
    setup = [data.get(name, "") for name in speeds.Setup._fields]
    if on := data.get("on"):  # a select has one value for all three
        setup = on.split("/", 2)
    values |= {
        name: value.strip()[:96] for name, value in zip(speeds.Setup._fields, setup, strict=False)
    }
    sort = data.get("sort", "")
    if sort and sort not in SORTS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    limits = _limits(data)
    if sort == search.ACCURACY and not limits:  # the filter that the order went by was removed
        sort = ""
    query = Query.of(
        text=data.get("q", "").strip()[:200],
        predicted=_is_on(data.get("predicted", "")),
        accuracy=limits,
        **values,
    )
    return replace(query, sort=sort or query.default_sort)


def sorts(query: Query, available: Sequence[speeds.Offer]) -> tuple[Option, ...]:
    """The orders of the list; where nothing was measured there is no fastest.

    The default one has no value, so that it stays out of the address and follows the limits.
    """
    titles = {sort.name: sort.title for sort in SORTS.values()}
    if not available:
        titles[search.FASTEST] = "Fastest (no measurements yet)"
    return tuple(
        Option(title, "" if name == query.default_sort else name, on=name == query.sort)
        for name, title in titles.items()
        if name != search.ACCURACY or query.accuracy
    )


def measures(query: Query, available: Sequence[accuracies.Offer]) -> tuple[Option, ...]:
    """The metrics and data of the filter by accuracy, the chosen one among them."""
    first = next(iter(query.accuracy), None)
    choice = f"{first.metric}@{first.data}" if first else ""
    options = [_measure(offer, choice) for offer in available]
    if first and not any(option.on for option in options):
        options.insert(0, Option(_choice(first), choice.rstrip("@"), on=True))
    return tuple(options)


def bound(query: Query) -> str:
    """The first limit of accuracy as its field takes it; empty where there is none."""
    return f"{query.accuracy[0].value:.6g}" if query.accuracy else ""


def order_reason(query: Query) -> str:
    """Why the list is in its order, where a limit decided that; empty elsewhere."""
    if query.sort != query.default_sort or not (query.accuracy or query.bounds):
        return ""
    if query.sort == search.ACCURACY:
        first = measured(query.accuracy[0])
        return f"Sorted by “{first}”, the best first, because of that limit."
    sort = SORTS[query.sort]
    limit = next((bound for bound in query.bounds if bound.sort is sort), None)
    if limit is None:
        return "Newest first, since several limits are set. To sort by one of them, use Sort."
    return f"{sort.title} first, because of the limit “{limit.title}”."


def settled(query: Query, available: Sequence[speeds.Offer]) -> Query:
    """The query with a complete setup, where speeds or a part of a setup are requested."""
    if not query.is_timed:
        return query
    devices = query[filters.MEASURED_ON]
    setup = speeds.settled(available, query.setup, devices)
    return replace(query, **setup._asdict())


def address(query: Query, cursor: str = "", question: str = "") -> str:
    """The one address of a view of the list; ``question`` is the question that its filters mean."""
    written = parameters(query, cursor, question)
    return f"{reverse('models')}?{written}" if written else reverse("models")


def parameters(query: Query, cursor: str = "", question: str = "") -> str:
    """What stands behind the question mark of such an address."""
    pairs = [("q", query.text)]
    for name in FILTERS:
        pairs += [(name, value) for value in _choices(query, name)]
    pairs += [(_parameter(limit), str(limit)) for limit in query.accuracy]
    pairs += list(query.setup._asdict().items())
    pairs += [
        ("predicted", "1" if query.predicted else ""),
        ("sort", "" if query.sort == query.default_sort else query.sort),
        ("cursor", cursor),
        ("question", question),
    ]
    return urlencode([(name, value) for name, value in pairs if value])


def feed(query: Query) -> str:
    """The address of the feed of a list, which is in the order of the last changes."""
    written = parameters(replace(query, sort="updated"))
    return f"{reverse('models-feed')}?{written}" if written else reverse("models-feed")


def chips(query: Query) -> list[dict[str, Any]]:
    """Every chosen value with the address that drops it."""
    all_chips = (
        [
            {
                "title": "Text",
                "words": query.text,
                "url": _drop(query, "q", query.text),
                "group": "q",
            }
        ]
        if query.text
        else []
    )
    for name, filter_ in FILTERS.items():
        all_chips += [
            {
                "title": filter_.title,
                "words": words(filter_, value),
                "url": _drop(query, name, value),
                "group": name,
            }
            for value in _choices(query, name)
        ]
    for limit in query.accuracy:
        rest = tuple(other for other in query.accuracy if other != limit)
        wider = _reordered(query, replace(query, accuracy=rest))
        amount = figures.amount(limit.metric, limit.value)
        all_chips.append(
            {
                "title": _bounded(limit),
                "words": amount,
                "url": address(wider),
                "group": "accuracy",
            }
        )
    return all_chips


def hidden_fields(query: Query) -> list[tuple[str, str]]:
    """Choices that no filter of the page shows: its form has to send them along."""
    hidden = FILTERS.keys() - facets.GROUPS.keys() - {filters.MAX_LATENCY.name}
    pairs = [(name, value) for name in FILTERS if name in hidden for value in _choices(query, name)]
    return [*pairs, *((_parameter(limit), str(limit)) for limit in query.accuracy[1:])]


def words(filter_: Choice | Bound | Text, value: str) -> str:
    """A value of a filter in words."""
    if isinstance(filter_, Bound):
        amount = _AMOUNTS.get(filter_.quantity, str)
        return amount(value)
    if isinstance(filter_, Choice):
        other = _OTHER_WORDS.get(filter_.name, str)
        return filter_.values.get(value.lower()) or other(value)
    return value


def groups(
    query: Query,
    counts: dict[str, list[tuple[str, int]]],
    available: dict[str, list[tuple[str, int]]],
) -> list[dict[str, Any]]:
    """The filters with their counts; a value stays visible where it would leave nothing."""
    all_groups = []
    for name, filter_ in facets.GROUPS.items():
        options = _options(query, filter_, counts[name], available[name])
        if isinstance(filter_, Bound) and options:
            options = [Option("any", on=query[filter_] is None), *options]
        if options:
            kind = "radio" if isinstance(filter_, Bound) else "checkbox"
            first, rest = tuple(options[:LIMIT]), tuple(options[LIMIT:])
            # "any" is no choice.
            choice_count = sum(option.on and option.value != "" for option in options)
            all_groups.append(
                {
                    "name": name,
                    "title": filter_.title,
                    "kind": kind,
                    "first": first,
                    "rest": rest,
                    "choice_count": choice_count,
                }
            )
    return all_groups


def _options(
    query: Query,
    filter_: Choice | Bound | Text,
    totals: list[tuple[str, int]],
    available: list[tuple[str, int]],
) -> list[Option]:
    """The values of a filter in their order, with how many models each would leave."""
    name, is_bound = filter_.name, isinstance(filter_, Bound)
    counts: dict[str, int | None] = dict(totals)
    if filter_ is filters.OPSET_MAX:
        counts |= _at_most(totals)
    choices = {value.lower() for value in _choices(query, name)}
    there = {value.lower() for value in counts}
    for value in (*_choices(query, name), *(value for value, _ in available)):
        if value.lower() not in there:
            there.add(value.lower())
            # A limit that lists do not offer leaves what the list shows, which nobody counted here.
            counts[value] = None if is_bound and value in choices else 0
    is_licence = filter_ is filters.LICENCE
    options = [
        Option(
            words(filter_, value),
            value,
            on=value.lower() in choices,
            count=count,
            family=licences.family(value) if is_licence else "",
        )
        for value, count in counts.items()
    ]
    if isinstance(filter_, Bound):
        options.sort(key=lambda option: int(option.value), reverse=not filter_.steps)
    elif is_licence:
        options.sort(key=lambda option: licences.FAMILIES.index(option.family))
    else:
        options.sort(key=lambda option: not option.on)
    return options


def latency_limit(query: Query) -> str:
    """The latency limit as its field takes it; empty where there is none."""
    return "".join(_choices(query, filters.MAX_LATENCY.name))


def _number(bound: Bound, text: str) -> float | None:
    """The number of a limit in an address; None for an empty one."""
    if not bound.quantity.is_whole:
        return _fraction(bound, text.strip())
    number = addresses.whole(text, bound.quantity.digits)
    if text and number is None:
        noun = bound.attribute.noun if bound.attribute else bound.title.lower()
        raise problems.InvalidRequest(f"The {noun} {text[:20]!r} is not a number.")
    return number


def _is_on(text: str) -> bool:
    if text not in ("", "0", "1"):
        raise problems.InvalidRequest(f"predicted is 1 or 0, not {text[:20]!r}.")
    return text == "1"


def _fraction(bound: Bound, text: str) -> float | None:
    if text and not _FRACTION.fullmatch(text):
        what = f"{bound.title.lower()} {text[:20]!r}"
        raise problems.InvalidRequest(f"The {what} is not a number ({bound.quantity.form_unit}).")
    return float(text) if text else None


def _at_most(counts: list[tuple[str, int]]) -> dict[str, int]:
    """Counts of "at most this opset", from counts of each opset, highest first."""
    total = sum(many for _, many in counts)
    sums: dict[str, int] = {}
    for opset, many in counts:
        sums[opset] = total
        total -= many
    return sums


def _choices(query: Query, name: str) -> tuple[str, ...]:
    """The values of a filter as addresses have them, without exponents."""
    value = dict(query.values).get(name, FILTERS[name].nothing)
    if isinstance(value, tuple):
        return value
    if isinstance(value, float):
        return (f"{value:.9f}".rstrip("0").rstrip("."),)
    return () if value in (None, "") else (str(value),)


def _drop(query: Query, name: str, value: str) -> str:
    if name == "q":
        return address(replace(query, text=""))
    if name not in filters.CHOICES:
        return address(without(query, name))
    left = tuple(other for other in _choices(query, name) if other != value)
    return address(query.narrowed({name: left}))


def without(query: Query, name: str) -> Query:
    """The query without the values of a filter, or without its limits of accuracy.

    Its order follows from the rest unless one was asked for.
    """
    wider = query.without(name) if name in FILTERS else replace(query, accuracy=())
    return _reordered(query, wider)


def _reordered(query: Query, wider: Query) -> Query:
    """A query of fewer choices, in the order that follows from them unless one was asked for."""
    was_asked = query.sort != query.default_sort and (
        wider.accuracy or query.sort != search.ACCURACY
    )
    return wider if was_asked else replace(wider, sort=wider.default_sort)


def _limits(data: QueryDict) -> tuple[Limit, ...]:
    """The limits of accuracy: that of the form first."""
    minimums, maximums = data.getlist("min"), data.getlist("max")
    measure, value = data.get("measure", "").strip(), data.get("bound", "").strip()
    if value and not measure:
        raise problems.InvalidRequest.at("/bound", "Choose the metric and the data set as well.")
    if value:
        is_maximum = measure.partition("@")[0] in accuracy.ERRORS
        (maximums if is_maximum else minimums).insert(0, f"{measure}={value}")
    return accuracies.limits([text for text in minimums if text], [t for t in maximums if t])


def _parameter(limit: Limit) -> str:
    return "max" if limit.is_maximum else "min"


def _measure(offer: accuracies.Offer, choice: str) -> Option:
    limit = accuracy.Limit(offer.metric, 0, offer.dataset, None, offer.split)
    value = f"{limit.metric}@{limit.data}"
    return Option(_choice(limit), value, on=value == choice)


def _choice(limit: Limit) -> str:
    """A metric and its data, short enough for a select; that it is a minimum is the usual case."""
    return f"{measured(limit)}{' (at most)' if limit.is_maximum else ''}"


def measured(limit: Limit) -> str:
    """A metric and its data in words: Accuracy on digits:test."""
    return f"{figures.title(limit.metric)} on {limit.data or 'any data set'}"


def _bounded(limit: Limit) -> str:
    return f"{measured(limit)}, {'at most' if limit.is_maximum else 'at least'}"
