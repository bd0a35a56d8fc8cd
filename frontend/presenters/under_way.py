"""What is being done for a version right now: its live jobs, their place in the queue, the mark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from frontend.parts import live
from frontend.presenters import job_progress, version_head
from registry.core.permissions import Actor
from registry.models import Version
from runners.models import Job
from runners.queue import selectors

# Places in the queue are asked for of so many jobs; the others say that they wait.
_PLACES = 6
# Proofs are asked for a moment after a version is published, or another job has ended.
_SETTLING = timedelta(seconds=30)


def read(actor: Actor, version: Version, jobs: Sequence[Job] | None = None) -> dict[str, Any]:
    """The work on a version that the actor may see; ``jobs`` are its newest ones if read before."""
    jobs = selectors.of_version(actor, version) if jobs is None else jobs
    at_work = [
        job for job in reversed(jobs) if job.state in Job.LIVE and job.kind not in Job.PERSONAL
    ]
    at_work.sort(key=lambda job: job.state != Job.State.RUNNING)
    workers = selectors.live_workers() if at_work else []
    holds = selectors.holds_of_pools() if at_work else {}
    lines = tuple(
        {
            "job": job,
            "title": job_progress.title(job),
            "waits": selectors.why_waiting(job, workers, holds) if at < _PLACES else "",
        }
        for at, job in enumerate(at_work)
    )
    checks = [(check.pk, check.outcome) for check in version.checks.all()]
    states = [(job.pk, job.state, job.progress // 10, job.phase) for job in jobs]
    moments = [version.published_at, *(job.finished_at for job in jobs[:5])]
    settling = any(moment and moment > timezone.now() - _SETTLING for moment in moments)
    mark = live.mark(version.state, checks, states, [line["waits"] for line in lines], settling)
    is_over = version.state != "submitted" and not lines and not settling
    left = f", jobs left: {len(lines)}" if lines else ""
    message = f"{version.ref} is {version.state}{left}"
    return {
        "lines": lines,
        "watch": live.Watch(version_head.place(version, "version-live"), mark, is_over, message),
    }
