"""Notes which sessions are used, and what users were refused."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from registry.api import throttles
from registry.core.security_log import Kind
from registry.identity import sessions
from registry.models import User

LONGEST_PATH = 200


class SessionUseMiddleware:
    """Notes the use of a session by a request that looked at who has signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        # Django keeps it once it was asked for; to ask now would cost a question to the database.
        user = getattr(request, "_cached_user", None)
        if isinstance(user, User) and user.access_token is None:
            sessions.note_use(request, user)
        return response


class RefusalMiddleware:
    """Logs that a user, by session or token, was refused what they have no right to."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if response.status_code == HTTPStatus.FORBIDDEN and request.user.is_authenticated:
            throttles.report_refusal(
                Kind.ACCESS_REFUSED,
                throttles.client_address(request),
                request.user,
                method=str(request.method),
                path=request.path[:LONGEST_PATH],
            )
        return response
