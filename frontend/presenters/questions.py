"""A question in words as filters of the list: read where it is asked, and shown as it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from frontend.presenters import list_filters
from hub.protocol import sorts
from registry.catalogue import speeds, wording
from registry.catalogue.query import Query


def apply(data: QueryDict, available: Sequence[speeds.Offer]) -> QueryDict:
    """The parameters with the filters that the text names, and that text as `question`.

    Without such filters they are what they were.
    """
    text = data.get("q", "").strip()[: wording.LONGEST]
    reading = _read(text, available)
    if not reading.parts:
        return data
    parameters = QueryDict(mutable=True)
    for name, values in reading.beside({name: data.getlist(name) for name in data}).items():
        parameters.setlist(name, values)
    parameters["question"] = text
    parameters.pop("cursor", None)
    return parameters


def of(
    query: Query, question: str, available: Sequence[speeds.Offer], page: str
) -> dict[str, Any] | None:
    """The question that a list answers; None where no filter of the list can come from one.

    ``page`` is the address of the page without parameters.
    """
    text = question.strip()[: wording.LONGEST]
    reading = _read(text, available)
    if not reading.parts or not list_filters.parameters(query):
        return None
    order = None
    if query.sort != query.default_sort:
        unsorted = list_filters.parameters(replace(query, sort=query.default_sort))
        order = {
            "title": "Sort",
            "words": sorts.SORTS[query.sort].title,
            "url": f"{page}?{unsorted}" if unsorted else page,
            "group": "sort",
        }
    literal = Query.of(text='"{}"'.format(text.replace('"', "")))
    text_url = f"{page}?{list_filters.parameters(literal)}"
    return {
        "text": text,
        "order": order,
        "unused": reading.unused,
        "text_url": text_url,
    }


def _read(text: str, available: Sequence[speeds.Offer]) -> wording.Reading:
    return wording.read(text, devices=speeds.names(available)) if text else wording.Reading()
