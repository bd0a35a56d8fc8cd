"""Notes which sessions are used."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from registry.identity import sessions
from registry.models import User


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
