"""The REST operations of jobs, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from hub.client.rest.calls import Group, part
from hub.client.rest.shared import Job


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt of a job by one worker."""

    number: int
    # alias of the worker; administrators see its name
    worker: str
    # alias of the worker; administrators see its name
    host: str
    started_at: datetime
    ended_at: datetime | None
    # running, succeeded, failed, errored, crashed, timed-out, lost or cancelled
    outcome: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class JobDetail(Job):
    """A job with its attempts, and what it waits for."""

    attempts: tuple[Attempt, ...]
    # empty unless the job is queued
    waiting_for: str
    # whether the file is quarantined for this kind of job
    barred: bool


class JobsGroup(Group):
    """The operations of jobs."""

    def cancel(self, uuid: str) -> Job:
        """Cancel a job. A queued job stops at once, a running one within seconds."""
        return self._call(Job, "POST", f"jobs/{part(uuid)}/cancel")

    def lift(self, uuid: str) -> JobDetail:
        """Release the file of this job from quarantine; for administrators.

        Jobs can then run on it again.
        """
        return self._call(JobDetail, "POST", f"jobs/{part(uuid)}/lift")

    def list(
        self,
        *,
        pool: str | None = None,
        state: Literal["cancelled", "failed", "queued", "running", "succeeded"] | None = None,
        limit: Annotated[int | None, "maximum number of results (default: all)"] = None,
    ) -> Iterator[Job]:
        """List jobs, newest first; filter with `state` and `pool`."""
        return self._pages(Job, "jobs", query={"pool": pool, "state": state}, limit=limit)

    def read(self, uuid: str) -> JobDetail:
        """Read a job. With If-None-Match, an unchanged job returns 304."""
        return self._call(JobDetail, "GET", f"jobs/{part(uuid)}")
