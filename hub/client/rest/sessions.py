"""The REST operations of sessions, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, part


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session on a device."""

    id: int
    # the User-Agent of the browser
    device: str
    # of the last use that is kept
    address: str
    # time of the sign-in
    created_at: datetime
    # exact to ten minutes
    last_seen_at: datetime
    # whether this request is made with it
    is_current: bool


class SessionsGroup(Group):
    """The operations of sessions."""

    def delete(self, session_id: str) -> None:
        """End a session immediately."""
        self._do("DELETE", f"sessions/{part(session_id)}")

    def delete_others(self) -> None:
        """End all sessions but the one in use. Tokens stay."""
        self._do("DELETE", "sessions")

    def list(self) -> tuple[Session, ...]:
        """List your sessions, last used first."""
        return self._items(Session, "GET", "sessions")
