"""The state of the list of models, which lives in its address: read, canonical, and as links.

Empty and preset parameters do not belong into an address, so that two people with the same view
have the same address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import addresses, formatting, labels
from frontend.parts.options import Option
from frontend.presenters import evaluations, licences
from hub.protocol import accuracy, problems
from registry.catalogue import accuracies, search, speeds
from registry.catalogue.query import USUAL_SORT, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.http import QueryDict

    from hub.protocol.accuracy import Limit

SHOWN = 7
SORTS = {
    "updated": "Recently updated",
    "downloads": "Most downloaded",
    "fastest": "Fastest on the chosen device",
    "accuracy": "Best by the accuracy filter",
    "size": "Smallest",
    "carbon": "Least carbon",
    "macs": "Fewest operations",
    "memory": "Least memory",
    "parameters": "Fewest parameters",
    "name": "Name",
}


_EVIDENCE = {
    "carbon": "training carbon declared",
    "federated": "trained in federated rounds",
    "upgrade": "opset upgrade ready",
}
# Parameter -> title, words for a value. The order is that of the page.
GROUPS: dict[str, tuple[str, Callable[[str], str]]] = {
    "task": ("Task", labels.task),
    "passes_on": ("Passes on", labels.runtime),
    "precision": ("Precision", lambda value: "no weights" if value == "none" else value),
    "opset_max": ("Maximum opset", str),
    "opset": ("Opset", str),
    "measured_on": ("Measured on", lambda value: value.replace("-", " ")),
    "license": ("Licence", labels.licence),
    "evidence": ("Evidence", lambda value: _EVIDENCE.get(value, value)),
    "max_bytes": ("Maximum size", lambda value: formatting.size(int(value))),
    "max_parameters": ("Maximum parameters", lambda value: formatting.quantity(int(value))),
    "max_macs": ("Maximum operations", lambda value: f"{formatting.quantity(int(value))} MACs"),
    "max_memory": ("Maximum memory", lambda value: formatting.size(int(value))),
    "namespace": ("Namespace", str),
    "keyword": ("Keyword", str),
}
# What an address may ask for beside that, as the API does: shown as chips where it is chosen.
MORE: dict[str, tuple[str, Callable[[str], str]]] = {
    "domain": ("Domain", str),
    "operator": ("Operator", str),
    "pixel_format": ("Pixels", str),
    "personal_data": ("Personal data in training", str),
    "fails_on": ("Fails on", labels.runtime),
    "max_p50": ("Maximum latency", lambda value: f"{value}{formatting.NARROW}ms"),
    "contains": ("Name or summary", str),
}
# All that the address of the list may hold: `on` is a setup in one value, as its form sends it, and
# `measure` with `bound` a limit of accuracy.
PARAMETERS = (
    *("q", "question", "sort", "cursor", "on", "predicted", "min", "max", "measure", "bound"),
    *GROUPS, *MORE, *speeds.Setup._fields,
)  # fmt: skip
# Of these one value at most is chosen; all but the last are numbers.
_MILLISECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_OPSETS = ("opset_max", "opset")
_NUMBERS = {
    "opset_max": "opset",
    "opset": "opset",
    "max_bytes": "size",
    "max_parameters": "number of parameters",
    "max_macs": "number of operations",
    "max_memory": "number of bytes",
}
_ONE = (*_NUMBERS, "max_p50", "contains")
_MOST_DIGITS = dict.fromkeys(_NUMBERS, 18) | dict.fromkeys(_OPSETS, 5)


@dataclass(frozen=True, slots=True)
class Group:
    """One filter: the first few values, and the rest behind a disclosure."""

    name: str
    title: str
    kind: str
    first: tuple[Option, ...]
    rest: tuple[Option, ...]

    @property
    def choice_count(self) -> int:
        """How many values are chosen; "any" is no choice."""
        return sum(option.on and option.value != "" for option in (*self.first, *self.rest))


@dataclass(frozen=True, slots=True)
class Chip:
    """A chosen value, and the address of the list without it."""

    title: str
    words: str
    url: str
    group: str


def read(data: QueryDict) -> Query:
    """What an address asks for; raises InvalidRequest for a bound that is no number."""

    def many(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in data.getlist(name) if value))[:20]

    groups: dict[str, Any] = {name: many(name) for name in (*GROUPS, *MORE) if name not in _ONE}
    groups |= {name: _number(name, data.get(name, "")) for name in _NUMBERS}
    setup = [data.get(name, "") for name in speeds.Setup._fields]
    if on := data.get("on"):  # a select has one value for all three
        setup = on.split("/", 2)
    groups |= {
        name: value.strip()[:96] for name, value in zip(speeds.Setup._fields, setup, strict=False)
    }
    sort = data.get("sort", "")
    if sort and sort not in SORTS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    limits = _limits(data)
    if sort == search.ACCURACY and not limits:  # the filter that the order went by was removed
        sort = ""
    query = Query(
        text=data.get("q", "").strip()[:200],
        contains=data.get("contains", "").strip()[:200],
        max_p50=_milliseconds(data.get("max_p50", "").strip()),
        predicted=_is_on(data.get("predicted", "")),
        accuracy=limits,
        **groups,
    )
    return replace(query, sort=sort or query.default_sort)


def sorts(query: Query, available: Sequence[speeds.Offer]) -> tuple[Option, ...]:
    """The orders of the list; where nothing was measured there is no fastest.

    The default one has no value, so that it stays out of the address and follows the limits.
    """
    words = SORTS if available else SORTS | {search.FASTEST: "Fastest (no measurements yet)"}
    return tuple(
        Option(text, "" if sort == query.default_sort else sort, on=sort == query.sort)
        for sort, text in words.items()
        if sort != search.ACCURACY or query.accuracy
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
    if query.sort != query.default_sort or not query.limits:
        return ""
    if query.sort == search.ACCURACY:
        first = measured(query.accuracy[0])
        return f"Sorted by “{first}”, the best first, because of that limit."
    title = MORE["max_p50"][0] if query.max_p50 is not None else GROUPS[query.limits[0]][0]
    if query.sort == USUAL_SORT:
        return "Newest first, since several limits are set. To sort by one of them, use Sort."
    return f"{SORTS[query.sort]} first, because of the limit “{title}”."


def settled(query: Query, available: Sequence[speeds.Offer]) -> Query:
    """The query with a complete setup, where speeds or a part of a setup are requested."""
    if query.sort != search.FASTEST and query.max_p50 is None and not any(query.setup):
        return query
    return replace(query, **speeds.settled(available, query.setup, query.measured_on)._asdict())


def address(query: Query, cursor: str = "", question: str = "") -> str:
    """The one address of a view of the list; ``question`` is the question that its filters mean."""
    written = parameters(query, cursor, question)
    return f"{reverse('models')}?{written}" if written else reverse("models")


def parameters(query: Query, cursor: str = "", question: str = "") -> str:
    """What stands behind the question mark of such an address."""
    pairs = [("q", query.text)]
    for name in (*GROUPS, *MORE):
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


def chips(query: Query) -> list[Chip]:
    """Every chosen value with the address that drops it."""
    all_chips = [Chip("Text", query.text, _drop(query, "q", query.text), "q")] if query.text else []
    for name, (title, words) in (GROUPS | MORE).items():
        all_chips += [
            Chip(title, words(value), _drop(query, name, value), name)
            for value in _choices(query, name)
        ]
    for limit in query.accuracy:
        rest = tuple(one for one in query.accuracy if one != limit)
        wider = _reordered(query, replace(query, accuracy=rest))
        amount = evaluations.amount(limit.metric, limit.value)
        all_chips.append(Chip(_bounded(limit), amount, address(wider), "accuracy"))
    return all_chips


def hidden_fields(query: Query) -> list[tuple[str, str]]:
    """Choices that no filter of the page shows: its form has to send them along."""
    hidden = [name for name in MORE if name != "max_p50"]
    pairs = [(name, value) for name in hidden for value in _choices(query, name)]
    return [*pairs, *((_parameter(limit), str(limit)) for limit in query.accuracy[1:])]


def groups(
    query: Query,
    facets: dict[str, list[tuple[str, int]]],
    available: dict[str, list[tuple[str, int]]],
) -> list[Group]:
    """The filters with their counts; a value stays visible where it would leave nothing."""
    all_groups = []
    for name, (title, words) in GROUPS.items():
        counts: dict[str, int | None] = dict(facets[name])
        if name == "opset_max":
            counts |= _at_most(facets[name])
        choices = {value.lower() for value in _choices(query, name)}
        there = {value.lower() for value in counts}
        for value in (*_choices(query, name), *(value for value, _ in available[name])):
            if value.lower() not in there:
                there.add(value.lower())
                # A limit that no one offers leaves what the list shows, which nobody counted here.
                counts[value] = None if name in _NUMBERS and value in choices else 0
        options = [
            Option(
                words(value),
                value,
                on=value.lower() in choices,
                count=count,
                family=licences.family(value) if name == "license" else "",
            )
            for value, count in counts.items()
        ]
        if name in _NUMBERS:
            options.sort(key=lambda option: int(option.value), reverse=name in _OPSETS)
        elif name == "license":
            options.sort(key=lambda option: licences.FAMILIES.index(option.family))
        else:
            options.sort(key=lambda option: not option.on)
        if name in _NUMBERS and options:
            options = [Option("any", on=getattr(query, name) is None), *options]
        if options:
            kind = "radio" if name in _NUMBERS else "checkbox"
            all_groups.append(
                Group(name, title, kind, tuple(options[:SHOWN]), tuple(options[SHOWN:]))
            )
    return all_groups


def latency_limit(query: Query) -> str:
    """The latency limit as its field takes it, without an exponent; empty where there is none."""
    if query.max_p50 is None:
        return ""
    return f"{query.max_p50:.9f}".rstrip("0").rstrip(".")


def _number(name: str, text: str) -> int | None:
    number = addresses.whole(text, _MOST_DIGITS[name])
    if text and number is None:
        raise problems.InvalidRequest(f"The {_NUMBERS[name]} {text[:20]!r} is not a number.")
    return number


def _is_on(text: str) -> bool:
    if text not in ("", "0", "1"):
        raise problems.InvalidRequest(f"predicted is 1 or 0, not {text[:20]!r}.")
    return text == "1"


def _milliseconds(text: str) -> float | None:
    if text and not _MILLISECONDS.fullmatch(text):
        raise problems.InvalidRequest(f"The latency {text[:20]!r} is not a number of milliseconds.")
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
    if name in _NUMBERS:
        bound = getattr(query, name)
        return () if bound is None else (str(bound),)
    if name == "max_p50":
        return (latency_limit(query),) if query.max_p50 is not None else ()
    if name == "contains":
        return (query.contains,) if query.contains else ()
    value: tuple[str, ...] = getattr(query, name)
    return value


def _drop(query: Query, name: str, value: str) -> str:
    if name == "q":
        return address(replace(query, text=""))
    if name in _ONE:
        return address(without(query, name))
    left = tuple(other for other in _choices(query, name) if other != value)
    changed: dict[str, Any] = {name: left}
    return address(replace(query, **changed))


def without(query: Query, name: str) -> Query:
    """The query without a choice, in the order that follows from the rest unless one was asked."""
    return _reordered(query, query.without(name))


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
    return f"{evaluations.title(limit.metric)} on {limit.data or 'any data set'}"


def _bounded(limit: Limit) -> str:
    return f"{measured(limit)}, {'at most' if limit.is_maximum else 'at least'}"
