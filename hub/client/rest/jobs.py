"""The REST operations of jobs, and what they return."""

# Written by scripts/rest.py from docs/openapi.yaml.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from hub.client.rest.calls import Group, part
from hub.client.rest.shared import Job, Source


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
class JobDetail:
    """A job with every try of it, and why it waits."""

    uuid: str
    kind: str
    pool: str
    # pool, plus the runtime if it has its own queue
    queue: str
    # capabilities that a worker needs for the job
    requires: Any
    # none, or the resource the job needs exclusively: host or gpu
    exclusive: str
    # 0 has the highest priority
    priority: int
    state: str
    model: str | None = None
    number: int | None = None
    entry: str
    attempt: int
    max_attempts: int
    # percent
    progress: int
    phase: str
    message: str
    # deterministic: caused by the model, a retry would not help; errored, crash, timeout or lost:
    # caused by the hub; poison: the file crashed the process every time
    error_class: str
    error_detail: str
    report: Any
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    # alias of the worker; administrators see its name
    worker: str
    # alias of the worker; administrators see its name
    host: str
    # the job whose result this is, if another version has the same content and you can see it;
    # started_at and finished_at are then of that job
    shared_from: Source | None
    url: str
    attempts: tuple[Attempt, ...]
    # empty unless the job is queued
    waiting_for: str
    # whether the file is quarantined for this kind of job
    barred: bool


class JobsGroup(Group):
    """The operations of jobs."""

    def cancel(self, uuid: str) -> Job:
        """Cancel a job: at once while it waits, within seconds while it runs."""
        return self._call(Job, "POST", f"jobs/{part(uuid)}/cancel")

    def lift(self, uuid: str) -> JobDetail:
        """Lift the quarantine of this job's file; for administrators. Jobs can then run again."""
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
        """Read a job; ask again with If-None-Match and get 304 while nothing changed."""
        return self._call(JobDetail, "GET", f"jobs/{part(uuid)}")
