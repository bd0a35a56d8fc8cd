"""What the OpenAPI document says about signing in and about errors."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from hub.protocol import problems


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A bearer token; the base class registers whatever is derived from it."""

    target_class = "registry.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "hf_…"}


def mend_values(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Correct what drf-spectacular says of values that are empty, and of JSON that may be null.

    A default that its own schema refuses is left out: serializers read an omitted text as an empty
    one, which a client may not send. Any JSON or null is any JSON: null would be both of the two.
    """
    schemas: list[Any] = [result]
    while schemas:
        schema = schemas.pop()
        if isinstance(schema, list):
            schemas += schema
        elif isinstance(schema, dict):
            schemas += schema.values()
            if schema.get("default") == "" and _refuses_blank(schema):
                del schema["default"]
            if schema.get("oneOf") == [{}, {"type": "null"}]:
                del schema["oneOf"]
    return result


def _refuses_blank(schema: dict[str, Any]) -> bool:
    names = schema.get("enum")
    return (
        "format" in schema
        or bool(schema.get("minLength"))
        or (names is not None and "" not in names)
    )


def add_problem_answers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the common error responses (RFC 9457) to every operation."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string", "description": "request id"},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
                },
            },
        },
    }
    answer = {
        "description": "Description of the problem and how to fix it",
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"].setdefault("default", answer)
    return result
