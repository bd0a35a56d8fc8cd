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
