"""The REST operations of sessions, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from hub.client.rest.calls import Group, part
from hub.client.rest.shared import Session


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
