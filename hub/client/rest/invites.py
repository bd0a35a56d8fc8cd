"""The REST operations of invites, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, model_path, part


@dataclass(frozen=True, kw_only=True)
class Invite:
    """Invite."""

    id: int
    group: str
    uses: int
    used: int
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class InviteMade(Invite):
    """Invite made."""

    # shown only once
    code: str


class InvitesGroup(Group):
    """The operations of invites."""

    def create(
        self,
        model: str,
        number: int,
        *,
        uses: int | None = None,
        group: str | None = None,
        expires_days: int | None = None,
    ) -> InviteMade:
        """Create an invitation code for devices."""
        return self._call(
            InviteMade,
            "POST",
            f"models/{model_path(model)}/trainings/{part(number)}/invites",
            content=json_of({"uses": uses, "group": group, "expires_days": expires_days}),
        )

    def list(
        self,
        model: str,
        number: int,
        *,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Invite]:
        """List invitations; for maintainers. Their codes are not stored."""
        return self._pages(
            Invite, f"models/{model_path(model)}/trainings/{part(number)}/invites", limit=limit
        )

    def revoke(self, model: str, number: int, key: str) -> None:
        """Revoke an invitation."""
        self._do(
            "DELETE", f"models/{model_path(model)}/trainings/{part(number)}/invites/{part(key)}"
        )
