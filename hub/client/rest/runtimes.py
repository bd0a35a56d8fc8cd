"""The REST operations of runtimes, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hub.client.rest.calls import Group


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """A version of a runtime that workers offer, or recently offered."""

    name: str
    version: str
    first_seen_at: datetime
    seen_at: datetime


class RuntimesGroup(Group):
    """The operations of runtimes."""

    def list(self) -> tuple[Runtime, ...]:
        """List runtimes, each with its newest version."""
        return self._items(Runtime, "GET", "runtimes")
