"""A job in words: its steps, why it waits, whether it still breathes, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from frontend.parts import formatting, labels
from frontend.presenters import job_outcomes, verdicts
from runners.queue import aliases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from runners.engine.reports import Finding
    from runners.models import Job

# A worker renews its lease every third of it: one that missed two is told as silent.
_SILENT = 2 / 3
_ENDS = {
    "succeeded": ("passed", "No problems found."),
    "failed": ("failed", "Failed."),
    "cancelled": ("cancelled", "Cancelled."),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job; ``since`` is set while it lasts."""

    title: str
    state: str
    note: str = ""
    since: datetime | None = None
    current: bool = False
    progress: int | None = None
    doing: str = ""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt: by whom, how long, and how it ended."""

    number: int
    worker: str
    outcome: str
    began: datetime
    lasted: str
    detail: str


@dataclass(frozen=True, slots=True)
class Progress:
    """All that a job's page shows."""

    uuid: str
    title: str
    subject: str
    subject_url: str
    state: str
    ended: bool
    progress: int
    page_title: str
    steps: tuple[Step, ...]
    waits: str
    attempt: str
    tries: tuple[Try, ...]
    needs: str
    barred: bool
    made: tuple[job_outcomes.Made, ...]
    worker: str
    heard: datetime | None
    lapses: datetime | None
    silent: bool
    ending: bool
    may_cancel: bool
    error: str
    stages: tuple[verdicts.Verdict, ...]
    findings: tuple[Finding, ...]
    versions: dict[str, str]
    seconds: float | None


def title(job: Job) -> str:
    """What a job does, to which file."""
    said = labels.job(job.kind, job.input)
    return f"{said}: {job.entry}" if job.entry else said


def read(
    job: Job,
    *,
    waits: str = "",
    barred: bool = False,
    may_cancel: bool = False,
    sees_names: bool = False,
    made: Sequence[job_outcomes.Made] = (),
) -> Progress:
    """A job's page. ``waits`` says why it has not begun, ``barred`` that its file is kept out.

    Machines are under aliases unless ``sees_names``.
    """
    heard = _heard(job)
    silent = heard is not None and timezone.now() - heard > _lease() * _SILENT
    state = "silent" if silent else job.state
    report = job.typed_report
    version = job.version
    requires = job.requires if sees_names else aliases.needs(job.requires)
    said = f"{job.progress}{formatting.NARROW}% · " if state == "running" else f"{state} · "
    return Progress(
        uuid=str(job.uuid),
        title=title(job),
        subject=version.ref if version else "",
        subject_url=job_outcomes.place(job),
        state=state,
        ended=job.is_ended,
        progress=job.progress,
        page_title=f"{said}{title(job)} · Model hub",
        steps=_steps(job, silent=silent),
        waits=f"Waiting: {waits}." if waits else "",
        attempt=f"{job.attempt} of {job.max_attempts}" if job.attempt else "not started",
        tries=_tries(job, sees_names=sees_names),
        needs=", ".join(f"{name} {wanted}" for name, wanted in requires.items()),
        barred=barred,
        made=tuple(made),
        worker=job.worker if sees_names else aliases.worker(job.worker),
        heard=heard,
        lapses=job.lease_until if silent else None,
        silent=silent,
        ending=job.cancel_requested and not job.is_ended,
        may_cancel=may_cancel and not job.is_ended and not job.cancel_requested,
        error=job.error_detail if job.state != "succeeded" else "",
        stages=verdicts.stages(report) if job.kind == "check" and job.report else (),
        findings=report.findings,
        versions=report.versions,
        seconds=_seconds(job),
    )


def _seconds(job: Job) -> float | None:
    if job.started_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.started_at).total_seconds()


def _lease() -> timedelta:
    return timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)


def _heard(job: Job) -> datetime | None:
    """When the worker of a running job last renewed its lease: its last sign of life."""
    if job.state != "running" or job.lease_until is None:
        return None
    return job.lease_until - _lease()


def _steps(job: Job, *, silent: bool) -> tuple[Step, ...]:
    waiting = job.state == "queued"
    begun = job.started_at is not None and not waiting
    waited = (job.started_at - job.queued_at).total_seconds() if begun and job.started_at else 0
    queued = Step(
        "Queued",
        "queued" if waiting else "passed",
        f"waited {formatting.duration(max(waited, 0.001))}" if begun else "",
        since=job.queued_at if waiting else None,
        current=waiting,
    )
    running = job.state == "running"
    spent = _seconds(job)
    child = Step(
        "Running in the sandbox",
        "silent" if silent else "running" if running else "passed" if begun else "not run",
        formatting.duration(max(spent, 0.001)) if spent is not None and begun else "",
        since=job.started_at if running else None,
        current=running,
        progress=job.progress if running else None,
        doing=", ".join(part for part in (job.phase, job.message) if part) if running else "",
    )
    state, note = _ENDS.get(job.state, ("not run", ""))
    return queued, child, Step("Report", state, note)


def _tries(job: Job, *, sees_names: bool) -> tuple[Try, ...]:
    return tuple(
        Try(
            number=row.number,
            worker=row.worker if sees_names else aliases.worker(row.worker),
            outcome=row.outcome.replace("-", " "),
            began=row.started_at,
            lasted=formatting.duration(max((row.ended_at - row.started_at).total_seconds(), 0.001))
            if row.ended_at
            else "",
            detail=row.detail,
        )
        for row in job.attempts.all()
    )
