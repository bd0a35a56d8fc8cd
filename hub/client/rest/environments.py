"""The REST operations of environments, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hub.client.rest.calls import Group, part


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The machine, system and runtime of results; its digest is that of its canonical JSON."""

    digest: str
    parts: Any
    first_seen_at: datetime


class EnvironmentsGroup(Group):
    """The operations of environments."""

    def list(self) -> tuple[Environment, ...]:
        """List the environments of results that you can see, newest first."""
        return self._items(Environment, "GET", "environments")

    def read(self, digest: str) -> Environment:
        """Read the environment of results that you can see."""
        return self._call(Environment, "GET", f"environments/{part(digest)}")
