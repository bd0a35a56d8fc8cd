"""Sessions: the page of one's own, and those of an account for administrators."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template import Context
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from frontend.parts.addresses import whole
from hub.counting import plural
from registry.api import user_agents
from registry.core.permissions import require_admin, require_user
from registry.identity import selectors, sessions
from registry.models import User
from registry.people import selectors as people_selectors

_TITLES = {
    "sign_in": "Sign-in",
    "sign_in_failed": "Wrong password or code",
    "password_refused": "Wrong password in a session",
    "session_ended": "Sessions ended",
    "token.created": "Token created",
    "token.revoked": "Token revoked",
    "token_first_used": "First use of a token",
    "user.password": "Password changed",
}
_MOST = 20


@never_cache
@login_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The sessions of the reader, and the newest entries of the security log about them."""
    entries = selectors.own_entries(request.user, kinds=tuple(_TITLES))[:_MOST]
    context = {
        "sessions": _rows(request, require_user(request.user)),
        "idle_days": settings.HUB_SESSION_IDLE_DAYS,
        "entries": [{"entry": entry, "title": _TITLES[entry.kind]} for entry in entries],
    }
    return render(request, "identity/sessions.html", context)


def of_user(context: Context) -> dict[str, Any]:
    """The sessions on the page of an account for administrators."""
    return {"sessions": _rows(context["request"], context["account"])}


@login_required
@require_POST
def end(request: HttpRequest, session_id: str, username: str = "") -> HttpResponse:
    """End a session of the reader, or that of a user for administrators."""
    user, page = _whose(request, username)
    sessions.end(request.user, user=user, session_id=whole(session_id, 18) or 0)
    messages.success(request, "The session has ended.")
    return HttpResponseRedirect(page)


@login_required
@require_POST
def end_others(request: HttpRequest, username: str = "") -> HttpResponse:
    """End all sessions of the reader or of a user, but the one in use."""
    user, page = _whose(request, username)
    ended = sessions.end_all(request.user, user=user, but=request.session.session_key)
    messages.success(request, f"{plural(ended, 'session')} ended.")
    return HttpResponseRedirect(page)


def _whose(request: HttpRequest, username: str) -> tuple[User, str]:
    """Whose sessions an address is about, and their page."""
    if not username:
        return require_user(request.user), reverse("sessions")
    require_admin(request.user)
    user = people_selectors.user(username)
    return user, reverse("user", args=[user.username])


def _rows(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    parts = () if user == request.user else (user.username,)
    return [
        {
            "session": row,
            "name": user_agents.describe(row.device),
            "is_current": row.session_key == request.session.session_key,
            "address": reverse(
                "user-session-end" if parts else "session-end", args=[*parts, row.pk]
            ),
        }
        for row in sessions.of_account(request.user, user)
    ]
