"""What requests bring: bodies and queries, read strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NoReturn, cast
from uuid import UUID

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import parsers, serializers
from rest_framework.request import Request

from hub.protocol import problems
from registry.api.outputs import Column, Shape, input_field

MOST_VALUES = 5_000
MOST_DEPTH = 64
_NAMED = 20
# A string that never ends goes to the end of the text, so that none is looked at twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def read_json(content: bytes, *, most_values: int = MOST_VALUES) -> Any:
    """A JSON text; raises InvalidRequest, and TooLarge where it has more values or levels.

    Both are counted before anything is made of them.
    """
    bare = _STRING.sub(b"", content)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > most_values:
        raise problems.TooLarge(f"The JSON has more than {most_values:,} values. Send it in parts.")
    depth = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_DEPTH:
            raise problems.TooLarge(f"The JSON is nested deeper than {MOST_DEPTH} levels.")
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except ValueError as error:
        raise problems.InvalidRequest(f"The body is not valid JSON: {error}.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


class JSONParser(parsers.JSONParser):
    """JSON of a bounded size, number of values and depth."""

    most_values = MOST_VALUES

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body's value; raises InvalidRequest, TooLarge."""
        most_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        content = cast("bytes", stream.read(most_bytes + 1))
        if len(content) > most_bytes:
            raise problems.TooLarge(
                f"The body may have at most {most_bytes:,} bytes. Send files as uploads."
            )
        return read_json(content, most_values=self.most_values)


class FilesParser(JSONParser):
    """JSON that lists every file of a version: five thousand of them with a few values each."""

    most_values = 30_000


class Items(serializers.ListField):
    """A list whose length is looked at before its items are."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self._most = max_length

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > self._most:
            raise serializers.ValidationError(f"At most {self._most} items are accepted.")
        return super().to_internal_value(data)


# Options of a column for a text that may be empty or left out.
OPTIONAL_TEXT: dict[str, Any] = {"kind": str, "allow_blank": True, "default": ""}


class Input(Shape[Any]):
    """A request body; unknown fields are refused, so that a typing error is not ignored."""

    # Types, lengths, choices and defaults are those of what `columns.of` has by the names.
    @classmethod
    def derived(cls, column: Column) -> serializers.Field[Any, Any, Any, Any]:
        if column.field is not None or column.kind is not None or cls.columns.of is None:
            return super().derived(column)
        return input_field(cls.columns.of, column.source, **column.options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                named = [name[:100] for name in unknown[:_NAMED]]
                raise problems.InvalidRequest(
                    f"Unknown fields: {', '.join(named)}. Known: {', '.join(self.fields)}.",
                    errors=[{"pointer": f"/{name}", "detail": "unknown field"} for name in named],
                )
        return super().to_internal_value(data)


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.UUID,
    OpenApiParameter.HEADER,
    description="a UUID chosen by the client; repeating a request with the same key has no "
    "further effect",
)


def idempotency_key(request: Request) -> UUID | None:
    """The Idempotency-Key of a request, or None without one; raises InvalidRequest."""
    text = request.headers.get("Idempotency-Key")
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError as error:
        raise problems.InvalidRequest("Send a UUID as the Idempotency-Key.") from error


def parse(shape: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validated input; raises InvalidRequest naming each field."""
    return dict(_reader(shape).run_validation(data))


@cache
def _reader(shape: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """One serializer for all requests: reading leaves nothing in it, and making one is slow.

    Its choice fields list their choices when they refuse a value, which DRF's own message does not.
    """
    reader = shape()
    for field in _choice_fields(reader):
        choices = ", ".join(str(choice) for choice in field.choices if choice != "")
        refusal = field.error_messages["invalid_choice"]
        field.error_messages["invalid_choice"] = f"{refusal} Choose one of {choices}."
    return reader


def _choice_fields(field: Any) -> Iterator[serializers.ChoiceField]:
    if isinstance(field, serializers.ChoiceField):
        yield field
    for part in [*getattr(field, "fields", {}).values(), getattr(field, "child", None)]:
        if part is not None:
            yield from _choice_fields(part)
