"""Sets of operations: which names they may have, and bodies that follow from services."""

from __future__ import annotations

import pytest
from django.urls import get_resolver

from registry.api.inputs import Input
from registry.api.operations import View
from registry.api.outputs import Column, Columns
from registry.models import Dataset


def views(patterns):
    for pattern in patterns:
        yield from views(pattern.url_patterns) if hasattr(pattern, "url_patterns") else [pattern]


def test_no_operation_is_named_like_a_method_of_http():
    """It would answer at every address of its set."""
    sets = {getattr(view.callback, "cls", None) for view in views(get_resolver().url_patterns)}
    sets = {kind for kind in sets if isinstance(kind, type) and issubclass(kind, View)}
    assert len(sets) > 20
    for kind in sets:
        methods = ("get", "post", "put", "patch", "delete", "head", "trace")
        assert not [name for name in methods if hasattr(kind, name)], kind


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["delete", "put", "patch"])
def test_a_set_answers_only_the_methods_of_each_address(api, method):
    assert getattr(api(), method)("/api/v1/models").status_code == 405


class EntryInput(Input):
    """An entry."""

    columns = Columns("title", "rows", Column("source", required=False), "license", of=Dataset)


def request(*, name: str, size: int | None = None, note: str = "", kinds: list[str]) -> None:
    """A service."""


class RequestInput(Input):
    """A request."""

    columns = Columns("name", "size", "note", "kinds", of=request)


def test_a_body_has_the_lengths_nulls_and_defaults_of_columns():
    fields = EntryInput().fields
    assert fields["title"].max_length == 200
    assert fields["title"].required
    assert not fields["title"].allow_blank
    assert fields["rows"].allow_null
    assert not fields["source"].required
    assert fields["source"].allow_blank
    assert fields["license"].default == ""


def test_a_body_has_the_types_and_defaults_of_a_service():
    fields = RequestInput().fields
    assert fields["name"].required
    assert (fields["size"].default, fields["size"].allow_null) == (None, True)
    assert (fields["note"].default, fields["note"].allow_blank) == ("", True)
    assert fields["kinds"].child.required
