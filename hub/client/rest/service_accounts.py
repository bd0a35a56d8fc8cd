"""The REST operations of service accounts, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class ServiceAccount:
    """A service account of an organisation."""

    username: str
    namespace: str | None = None
    role: str | None
    created_at: datetime


class ServiceAccountsGroup(Group):
    """The operations of service accounts."""

    def close(self, slug: str, username: str) -> None:
        """Close a service account permanently and revoke its tokens; for owners."""
        self._do("DELETE", f"namespaces/{part(slug)}/service-accounts/{part(username)}")

    def create(self, slug: str, *, name: str, role: str | None = None) -> ServiceAccount:
        """Create a service account; for owners. It has no password: create tokens for it."""
        return self._call(
            ServiceAccount,
            "POST",
            f"namespaces/{part(slug)}/service-accounts",
            content=json_of({"name": name, "role": role}),
        )

    def edit(self, slug: str, username: str, *, role: str | None = None) -> ServiceAccount:
        """Change the role of a service account; for owners."""
        return self._call(
            ServiceAccount,
            "PATCH",
            f"namespaces/{part(slug)}/service-accounts/{part(username)}",
            content=json_of({"role": role}),
        )

    def list(self, slug: str) -> tuple[ServiceAccount, ...]:
        """List service accounts by name; for members."""
        return self._items(ServiceAccount, "GET", f"namespaces/{part(slug)}/service-accounts")
