"""Errors as SCIM has them (RFC 7644, 3.12), without the library."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse

from hub.protocol import problems
from registry.api.problems import translate

MEDIA_TYPE = "application/scim+json"
_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"


def handle(error: Exception, _: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler for every address of the protocol."""
    problem = translate(error)
    content = {
        "schemas": [_SCHEMA],
        "status": str(problem.status),
        "detail": problem.detail or problem.title,
    }
    if isinstance(problem, problems.NameTaken):
        content["scimType"] = "uniqueness"
    response = JsonResponse(content, status=problem.status, content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="scim"'
    if "retry_after" in problem.extensions:
        response["Retry-After"] = str(problem.extensions["retry_after"])
    return response
