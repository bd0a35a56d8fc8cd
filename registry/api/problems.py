"""Every error of the API as RFC 9457 problem details, the request's id with it."""

from __future__ import annotations

from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions

from hub.protocol import problems
from registry.versions import moves

log = structlog.get_logger(__name__)


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's exception handler; a name that a model had leads to the one it has."""
    if isinstance(error, moves.Moved):
        answer = moves.redirect(context["request"]._request, error, page=False)  # noqa: SLF001
        if answer is not None:
            return answer
    return respond(translate(error), context["request"]._request)  # noqa: SLF001 - DRF's own


def respond(problem: problems.Problem, request: HttpRequest) -> HttpResponse:
    """Write a problem as an answer."""
    problem.instance = problem.instance or getattr(request, "request_id", None)
    response = JsonResponse(
        problem.to_json(settings.HUB_PUBLIC_URL),
        status=problem.status,
        content_type=problems.MEDIA_TYPE,
    )
    if problem.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="hub"'
    if "retry_after" in problem.extensions:
        response["Retry-After"] = str(problem.extensions["retry_after"])
    if isinstance(problem, problems.RangeNotSatisfiable) and "size" in problem.extensions:
        response["Content-Range"] = f"bytes */{problem.extensions['size']}"
    response["Cache-Control"] = "no-store"
    return response


def translate(error: Exception) -> problems.Problem:
    """The problem that an exception of the framework means; what is unknown is our fault."""
    if isinstance(error, problems.Problem):
        return error
    if isinstance(error, exceptions.ValidationError):
        fields = list(_fields(error.detail, ""))
        return problems.InvalidRequest(
            " ".join(f"{item['pointer'] or 'body'}: {item['detail']}" for item in fields[:5]),
            errors=fields,
        )
    if isinstance(error, exceptions.Throttled):
        wait = int(getattr(error, "wait", None) or 1) + 1
        return problems.Throttled(f"Too many requests. Try again in {wait} s.", retry_after=wait)
    simple: dict[type[Exception], type[problems.Problem]] = {
        exceptions.ParseError: problems.InvalidRequest,
        exceptions.NotAuthenticated: problems.NotAuthenticated,
        exceptions.AuthenticationFailed: problems.NotAuthenticated,
        exceptions.PermissionDenied: problems.NotAllowed,
        exceptions.NotFound: problems.NotFound,
        exceptions.MethodNotAllowed: problems.MethodNotAllowed,
        exceptions.UnsupportedMediaType: problems.UnsupportedMediaType,
        exceptions.NotAcceptable: problems.InvalidRequest,
        PermissionDenied: problems.NotAllowed,
        Http404: problems.NotFound,
    }
    for kind, problem in simple.items():
        if isinstance(error, kind):
            return problem(str(error))
    return _fault(error)


def _fault(error: Exception) -> problems.Problem:
    """The problem of what is no framework's answer: a limit, a lost database, or our mistake."""
    if isinstance(error, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return problems.TooLarge(
            f"The body may have at most {most:,} bytes. Send files as uploads."
        )
    if isinstance(error, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return problems.TooLarge(f"A form may have at most {most:,} fields. Send it in parts.")
    # A connection that was lost within a transaction shows as an InterfaceError at its end.
    if isinstance(error, OperationalError | InterfaceError):
        log.error("database_unavailable", exc_info=error)
        return problems.Unavailable(
            "The database is not available. Try again later.", retry_after=2
        )
    log.error("internal_error", exc_info=error)
    return problems.InternalError(
        "Internal error; nothing was changed. Report the request id to the operator."
    )


def _fields(detail: Any, pointer: str) -> Any:
    if isinstance(detail, dict):
        for key, value in detail.items():
            yield from _fields(value, pointer if key == "non_field_errors" else f"{pointer}/{key}")
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for index, item in enumerate(detail):
            yield from _fields(item, f"{pointer}/{index}")
    elif isinstance(detail, list):
        for item in detail:
            yield {"pointer": pointer, "detail": str(item)}
    else:
        yield {"pointer": pointer, "detail": str(detail)}
