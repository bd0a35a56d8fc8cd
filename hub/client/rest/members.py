"""The REST operations of members, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of a namespace."""

    username: str
    role: str


class MembersGroup(Group):
    """The operations of members."""

    def list(self, slug: str) -> tuple[Member, ...]:
        """List members by name; for members."""
        return self._items(Member, "GET", f"namespaces/{part(slug)}/members")

    def remove(self, slug: str, username: str) -> None:
        """Remove a member; for owners. The last owner cannot be removed."""
        self._do("DELETE", f"namespaces/{part(slug)}/members/{part(username)}")

    def set(
        self, slug: str, username: str, *, role: Literal["reader", "writer", "maintainer", "owner"]
    ) -> Member:
        """Set the role of a member; for owners."""
        return self._call(
            Member,
            "PUT",
            f"namespaces/{part(slug)}/members/{part(username)}",
            content=json_of({"role": role}),
        )
