"""The REST operations of enrolled workers, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class EnrolledWorker:
    """A machine whose key signs its owner's contributed records."""

    name: str
    owner: str
    # Ed25519, base64url
    public_key: str
    enrolled_at: datetime
    revoked_at: datetime | None


class EnrolledWorkersGroup(Group):
    """The operations of enrolled workers."""

    def enrol(
        self,
        *,
        name: str,
        owner: Annotated[str, "user who contributes the records it signs"],
        public_key: Annotated[str, "Ed25519, base64url"],
    ) -> EnrolledWorker:
        """Enrol a machine by its public key; for administrators.

        Records that it signs are trusted.
        """
        return self._call(
            EnrolledWorker,
            "POST",
            "enrolled-workers",
            content=json_of({"name": name, "owner": owner, "public_key": public_key}),
        )

    def list(self) -> tuple[EnrolledWorker, ...]:
        """List the enrolled workers, revoked ones included; for administrators."""
        return self._items(EnrolledWorker, "GET", "enrolled-workers")

    def revoke(self, name: str) -> None:
        """Revoke a worker; for administrators. Its earlier signatures become invalid."""
        self._do("DELETE", f"enrolled-workers/{part(name)}")
