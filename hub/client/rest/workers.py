"""The REST operations of workers, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hub.client.rest.calls import Group


@dataclass(frozen=True, kw_only=True)
class Worker:
    """An active worker, with the runtimes and providers that passed its tests."""

    # alias of the worker; administrators see its name
    name: str
    # alias of the worker; administrators see its name
    host: str
    queues: tuple[str, ...]
    # number of concurrent jobs
    slots: int
    # name and version
    runtimes: dict[str, Any]
    # execution providers that work on this worker
    providers: tuple[str, ...]
    # runtimes and execution providers that failed their test on this worker; the reason is visible
    # to administrators
    unavailable: dict[str, str]
    # code and cure for each of the unavailable ones: missing-library, driver-too-old, no-device,
    # not-compiled-in, wrong-result, out-of-memory, no-nodes, failed
    causes: dict[str, dict[str, Any]]
    # none, limits, partial or full
    isolation: str
    versions: dict[str, str]
    started_at: datetime
    seen_at: datetime


class WorkersGroup(Group):
    """The operations of workers."""

    def list(self) -> tuple[Worker, ...]:
        """List active workers with their queues, runtimes and execution providers."""
        return self._items(Worker, "GET", "workers")
