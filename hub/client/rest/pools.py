"""The REST operations of pools, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from hub.client.rest.calls import Group, json_of, part


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool with the numbers of its jobs and of its live workers."""

    name: str
    # open, or hands out no job: paused, draining (jobs run still) or drained
    state: str
    queued: int
    running: int
    workers: int
    reason: str
    # since when it hands out no job
    since: datetime | None


class PoolsGroup(Group):
    """The operations of pools."""

    def drain(
        self, name: str, *, reason: Annotated[str | None, "shown with the jobs that wait"] = None
    ) -> Pool:
        """Drain a pool, so that its workers can be stopped; for administrators.

        It hands out no job, and is drained when its running jobs have ended.
        """
        return self._call(
            Pool, "POST", f"pools/{part(name)}/drain", content=json_of({"reason": reason})
        )

    def list(self) -> tuple[Pool, ...]:
        """List pools with their state and numbers of jobs and workers; for administrators."""
        return self._items(Pool, "GET", "pools")

    def pause(
        self, name: str, *, reason: Annotated[str | None, "shown with the jobs that wait"] = None
    ) -> Pool:
        """Pause a pool: it hands out no job until it is resumed; for administrators.

        Running jobs go on, and jobs can be queued.
        """
        return self._call(
            Pool, "POST", f"pools/{part(name)}/pause", content=json_of({"reason": reason})
        )

    def resume(self, name: str) -> Pool:
        """Let a pool hand out jobs again; for administrators."""
        return self._call(Pool, "POST", f"pools/{part(name)}/resume")
