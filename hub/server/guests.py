"""HUB_GUESTS=none: pages and other plain views answer no one who is not signed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse

from hub.protocol import problems
from hub.server.middleware import show
from registry.api import guests
from registry.api.authentication import TokenAuthentication

_WORDS = (
    "This hub requires sign-in. Create an access token under Account, Tokens, and run `hub login`, "
    "or send it as `Authorization: Bearer`."
)


class GuestMiddleware:
    """Leads guests to sign-in, and refuses what programs ask without a token.

    Views of the API refuse them by `registry.api.guests.SignedIn`. Nothing that is answered may be
    kept by a cache that others share.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        policy = response.get("Cache-Control", "")
        if guests.are_refused() and "public" in policy:
            response["Cache-Control"] = policy.replace("public", "private")
        return response

    def process_view(
        self, request: HttpRequest, view: Any, _arguments: Any, _named: Any
    ) -> HttpResponse | None:
        """Refuse a guest, or an expired token, before the view runs."""
        if not guests.are_refused() or getattr(view, "serves_guests", False):
            return None
        try:
            if getattr(view, "cls", None) is not None or _is_signed_in(request):
                return None
        except problems.NotAuthenticated as problem:
            return show(request, problem)
        if request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", ""):
            return redirect_to_login(request.get_full_path())
        return show(request, problems.NotAuthenticated(_WORDS))


def _is_signed_in(request: HttpRequest) -> bool:
    """Whether a session or a token signs in; raises NotAuthenticated for an expired token."""
    if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
        return True
    plain: Any = request
    return TokenAuthentication().authenticate(plain) is not None
