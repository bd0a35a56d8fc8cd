"""How the API says what a question in words was read as."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as fields


class UnderstoodPartOutput(fields.Serializer[Any]):
    """Words of a question and the parameter of the list that they mean."""

    words = fields.CharField()
    parameter = fields.CharField(help_text="parameter of `GET /models`")
    value = fields.CharField()


class UnusedWordsOutput(fields.Serializer[Any]):
    """Words that name a filter that cannot be applied."""

    words = fields.CharField()
    reason = fields.CharField()


class UnderstoodOutput(fields.Serializer[Any]):
    """A question as filters, and the text that is still searched for."""

    parts = UnderstoodPartOutput(many=True)
    unused = UnusedWordsOutput(many=True)
    text = fields.CharField(source="rest", help_text="what is searched for as text")
