"""Errors as the distribution protocol has them (distribution-spec, error codes).

A hidden model and a missing one are one answer: 401 to guests, so that clients ask for a token, and
404 to users.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.http import HttpResponse, JsonResponse
from rest_framework.request import Request

from hub.protocol import problems
from registry.api.problems import translate

TOKEN_PATH = "/v2/token"  # noqa: S105 - an address


class Code(StrEnum):
    """Codes of the specification, each with its status."""

    UNAUTHORIZED = "UNAUTHORIZED"
    DENIED = "DENIED"
    NAME_UNKNOWN = "NAME_UNKNOWN"
    MANIFEST_UNKNOWN = "MANIFEST_UNKNOWN"
    BLOB_UNKNOWN = "BLOB_UNKNOWN"
    UNSUPPORTED = "UNSUPPORTED"
    TOOMANYREQUESTS = "TOOMANYREQUESTS"
    UNKNOWN = "UNKNOWN"


_STATUS = {
    Code.UNAUTHORIZED: 401,
    Code.DENIED: 403,
    Code.NAME_UNKNOWN: 404,
    Code.MANIFEST_UNKNOWN: 404,
    Code.BLOB_UNKNOWN: 404,
    Code.UNSUPPORTED: 405,
    Code.TOOMANYREQUESTS: 429,
}
_CODES = {status: code for code, status in reversed(_STATUS.items()) if status != 404}


class Refused(Exception):  # noqa: N818 - read as `raise errors.Refused`
    """An answer of the protocol's own."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler for every view of the protocol."""
    request, kwargs = context["request"], context["kwargs"]
    name = f"{kwargs.get('namespace', '')}/{kwargs.get('name', '')}"
    if isinstance(error, Refused):
        return answer(request, error.code, error.message, _STATUS[error.code], name)
    problem = translate(error)
    code, message = _CODES.get(problem.status, Code.UNKNOWN), problem.detail or problem.title
    status = problem.status
    if isinstance(problem, problems.NotFound):
        code, message = Code.NAME_UNKNOWN, _absent(name)
        if not request.user.is_authenticated:
            code, status = Code.UNAUTHORIZED, 401
    response = answer(request, code, message, status, name)
    if "retry_after" in problem.extensions:
        response["Retry-After"] = str(problem.extensions["retry_after"])
    if "size" in problem.extensions:
        response["Content-Range"] = f"bytes */{problem.extensions['size']}"
    return response


def answer(request: Request, code: Code, message: str, status: int, name: str) -> HttpResponse:
    """Write an error; a 401 says where a token is to be had, and for which model."""
    content = {"errors": [{"code": str(code), "message": message, "detail": None}]}
    response = JsonResponse(content, status=status)
    response["Cache-Control"] = "no-store"
    if status == 401:
        response["WWW-Authenticate"] = challenge(request, name)
    return response


def challenge(request: Request, name: str = "") -> str:
    """Where clients get a token, with the password of any user or with none."""
    realm = request.build_absolute_uri(TOKEN_PATH)
    scope = f',scope="repository:{name}:pull"' if name.strip("/") else ""
    return f'Bearer realm="{realm}",service="hub"{scope}'


def _absent(name: str) -> str:
    return (
        f"There is no model {name}. Check the name; a private model needs a token of this hub as "
        "the password."
    )
