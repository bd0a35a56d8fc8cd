"""Doing one claimed job: stage the files, run the sandboxed child, keep the lease, write the end.

The same code serves the embedded worker and Celery. No database transaction is open while a child
runs, and a database that is away for a moment does not end the work.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, cast

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from registry.blobs import store
from registry.models import File
from runners import services
from runners.reports import Finding, Report
from runners.sandbox import Limits, Request, Sandbox

if TYPE_CHECKING:
    from runners.models import Job

log = structlog.get_logger(__name__)

Task: TypeAlias = Literal["describe", "check"]

LEVELS = ("none", "limits", "partial", "full")


class Lease:
    """Renews a job's lease from a thread of its own, and says when the job is no longer ours."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._over = threading.Event()
        self._lost = threading.Event()
        self._progress: tuple[int, str] | None = None
        self._thread = threading.Thread(target=self._renew, name=f"lease-{job.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def note(self, percent: int, phase: str) -> None:
        """Remember how far the child is; written with the next renewal, at most once a second."""
        self._progress = (percent, phase)

    def is_lost(self) -> bool:
        """Whether the job was cancelled or taken by another attempt."""
        return self._lost.is_set()

    def _renew(self) -> None:
        written: tuple[int, str] | None = None
        waited = 0.0
        while not self._over.wait(1.0):
            waited += 1.0
            if self._progress == written and waited < settings.HUB_LIMITS_LEASE_SECONDS / 3:
                continue
            waited, written = 0.0, self._progress
            percent, phase = written or (None, "")
            try:
                if not services.renew(self._job, progress=percent, phase=phase):
                    self._lost.set()
                    break
            except DatabaseError:
                log.warning("renewal_failed", job=str(self._job.pk), exc_info=True)
            finally:
                close_old_connections()
        close_old_connections()


def execute(job: Job, sandbox: Sandbox) -> None:
    """Do a claimed job and write how it ended."""
    structlog.contextvars.bind_contextvars(job=str(job.pk), attempt=job.attempt)
    try:
        with Lease(job) as lease:
            report = _run(job, sandbox, lease)
        if lease.is_lost():
            services.stop(job)
            log.info("job_stopped")
        elif report.outcome == "errored":
            services.give_back(job, reason="errored", detail=_words(report))
            log.warning("job_errored", detail=_words(report))
        else:
            services.finish(job, report)
            log.info("job_finished", kind=job.kind, outcome=report.outcome, seconds=report.seconds)
    finally:
        structlog.contextvars.unbind_contextvars("job", "attempt")


def _run(job: Job, sandbox: Sandbox, lease: Lease) -> Report:
    files = {
        file.path: file
        for file in File.objects.filter(version=job.version_id, derived=False).select_related(
            "blob"
        )
    }
    entry = files.get(job.entry)
    if entry is None:
        return _errored(job, "file-missing", f"The version no longer holds {job.entry}.")
    weak = _too_weak(sandbox)
    if weak:
        return _errored(job, "sandbox-weak", weak)
    request = Request(
        task=cast("Task", job.kind),
        entry=job.entry,
        files={path: str(store().path(file.blob_id)) for path, file in files.items()},
        sha256=entry.blob_id,
        options={},
        limits=Limits(
            wall_seconds=settings.HUB_LIMITS_STAGE_SECONDS * 3,
            cpu_seconds=settings.HUB_LIMITS_STAGE_SECONDS,
            memory_bytes=settings.HUB_LIMITS_CHILD_BYTES,
        ),
    )
    try:
        return sandbox.run(request, on_progress=lease.note, should_stop=lease.is_lost)
    except OSError as error:
        return _errored(job, "sandbox-failed", f"The sandbox could not be used: {error}")


def _too_weak(sandbox: Sandbox) -> str:
    """Why this machine's isolation does not do for strangers' files; empty where it does."""
    level = sandbox.level()
    if LEVELS.index(level.name) >= LEVELS.index(settings.HUB_SANDBOX_REQUIRED):
        return ""
    return (
        f"This worker reaches the isolation level {level.name}, and HUB_SANDBOX_REQUIRED asks for "
        f"{settings.HUB_SANDBOX_REQUIRED}. Its health page says which layers are missing and why."
    )


def _errored(job: Job, code: str, message: str) -> Report:
    return Report(
        task=job.kind,
        versions={},
        subject="0" * 64,
        outcome="errored",
        findings=(Finding(code, "error", message),),
    )


def _words(report: Report) -> str:
    return "; ".join(finding.message for finding in report.findings)[:2000]
