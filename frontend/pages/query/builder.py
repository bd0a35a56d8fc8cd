"""Questions without SPARQL: words and conditions that become filters of the list, and its query.

A condition is a property of a fixed list with a value of its type; the query comes from
`metadata.sparql.listing`, so that a question here and a list with the same filters agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.http import QueryDict

from frontend.parts import labels
from frontend.parts.options import Option
from frontend.presenters import list_filters, questions
from hub.protocol.cards import PERSONAL_DATA
from hub.protocol.vocabularies import LICENCES, RUNTIMES, TASKS, TASKS_OF
from registry.catalogue import speeds
from registry.catalogue.searchable import PIXEL_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from registry.catalogue.query import Query
    from registry.core.permissions import Actor

MOST: Final = 12
_NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class Property:
    """What a condition is on: a parameter of the list, its values, or the unit of its number.

    ``factor`` is how many of the parameter's own unit one unit has; 0 for words.
    """

    parameter: str
    title: str
    values: tuple[Option, ...] = ()
    unit: str = ""
    factor: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A condition as it is written: its property, its value, and what is wrong with it."""

    of: Property | None
    value: str = ""
    error: str = ""

    @property
    def options(self) -> list[Option]:
        """The properties, with that of the row chosen."""
        parameter = self.of.parameter if self.of else ""
        return [Option(prop.title, key, on=key == parameter) for key, prop in PROPERTIES.items()]

    @property
    def values(self) -> list[Option]:
        """The values of the property, with that of the row chosen."""
        values = self.of.values if self.of else ()
        return [
            Option(choice.words, choice.value, on=choice.value == self.value) for choice in values
        ]


@dataclass(frozen=True, slots=True)
class Built:
    """The form as it was filled in; ``query`` is None where a condition is incomplete or wrong."""

    words: str
    rows: tuple[Row, ...]
    query: Query | None


def _choice(parameter: str, title: str, values: Iterable[tuple[str, str]]) -> Property:
    return Property(parameter, title, tuple(Option(words, value) for value, words in values))


_ALL: Final = (
    _choice("task", "Task", ((name, labels.task(name)) for name in TASKS)),
    _choice("domain", "Domain", ((name, name) for name in TASKS_OF)),
    _choice(
        "personal_data",
        "Personal data in training",
        ((name, labels.PERSONAL[name]) for name in PERSONAL_DATA),
    ),
    _choice("license", "Licence", ((name.lower(), name) for name in LICENCES)),
    Property("max_bytes", "Size at most", unit="MB", factor=10**6),
    Property("max_parameters", "Parameters at most", unit="million", factor=10**6),
    Property("max_macs", "MACs at most", unit="million", factor=10**6),
    Property("max_memory", "Memory at most", unit="MB", factor=10**6),
    Property("max_p50", "Latency at most", unit="ms", factor=1),
    Property("opset_max", "Opset at most", unit="version", factor=1),
    _choice("precision", "Precision", ((name, name) for name in ("fp32", "fp16", "int8"))),
    _choice("passes_on", "Passes on", RUNTIMES.items()),
    _choice("fails_on", "Fails on", RUNTIMES.items()),
    _choice("pixel_format", "Pixel format", ((name, name) for name in PIXEL_FORMATS)),
    Property("operator", "Uses the operator"),
    Property("keyword", "Keyword"),
    Property("namespace", "Namespace"),
)
PROPERTIES: Final = {prop.parameter: prop for prop in _ALL}


def read(data: QueryDict, actor: Actor) -> Built | None:
    """The form in an address; None where it has none. Raises InvalidRequest for a bad limit."""
    words = data.get("words", "").strip()[:200]
    pairs = list(zip(data.getlist("condition"), _padded(data), strict=False))[:MOST]
    rows = tuple(_row(name, value.strip()[:200]) for name, value in pairs if name in PROPERTIES)
    if not words and not rows:
        return None
    if any(row.error for row in rows):
        return Built(words, rows, None)
    parameters = QueryDict(mutable=True)
    if words:
        parameters["q"] = words
    for row in rows:
        if row.of:
            parameters.appendlist(row.of.parameter, _parameter(row.of, row.value))
    available = speeds.offers(actor)
    query = list_filters.read(questions.apply(parameters, available))
    return Built(words, rows, list_filters.settled(query, available))


def _padded(data: QueryDict) -> Sequence[str]:
    values = data.getlist("value")
    return [*values, *[""] * (len(data.getlist("condition")) - len(values))]


def _row(name: str, value: str) -> Row:
    of = PROPERTIES[name]
    if of.factor:
        whole = of.parameter != "opset_max" or "." not in value
        is_valid = whole and _NUMBER.fullmatch(value) is not None
        return Row(of, value, "" if is_valid else f"Enter a number ({of.unit}).")
    if of.values:
        is_known = any(value == choice.value for choice in of.values)
        return Row(of, value if is_known else "", "" if is_known else "Choose a value.")
    return Row(of, value, "" if value else "Enter a value.")


def _parameter(of: Property, value: str) -> str:
    if of.factor > 1:
        return str(round(float(value) * of.factor))
    return value
