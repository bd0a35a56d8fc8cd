"""The adapter from rows and dataclasses to the answers of the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest
from rest_framework import serializers

from registry.api.outputs import Column, Columns, Output, answers_of, field_of
from registry.models import Collection, RefusedCard, Version


@dataclass
class Result:
    name: str
    score: float | None = None
    level: Literal["low", "high"] = "low"
    reasons: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


class ResultOutput(Output[Result]):
    """A result."""

    columns = Columns("level", Column("title", "name", help_text="in words"), "length", "note")

    note = serializers.SerializerMethodField()
    extra = serializers.ReadOnlyField(source="counts")

    def get_length(self, result: Result) -> int:
        return len(result.name)

    def get_note(self, _: Result) -> str:
        return "none"


class LongResultOutput(ResultOutput):
    """A result with its reasons."""

    columns = Columns("reasons")


def test_fields_stand_in_the_order_of_the_columns():
    fields = ResultOutput().fields
    assert list(fields) == ["level", "title", "length", "note", "extra"]
    assert fields["title"].help_text == "in words"
    assert list(LongResultOutput().fields) == [*fields, "reasons"]


def test_answers_show_the_attributes():
    row = Result("net", reasons=["slow"])
    assert answers_of(LongResultOutput, [row]) == [
        {
            "level": "low",
            "title": "net",
            "length": 3,
            "note": "none",
            "extra": {},
            "reasons": ["slow"],
        }
    ]


@pytest.mark.parametrize(
    ("owner", "path", "kind", "options"),
    [
        (Result, "name", serializers.CharField, {"allow_null": False}),
        (Result, "score", serializers.FloatField, {"allow_null": True}),
        (Result, "level", serializers.ChoiceField, {"choices": {"low": "low", "high": "high"}}),
        (Result, "reasons", serializers.ListField, {}),
        (Result, "counts", serializers.DictField, {}),
        (Version, "number", serializers.IntegerField, {"allow_null": False}),
        (Version, "published_at", serializers.DateTimeField, {"allow_null": True}),
        (Version, "parent_id", serializers.IntegerField, {"allow_null": True}),
        (Version, "model.ref", serializers.CharField, {"allow_null": False, "required": True}),
        (Collection, "visibility", serializers.ChoiceField, {"allow_null": False}),
        (RefusedCard, "version.number", serializers.IntegerField,
         {"allow_null": True, "default": None, "required": False}),
    ],
)  # fmt: skip
def test_a_field_follows_its_attribute(owner, path, kind, options):
    derived = field_of(owner, path)
    assert type(derived) is kind
    assert {name: getattr(derived, name) for name in options} == options


def test_an_unknown_attribute_is_named():
    with pytest.raises(AttributeError, match="Version has no column, property or field 'nmber'"):
        field_of(Version, "nmber")
