"""What packages plug into the core."""

from __future__ import annotations

from hub.protocol.packages import METHOD
from registry.core import outbox
from registry.packages import services
from runners.packages import jobs
from runners.queue.job_kinds import JobKind, job_kinds


def register(package: str) -> None:
    """Plug into the queue and its events."""
    outbox.subscribe("packages.jobs", ("version.submitted",), jobs.on_submitted)
    job_kinds.register(
        package,
        JobKind(
            jobs.KIND,
            jobs.take,
            method=str(METHOD),
            reads_all=True,
            schedule_missing=jobs.schedule_missing,
            covers_older=True,
            forget=services.forget,
        ),
    )
