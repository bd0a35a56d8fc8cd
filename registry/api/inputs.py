"""What requests bring: bodies and queries, read strictly."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from hub.protocol import problems

if TYPE_CHECKING:
    from rest_framework.request import Request


class Input(serializers.Serializer[Any]):
    """A request body; unknown fields are refused, so that a typing error is not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                raise problems.InvalidRequest(
                    f"Unknown fields: {', '.join(unknown)}. Known: {', '.join(self.fields)}.",
                    errors=[{"pointer": f"/{name}", "detail": "unknown field"} for name in unknown],
                )
        return super().to_internal_value(data)


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.UUID,
    OpenApiParameter.HEADER,
    description="a UUID of the client; a repeat with the same key has no second effect",
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
    """One serializer for all requests: reading leaves nothing in it, and making one is slow."""
    return shape()
