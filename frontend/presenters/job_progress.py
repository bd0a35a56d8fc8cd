"""A job in words: its steps, why it waits, whether its worker responds, and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from frontend.parts import formatting, labels
from frontend.presenters import job_outcomes, verdicts
from runners.models import Job
from runners.queue import aliases

# A worker renews its lease every third of it: one that missed two is silent.
_SILENT = 2 / 3
_ENDS = {
    "succeeded": ("passed", "No problems found."),
    "failed": ("failed", "Failed."),
    "cancelled": ("cancelled", "Cancelled."),
}


def title(job: Job) -> str:
    """What a job does, to which file."""
    words = labels.job(job.kind, job.input)
    return f"{words}: {job.entry}" if job.entry else words


def read(
    job: Job,
    *,
    waits: str = "",
    barred: bool = False,
    may_cancel: bool = False,
    sees_names: bool = False,
    outputs: Sequence[job_outcomes.Output] = (),
    source: Job | None = None,
) -> dict[str, Any]:
    """A job's page. ``waits`` says why it has not begun, ``barred`` that its file is quarantined.

    Machines are under aliases unless ``sees_names``. ``source`` is the job that did the work of a
    shared one. An attempt comes with its worker and duration.
    """

    def named(worker: str) -> str:
        return worker if sees_names else aliases.worker(worker)

    heartbeat = _heartbeat(job)
    silent = heartbeat is not None and timezone.now() - heartbeat > _lease() * _SILENT
    state = "silent" if silent else job.state
    report = job.typed_report
    requires = job.requires if sees_names else aliases.needs(job.requires)
    done = f"{job.progress}{formatting.NARROW}%" if state == "running" else state
    return {
        "title": title(job),
        "subject_url": job_outcomes.place(job),
        "state": state,
        "page_title": f"{done} · {title(job)} · Model hub",
        "steps": _steps(job, silent=silent),
        "waits": f"Waiting: {waits}." if waits else "",
        "attempts": tuple(
            (row, named(row.worker), _lasted(row.started_at, row.ended_at))
            for row in job.attempts.all()
        ),
        "needs": ", ".join(f"{name} {value}" for name, value in requires.items()),
        "barred": barred,
        "outputs": tuple(outputs),
        "worker": named(job.worker),
        "heartbeat": heartbeat,
        "silent": silent,
        "may_cancel": may_cancel and not job.is_ended and not job.cancel_requested,
        "report": report,
        "stages": verdicts.stages(report) if job.kind == "check" and job.report else (),
        "source": source.version.ref if source and source.version else "",
        "source_url": reverse("job", args=[source.pk]) if source else "",
    }


def _lasted(start: datetime, end: datetime | None) -> str:
    """A span of time of at least a millisecond; empty while it lasts."""
    return formatting.duration(max((end - start).total_seconds(), 0.001)) if end else ""


def _lease() -> timedelta:
    return timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)


def _heartbeat(job: Job) -> datetime | None:
    if job.state != "running" or job.lease_until is None:
        return None
    return job.lease_until - _lease()


def _steps(job: Job, *, silent: bool) -> tuple[dict[str, Any], ...]:
    waiting, running = job.state == "queued", job.state == "running"
    start = None if waiting or job.is_shared else job.started_at
    queued = {
        "title": "Queued",
        "state": "queued" if waiting else "passed",
        "note": f"waited {_lasted(job.queued_at, start)}" if start else "",
        "since": job.queued_at if waiting else None,
        "current": waiting,
    }
    child = {
        "title": "Running in the sandbox",
        "state": "silent" if silent else "running" if running else "passed" if start else "not run",
        "note": _lasted(start, job.finished_at) if start else "",
        "since": job.started_at if running else None,
        "current": running,
        "progress": job.progress if running else None,
        "doing": ", ".join(part for part in (job.phase, job.message) if part) if running else "",
    }
    state, note = _ENDS.get(job.state, ("not run", ""))
    return (
        queued,
        child,
        {
            "title": "Report",
            "state": state,
            "note": note,
        },
    )
