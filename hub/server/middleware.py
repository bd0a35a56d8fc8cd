"""What every request gets: an id, and a problem page or document when something goes wrong."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
)
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.urls import reverse

from hub.protocol import problems
from hub.protocol.version import __version__
from hub.server import requests
from hub.server.reads import READS
from registry.api import parameters, throttles
from registry.api.problems import respond, translate
from registry.core import maintenance_mode, required_actions, security_log
from registry.models import User
from registry.versions import moves

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Methods that never only read.
_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
# Pages of the core that are there whatever an account must do first.
_ALWAYS = frozenset({"login", "logout", "healthz", "readyz", "theme"})
PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def request_id_of(header: str) -> str:
    """The id that a caller asks for, where it can be one, else a new one."""
    return header if _ID.fullmatch(header) else uuid.uuid4().hex


class RequestIdMiddleware:
    """Names each request, in its answer and in every log line and event, and counts it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        request_id = request_id_of(request.headers.get("X-Request-Id", ""))
        request.request_id = request_id  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        with security_log.request_from(lambda: throttles.client_address(request)):
            response = self._get_response(request)
        response["X-Request-Id"] = request_id
        if request.method == "HEAD" and not response.streaming:
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        match = request.resolver_match
        requests.ended(
            request.method or "",
            match.route if match else "",
            response.status_code,
            time.perf_counter() - start,
            request_id=request_id,
            user=requests.user_of(request),
            address=lambda: throttles.client_address(request),
        )
        return response

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _arguments: Any, _named: Any
    ) -> None:
        """Name the route in the log lines of a request, now that it is known."""
        if request.resolver_match:
            structlog.contextvars.bind_contextvars(route=request.resolver_match.route)


class FormerAddressMiddleware:
    """Redirects reads at a former address of the hub; those with a token are answered there.

    Clients do not send their tokens on to another host.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The host is compared only: what the hub may be called is checked where it is used.
        origin = f"{request.scheme}://{request.headers.get('Host', '').lower()}"
        urls = (url.lower() for url in settings.HUB_FORMER_URLS)
        is_former = any(f"{url}/".startswith(f"{origin}/") for url in urls)
        if not is_former or request.method not in READS or "Authorization" in request.headers:
            return self._get_response(request)
        query = request.META.get("QUERY_STRING", "")
        path = quote(request.path_info) + (f"?{query}" if query else "")
        response = HttpResponsePermanentRedirect(f"{settings.HUB_PUBLIC_URL}{path}")
        response.status_code = HTTPStatus.PERMANENT_REDIRECT
        response["Vary"] = "Authorization"
        return response


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages and JSON; files go as they are: ranges and digests name those bytes."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        return response if response.streaming else super().process_response(request, response)


class ProblemMiddleware:
    """Turns what a view raises into a document for programs and a page for people."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            parameters.expect_storable(request)
        except problems.Problem as problem:
            return show(request, problem)
        return self._get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., Any],
        _arguments: Any,
        _named: Any,
    ) -> HttpResponse | None:
        """Refuse parameters that the view does not know, and changes during maintenance.

        A POST may only read: what of it writes is refused by ``hub.server.reads``.
        """
        if request.method in _CHANGES and (mode := maintenance_mode.current()).is_read_only:
            return show(request, mode.refusal())
        try:
            parameters.expect(request, view)
        except problems.InvalidRequest as problem:
            return show(request, problem)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Django calls this for exceptions of views."""
        if settings.DEBUG and not isinstance(error, problems.Problem | Http404 | PermissionDenied):
            return None
        if isinstance(error, moves.Moved) and (
            answer := moves.redirect(request, error, page=not request.path.startswith("/api/"))
        ):
            return answer
        return show(request, translate(error))


class RequiredActionMiddleware:
    """Leads sessions to what their account must do first, such as change its password."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, _named: Any
    ) -> HttpResponse | None:
        """Redirect pages to the page of the action; refuse what programs ask with a session."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or hasattr(view, "ignores_cookies"):
            return None
        user = request.user
        if not isinstance(user, User):
            return None
        action = required_actions.next_of(user)
        page = request.resolver_match.url_name if request.resolver_match else None
        if action is None or page in {action.page, *action.pages, *_ALWAYS}:
            return None
        if request.path_info.startswith("/api/") and page != "api-docs":
            return show(request, problems.NotAllowed(action.words))
        return HttpResponseRedirect(reverse(action.page))


def show(request: HttpRequest, problem: problems.Problem) -> HttpResponse:
    """A problem: JSON below /api and for clients that request it, a page for browsers."""
    wants_page = "text/html" in request.headers.get("Accept", "")
    if request.path.startswith("/api/") or not wants_page:
        return respond(problem, request)
    problem.instance = getattr(request, "request_id", None)
    context = {"problem": problem, "request_id": problem.instance}
    response = render(request, "error.html", context, status=problem.status)
    if "retry_after" in problem.extensions:
        response["Retry-After"] = str(problem.extensions["retry_after"])
    return response


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answers an address that is not the hub's, such as that of a capability that is left out."""
    words = f"There is nothing at {request.path}: this hub does not offer it."
    return show(request, problems.NotFound(words))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answers what Django itself forbids."""
    return show(request, problems.NotAllowed(str(exception or "") or problems.NotAllowed.title))


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answers a form that was not sent from our own page."""
    return show(
        request,
        problems.NotAllowed(
            f"This form was not sent from a page of this hub, or cookies are off. Go back, reload "
            f"the page and send it again. ({reason})"
        ),
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answers what Django could not read as a request."""
    return show(request, problems.InvalidRequest("The request could not be read."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answers what broke outside a view."""
    return show(request, problems.InternalError("Internal error; nothing was changed."))


def hub_context(request: HttpRequest) -> dict[str, Any]:
    """What every template may use."""
    return {
        "hub_version": __version__,
        "public_url": settings.HUB_PUBLIC_URL,
        "theme": request.COOKIES.get("theme", ""),
        "maintenance_mode": maintenance_mode.current,
    }
