"""The page of one's own sessions, and of what happened to the account."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from frontend.parts.addresses import whole
from hub.counting import plural
from registry.api import user_agents
from registry.identity import selectors, sessions

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
    key = request.session.session_key
    rows = [
        {
            "session": row,
            "name": user_agents.describe(row.device),
            "is_current": row.session_key == key,
        }
        for row in sessions.of_account(request.user)
    ]
    entries = selectors.own_entries(request.user, kinds=tuple(_TITLES))[:_MOST]
    context = {
        "sessions": rows,
        "idle_days": settings.HUB_SESSION_IDLE_DAYS,
        "entries": [{"entry": entry, "title": _TITLES[entry.kind]} for entry in entries],
    }
    return render(request, "identity/sessions.html", context)


@login_required
@require_POST
def end(request: HttpRequest, session_id: str) -> HttpResponse:
    """End a session of the reader."""
    sessions.end(request.user, session_id=whole(session_id, 18) or 0)
    messages.success(request, "The session has ended.")
    return HttpResponseRedirect(reverse("sessions"))


@login_required
@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    """End all sessions of the reader but the one in use."""
    ended = sessions.end_others(request.user, but=request.session.session_key)
    messages.success(request, f"{plural(ended, 'other session')} ended.")
    return HttpResponseRedirect(reverse("sessions"))
