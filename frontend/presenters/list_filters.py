"""The state of the list of models, which lives in its address: read, canonical, and as links.

Empty and preset parameters do not belong into an address, so that two people with the same view
have the same address.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.presenters import licences
from hub.protocol import problems
from registry.catalogue import search, speeds
from registry.catalogue.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.http import QueryDict

SHOWN = 7
SORTS = {
    "updated": "Recently updated",
    "downloads": "Most downloaded",
    "fastest": "Fastest on the chosen device",
    "size": "Smallest",
    "carbon": "Least carbon",
    "name": "Name",
}


def _same(value: str) -> str:
    return value


def _precision(value: str) -> str:
    return "no weights" if value == "none" else value


def _device(value: str) -> str:
    return value.replace("-", " ")


def _evidence(value: str) -> str:
    return {
        "carbon": "training carbon declared",
        "federated": "trained in federated rounds",
        "upgrade": "opset upgrade ready",
    }.get(value, value)


def _bytes(value: str) -> str:
    return formatting.size(int(value))


def _parameters(value: str) -> str:
    return formatting.quantity(int(value))


# Parameter -> title, words for a value. The order is that of the page.
GROUPS: dict[str, tuple[str, Callable[[str], str]]] = {
    "task": ("Task", words.task),
    "passes_on": ("Passes on", words.runtime),
    "precision": ("Precision", _precision),
    "opset_max": ("Maximum opset", _same),
    "opset": ("Opset", _same),
    "measured_on": ("Measured on", _device),
    "license": ("Licence", words.licence),
    "evidence": ("Evidence", _evidence),
    "max_bytes": ("Maximum size", _bytes),
    "max_parameters": ("Maximum parameters", _parameters),
    "namespace": ("Namespace", _same),
    "keyword": ("Keyword", _same),
}
# What an address may ask for beside that, as the API does: shown as chips where it is chosen.
MORE: dict[str, tuple[str, Callable[[str], str]]] = {
    "domain": ("Domain", _same),
    "operator": ("Operator", _same),
    "pixel_format": ("Pixels", _same),
    "personal_data": ("Personal data in training", _same),
    "fails_on": ("Fails on", words.runtime),
    "contains": ("Name or summary", _same),
}
# All that the address of the list may hold: `on` is a setup in one value, as its form sends it.
PARAMETERS = ("q", "sort", "cursor", "on", *GROUPS, *MORE, *speeds.Setup._fields)
# Of these one value at most is chosen; all but the last are numbers.
_OPSETS = ("opset_max", "opset")
_NUMBERS = {
    "opset_max": "opset",
    "opset": "opset",
    "max_bytes": "size",
    "max_parameters": "number of parameters",
}
_ONE = (*_NUMBERS, "contains")
_MOST_DIGITS = {"opset_max": 5, "opset": 5, "max_bytes": 18, "max_parameters": 18}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter, and how many models the list would have with it."""

    value: str
    words: str
    count: int | None
    on: bool
    family: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One filter: the first few values, and the rest behind a disclosure."""

    name: str
    title: str
    kind: str
    first: tuple[Choice, ...]
    rest: tuple[Choice, ...]


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
        name: told.strip()[:96] for name, told in zip(speeds.Setup._fields, setup, strict=False)
    }
    sort = data.get("sort") or "updated"
    if sort not in SORTS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    return Query(
        text=data.get("q", "").strip()[:200],
        sort=sort,
        contains=data.get("contains", "").strip()[:200],
        **groups,
    )


def sorts(known: Sequence[speeds.Offer]) -> dict[str, str]:
    """The orders of the list in words; where nothing was measured there is no fastest."""
    return SORTS if known else SORTS | {search.FASTEST: "Fastest (no measurements yet)"}


def settled(query: Query, known: Sequence[speeds.Offer]) -> Query:
    """The query with a whole setup where its speeds are asked for, or a part of a setup is told."""
    if query.sort != search.FASTEST and not any(query.setup):
        return query
    return replace(query, **speeds.settled(known, query.setup, query.measured_on)._asdict())


def address(query: Query, cursor: str = "") -> str:
    """The one address of a view of the list."""
    pairs = [("q", query.text)]
    for name in (*GROUPS, *MORE):
        pairs += [(name, value) for value in _chosen(query, name)]
    pairs += list(query.setup._asdict().items())
    pairs += [("sort", "" if query.sort == "updated" else query.sort), ("cursor", cursor)]
    written = urlencode([(name, value) for name, value in pairs if value])
    return f"{reverse('models')}?{written}" if written else reverse("models")


def chips(query: Query) -> list[Chip]:
    """Every chosen value with the address that drops it."""
    found = [Chip("Text", query.text, _drop(query, "q", query.text), "q")] if query.text else []
    for name, (title, said) in (GROUPS | MORE).items():
        found += [
            Chip(title, said(value), _drop(query, name, value), name)
            for value in _chosen(query, name)
        ]
    return found


def kept(query: Query) -> list[tuple[str, str]]:
    """Choices that no filter of the page shows: its form has to send them along."""
    return [(name, value) for name in MORE for value in _chosen(query, name)]


def groups(
    query: Query,
    facets: dict[str, list[tuple[str, int]]],
    known: dict[str, list[tuple[str, int]]],
) -> list[Group]:
    """The filters with their counts; a value stays visible where it would leave nothing."""
    found = []
    for name, (title, said) in GROUPS.items():
        counts = _at_most(facets[name]) if name == "opset_max" else dict(facets[name])
        chosen = {value.lower() for value in _chosen(query, name)}
        there = {value.lower() for value in counts}
        for value in (*_chosen(query, name), *(value for value, _ in known[name])):
            if value.lower() not in there:
                there.add(value.lower())
                counts[value] = 0
        choices = [
            Choice(value, said(value), many, value.lower() in chosen, _family(name, value))
            for value, many in counts.items()
        ]
        if name in _NUMBERS:
            choices.sort(key=lambda choice: int(choice.value), reverse=name in _OPSETS)
        elif name == "license":
            choices.sort(key=lambda choice: licences.FAMILIES.index(choice.family))
        else:
            choices.sort(key=lambda choice: not choice.on)
        if name in _NUMBERS and choices:
            choices = [Choice("", "any", None, getattr(query, name) is None), *choices]
        if choices:
            kind = "radio" if name in _NUMBERS else "checkbox"
            found.append(Group(name, title, kind, tuple(choices[:SHOWN]), tuple(choices[SHOWN:])))
    return found


def _family(name: str, value: str) -> str:
    """The heading under which a value stands; none in most groups."""
    return licences.family(value) if name == "license" else ""


def _number(name: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS[name]):
        raise problems.InvalidRequest(f"The {_NUMBERS[name]} {text[:20]!r} is not a number.")
    return int(text)


def _at_most(counted: list[tuple[str, int]]) -> dict[str, int]:
    """Counts of "at most this opset", from counts of each opset, highest first."""
    total = sum(many for _, many in counted)
    sums: dict[str, int] = {}
    for opset, many in counted:
        sums[opset] = total
        total -= many
    return sums


def _chosen(query: Query, name: str) -> tuple[str, ...]:
    if name in _NUMBERS:
        bound = getattr(query, name)
        return () if bound is None else (str(bound),)
    if name == "contains":
        return (query.contains,) if query.contains else ()
    value: tuple[str, ...] = getattr(query, name)
    return value


def _drop(query: Query, name: str, value: str) -> str:
    if name == "q":
        return address(replace(query, text=""))
    if name in _ONE:
        return address(query.without(name))
    left = tuple(other for other in _chosen(query, name) if other != value)
    changed: dict[str, Any] = {name: left}
    return address(replace(query, **changed))
