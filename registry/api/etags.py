"""Entity tags: conditional reads, and writes that must name what they saw (RFC 9110 section 13)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from rest_framework.request import Request
from rest_framework.response import Response

from hub.protocol import problems

# What others change by reading; a tag that followed it would refuse an edit for no reason.
UNTAGGED = ("downloads",)


def of(data: Any) -> str:
    """The tag of a representation, without what merely counts its readers."""
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in UNTAGGED}
    text = json.dumps(data, cls=DjangoJSONEncoder, sort_keys=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def respond(request: Request, data: Any, *, status: int = 200, tag: str | None = None) -> Response:
    """An answer with its tag, made of the data where none is given; 304 to whoever has it."""
    tag = tag or of(data)
    unchanged = is_current(request, tag)
    response = Response(status=304) if unchanged else Response(data, status=status)
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return response


def is_current(request: Request, tag: str) -> bool:
    """Whether the caller reads and has the representation with that tag already."""
    condition = request.headers.get("If-None-Match", "")
    return request.method in ("GET", "HEAD") and tag in condition


def require(request: Request, tag: str) -> None:
    """Raise unless `If-Match` names ``tag``: PreconditionRequired, PreconditionFailed."""
    condition = request.headers.get("If-Match", "")
    if not condition:
        raise problems.PreconditionRequired(
            "Send If-Match with the ETag you read, so that no other change is overwritten."
        )
    if condition.strip() != "*" and tag not in condition:
        raise problems.PreconditionFailed(
            "This changed since you last read it. Read it again, then repeat your change."
        )
