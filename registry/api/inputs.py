"""What requests bring: bodies and queries, read strictly."""

from __future__ import annotations

from functools import cache
from typing import Any

from rest_framework import serializers

from hub.protocol import problems


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


def parse(shape: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validated input; raises InvalidRequest naming each field."""
    return dict(_reader(shape).run_validation(data))


@cache
def _reader(shape: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """One serializer for all requests: reading leaves nothing in it, and making one is slow."""
    return shape()
