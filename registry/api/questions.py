"""How the API says what a question in words was read as."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as fields

from registry.api.outputs import Column, Columns, Output
from registry.catalogue import wording


class UnderstoodPartOutput(Output[wording.Part]):
    """Words of a question and the parameter of the list that they mean."""

    columns = Columns("words", Column("parameter", help_text="parameter of `GET /models`"), "value")


class UnusedWordsOutput(Output[wording.Unused]):
    """Words that name a filter that cannot be applied."""

    columns = Columns("words", "reason")


class UnderstoodOutput(fields.Serializer[Any]):
    """A question as filters, and the text that is still searched for."""

    parts = UnderstoodPartOutput(many=True)
    unused = UnusedWordsOutput(many=True)
    text = fields.CharField(source="rest", help_text="what is searched for as text")
