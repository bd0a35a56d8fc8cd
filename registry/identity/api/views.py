"""The security log, for administrators; sessions, for their user."""

from __future__ import annotations

from functools import partial
from typing import Any

from registry.api.events import CONDITIONS
from registry.api.operations import View, command, listing, operation, resource, rows
from registry.api.outputs import Column, Columns, Output, Shape
from registry.core.permissions import require_admin, require_user
from registry.identity import account_data, selectors, sessions
from registry.identity.models import AccountSession, SecurityEvent
from registry.people import selectors as people_selectors


class SecurityEventsQuery(Shape[Any]):
    """Conditions that an entry meets."""

    columns = Columns(
        Column("kind", max_length=40, help_text="only this kind, such as sign_in_failed"),
        Column("address", max_length=64, help_text="only what came from this address"),
        *CONDITIONS,
        required=False,
    )


class SecurityEventOutput(Output[SecurityEvent]):
    """Who did what, when, from where, and in which request."""

    columns = Columns(
        Column("id", help_text="higher for entries that were written later"),
        "at",
        Column("kind", help_text="such as sign_in, download, or the verb of an event"),
        Column("actor", "actor.username", help_text="null for a guest, or a name of no account"),
        Column("address", help_text="as HUB_PROXIES lets it be believed"),
        Column("token", help_text="beginning and name of the token; empty for a session"),
        Column("subject_kind", help_text="such as version; empty for a sign-in"),
        Column("subject_id", help_text="key of the subject among its kind"),
        Column("model", "model.ref"),
        Column("request_id", help_text="the X-Request-Id, which events and logs name too"),
        Column("data", help_text="details, which depend on the kind"),
    )


class SecurityEvents(View):
    """The security log of the hub."""

    index = rows(
        "security_events_list",
        selectors.entries,
        "List sign-ins, changes and protected downloads, newest first; for administrators.",
        SecurityEventOutput,
        SecurityEventsQuery,
        by="pk",
    )


class SessionOutput(Output[AccountSession]):
    """A session on a device."""

    columns = Columns(
        "id",
        Column("device", help_text="the User-Agent of the browser"),
        Column("address", help_text="of the last use that is kept"),
        Column("created_at", help_text="time of the sign-in"),
        Column("last_seen_at", help_text="exact to ten minutes"),
        Column("is_current", kind=bool, help_text="whether this request is made with it"),
    )


class Sessions(View):
    """The caller's sessions."""

    user = resource(partial(require_user, scope="admin"))

    @listing("sessions_list", SessionOutput)
    def index(self) -> list[AccountSession]:
        """List your sessions, last used first."""
        return _mark_current(self, sessions.of_account(self.request.user, self.user))

    end = command(
        "sessions_delete",
        sessions.end,
        "End a session immediately.",
        targets=("user", "session_id"),
    )

    @operation("sessions_delete_others")
    def end_others(self) -> None:
        """End all sessions but the one in use. Tokens stay."""
        sessions.end_all(self.request.user, user=self.user, but=_key(self))


class AccountSessions(View):
    """The sessions of an account, for administrators."""

    administrator = resource(require_admin)
    user = resource(people_selectors.user, "username", needs_actor=False)

    @listing("users_sessions", SessionOutput, targets=("administrator",))
    def index(self) -> list[AccountSession]:
        """List the sessions of an account, last used first; for administrators."""
        return _mark_current(self, sessions.of_account(self.request.user, self.user))

    @operation("users_end_session", targets=("administrator",))
    def end(self) -> None:
        """End a session of an account immediately; for administrators."""
        number = self.kwargs["session_id"]
        sessions.end(self.request.user, user=self.user, session_id=number)

    @operation("users_end_sessions", targets=("administrator",))
    def end_all(self) -> None:
        """End all sessions of an account; for administrators. Tokens stay."""
        sessions.end_all(self.request.user, user=self.user)


class Erasure(View):
    """The erasure of an account."""

    administrator = resource(require_admin)
    user = resource(people_selectors.user, "username", needs_actor=False)

    @operation("users_erase", targets=("administrator",))
    def erase(self) -> None:
        """Replace name and address by a pseudonym and close the account; for administrators.

        Published versions, comments and events stay under the pseudonym. This cannot be undone.
        """
        account_data.erase(self.request.user, user=self.user)


def _key(view: View) -> str | None:
    """The key of the session that the caller is signed in with; None for a token."""
    return None if view.request.auth else view.request.session.session_key


def _mark_current(view: View, rows: list[AccountSession]) -> list[AccountSession]:
    for row in rows:
        row.is_current = row.session_key == _key(view)
    return rows
