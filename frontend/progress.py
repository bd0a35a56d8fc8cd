"""A job in words: its steps, why it waits, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from frontend import formatting, verdicts, words

if TYPE_CHECKING:
    from datetime import datetime

    from runners.models import Job

_ENDS = {
    "succeeded": ("passed", "No fault found."),
    "failed": ("failed", "It ended without success."),
    "cancelled": ("cancelled", "Cancelled."),
}
_ORDINALS = {0: "next in line", 1: "second in line", 2: "third in line"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job; ``since`` is set while it lasts."""

    title: str
    state: str
    note: str = ""
    since: datetime | None = None
    current: bool = False
    progress: int | None = None


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
    worker: str
    error: str
    stages: tuple[verdicts.Verdict, ...]
    findings: tuple[verdicts.Finding, ...]
    versions: dict[str, str]
    seconds: float | None


def title(job: Job) -> str:
    """What a job does, to which file."""
    said = words.JOBS.get(job.kind, job.kind.capitalize())
    return f"{said}: {job.entry}" if job.entry else said


def read(job: Job, ahead: int, workers: int) -> Progress:
    """A job's page. ``ahead`` jobs come before it, and ``workers`` serve its pool."""
    report: dict[str, Any] = job.report if isinstance(job.report, dict) else {}
    versions = report.get("versions")
    version = job.version
    said = f"{job.progress}{formatting.NARROW}% · " if job.state == "running" else f"{job.state} · "
    return Progress(
        uuid=str(job.uuid),
        title=title(job),
        subject=version.ref if version else "",
        subject_url=_version_url(job),
        state=job.state,
        ended=job.is_ended,
        progress=job.progress,
        page_title=f"{said}{title(job)} · Model hub",
        steps=_steps(job),
        waits=_waits(job, ahead, workers) if job.state == "queued" else "",
        attempt=f"{job.attempt} of {job.max_attempts}" if job.attempt else "not begun",
        worker=job.worker,
        error=job.error_detail if job.state != "succeeded" else "",
        stages=verdicts.stages(report) if job.kind == "check" and report else (),
        findings=verdicts.findings(report),
        versions={str(name): str(number) for name, number in versions.items()}
        if isinstance(versions, dict)
        else {},
        seconds=_seconds(job),
    )


def _version_url(job: Job) -> str:
    version = job.version
    if version is None:
        return ""
    model = version.model
    return reverse("version-checks", args=[model.namespace.slug, model.name, version.number])


def _seconds(job: Job) -> float | None:
    if job.started_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.started_at).total_seconds()


def _steps(job: Job) -> tuple[Step, ...]:
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
        "running" if running else "passed" if begun else "not run",
        formatting.duration(max(spent, 0.001)) if spent is not None and begun else "",
        since=job.started_at if running else None,
        current=running,
        progress=job.progress if running else None,
    )
    state, note = _ENDS.get(job.state, ("not run", ""))
    return queued, child, Step("Report", state, note)


def _waits(job: Job, ahead: int, workers: int) -> str:
    place = _ORDINALS.get(ahead, f"{formatting.grouped(ahead)} jobs come first")
    if not workers:
        return f"Waits because no worker takes jobs of the pool {job.pool} at the moment; {place}."
    if job.error_detail:
        return f"Waits before another attempt; {place}."
    return f"Waits for a worker of the pool {job.pool} to be free; {place}."
