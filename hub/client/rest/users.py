"""The REST operations of users, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part
from hub.client.rest.shared import Membership, Session


@dataclass(frozen=True, kw_only=True)
class Dependent:
    """What acts for an account: a token, a mirror or a training."""

    kind: str
    name: str
    namespace: str | None = None
    is_transferable: bool


@dataclass(frozen=True, kw_only=True)
class NewPassword:
    """A new password; only this response contains it."""

    username: str
    password: str


@dataclass(frozen=True, kw_only=True)
class User:
    """An account, as shown to administrators."""

    username: str
    email: str
    is_active: bool
    is_admin: bool
    created_at: datetime
    signed_in_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Whoami:
    """The user of the request."""

    username: str
    namespaces: tuple[Membership, ...]
    scopes: tuple[str, ...]


class UsersGroup(Group):
    """The operations of users."""

    def create(self, *, username: str, email: str | None = None) -> NewPassword:
        """Create an account and its namespace. Only this response contains the first password."""
        return self._call(
            NewPassword, "POST", "users", content=json_of({"username": username, "email": email})
        )

    def dependents(self, username: str) -> tuple[Dependent, ...]:
        """List what acts for an account; for administrators."""
        return self._items(Dependent, "GET", f"users/{part(username)}/dependents")

    def edit(
        self,
        username: str,
        *,
        is_active: bool | None = None,
        heir: Annotated[str | None, "user who takes over what acts for a closed account"] = None,
        ends_dependents: Annotated[
            bool | None, "close the account although something acts for it"
        ] = None,
    ) -> User:
        """Close or reopen an account. Published models remain.

        An account for which something acts is closed with an heir, or if that may end; else 409.
        """
        return self._call(
            User,
            "PATCH",
            f"users/{part(username)}",
            content=json_of(
                {"is_active": is_active, "heir": heir, "ends_dependents": ends_dependents}
            ),
        )

    def end_session(self, username: str, session_id: str) -> None:
        """End a session of an account immediately; for administrators."""
        self._do("DELETE", f"users/{part(username)}/sessions/{part(session_id)}")

    def end_sessions(self, username: str) -> None:
        """End all sessions of an account; for administrators. Tokens stay."""
        self._do("DELETE", f"users/{part(username)}/sessions")

    def erase(self, username: str) -> None:
        """Replace name and address by a pseudonym and close the account; for administrators.

        Published versions, comments and events stay under the pseudonym. This cannot be undone.
        """
        self._do("POST", f"users/{part(username)}/erase")

    def list(
        self, *, limit: Annotated[int | None, "maximum number of results (default: all)"] = None
    ) -> Iterator[User]:
        """List accounts, newest first; for administrators."""
        return self._pages(User, "users", limit=limit)

    def password(self, username: str) -> NewPassword:
        """Reset a password. Only this response contains the new one.

        All sessions of the account end and its tokens are revoked.
        """
        return self._call(NewPassword, "POST", f"users/{part(username)}/password")

    def sessions(self, username: str) -> tuple[Session, ...]:
        """List the sessions of an account, last used first; for administrators."""
        return self._items(Session, "GET", f"users/{part(username)}/sessions")

    def whoami(self) -> Whoami:
        """Read your name, namespaces and scopes. Returns 401 without a login."""
        return self._call(Whoami, "GET", "whoami")
