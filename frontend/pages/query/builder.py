"""Questions without SPARQL: words and conditions that become filters of the list, and its query.

A condition is a filter of the list with a value; the query comes from
`metadata.sparql.listing`, so that a question here and a list with the same filters agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict

from frontend.parts.options import Option
from frontend.presenters import list_filters, questions
from hub.protocol.filters import FILTERS, Bound, Choice, Day, Text
from registry.catalogue import speeds
from registry.catalogue.query import Query
from registry.core.permissions import Actor

MOST: Final = 12
_NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class Row:
    """A condition as it is written: its filter, its value, and what is wrong with it."""

    of: Choice | Bound | Text | None
    value: str = ""
    error: str = ""

    @property
    def options(self) -> list[Option]:
        """The filters, with that of the row chosen."""
        return [Option(row.title, name, on=row is self.of) for name, row in FILTERS.items()]

    @property
    def values(self) -> list[Option]:
        """The values of the filter, with that of the row chosen."""
        values = self.of.values if isinstance(self.of, Choice) else {}
        return [Option(words, value, on=value == self.value) for value, words in values.items()]


@dataclass(frozen=True, slots=True)
class Built:
    """The form as it was filled in; ``query`` is None where a condition is incomplete or wrong."""

    words: str
    rows: tuple[Row, ...]
    query: Query | None


def read(data: QueryDict, actor: Actor) -> Built | None:
    """The form in an address; None where it has none. Raises InvalidRequest for a bad limit."""
    words = data.get("words", "").strip()[:200]
    pairs = list(zip(data.getlist("condition"), _padded(data), strict=False))[:MOST]
    rows = tuple(_row(name, value.strip()[:200]) for name, value in pairs if name in FILTERS)
    if not words and not rows:
        return None
    if any(row.error for row in rows):
        return Built(words, rows, None)
    parameters = QueryDict(mutable=True)
    if words:
        parameters["q"] = words
    for row in rows:
        if row.of:
            parameters.appendlist(row.of.name, _parameter(row.of, row.value))
    available = speeds.offers(actor)
    query = list_filters.read(questions.apply(parameters, available))
    return Built(words, rows, list_filters.settled(query, available))


def _padded(data: QueryDict) -> Sequence[str]:
    values = data.getlist("value")
    return [*values, *[""] * (len(data.getlist("condition")) - len(values))]


def _row(name: str, value: str) -> Row:
    of = FILTERS[name]
    if isinstance(of, Bound):
        is_whole = of.quantity.is_whole and of.quantity.form_factor == 1
        is_valid = _NUMBER.fullmatch(value) is not None and not (is_whole and "." in value)
        return Row(of, value, "" if is_valid else f"Enter a number ({of.quantity.form_unit}).")
    if isinstance(of, Choice) and of.values:
        is_known = value in of.values
        return Row(of, value if is_known else "", "" if is_known else "Choose a value.")
    if isinstance(of, Day):
        return Row(of, value, "" if of.is_day(value) else "Enter a day, such as 2026-01-31.")
    return Row(of, value, "" if value else "Enter a value.")


def _parameter(of: Choice | Bound | Text, value: str) -> str:
    """The value as the filter takes it: a number in the unit of the filter."""
    factor = of.quantity.form_factor if isinstance(of, Bound) else 1
    return str(round(float(value) * factor)) if factor > 1 else value
