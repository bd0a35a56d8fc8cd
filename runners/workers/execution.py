"""Execution of a claimed job: stage files, run the sandbox, renew the lease, write the result.

Embedded and Celery workers use the same code. No database transaction is open while a child runs,
and a short outage of the database does not end the job.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import structlog
from django.conf import settings
from django.db import Error as DatabaseTrouble
from django.db import InterfaceError, OperationalError, close_old_connections
from django.utils import timezone

from hub.protocol import problems
from hub.protocol.splits import DATA_FOLDER
from registry.core import work_totals
from registry.storage.files import store
from registry.versions.services import derivatives
from runners.benchmarks import record_checks, timing_jobs
from runners.engine.confine.isolation import Limits
from runners.engine.reports import Finding, Report
from runners.graphs import differences
from runners.models import Job
from runners.queue import job_kinds, services
from runners.queue.failures import reason_of
from runners.sandbox import Request, Sandbox
from runners.workers.metering import Meter

log = structlog.get_logger(__name__)

# Jobs that gate publication: they are short, and a user is waiting.
GATE = frozenset({"describe", "check"})
THOROUGH = 6
# Path of a private calibration sample among the files of a job.
CALIBRATION = ".calibration.npz"
NOTHING = "0" * 64
# How long an attempt waits for storage that does not respond.
STORAGE_SECONDS = 600.0
OUTPUT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
# Processes of benchmarks return all their samples.
_ANSWER_BYTES = 16 << 20
LEVELS = ("none", "limits", "partial", "full")


class Lease:
    """Renews a job's lease in a thread, and reports when the job belongs to another attempt."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._over = threading.Event()
        self._lost = threading.Event()
        self.gives_way = False
        self._progress: tuple[int, str] | None = None
        self._thread = threading.Thread(target=self._renew, name=f"lease-{job.pk}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def note(self, percent: int, phase: str) -> None:
        """Set the progress of the job; written with the next renewal, at most once a second."""
        self._progress = (percent, phase)

    def is_lost(self) -> bool:
        """Whether the job was cancelled or taken by another attempt."""
        return self._lost.is_set()

    def _yields(self) -> bool:
        """Whether the job occupies the place of an urgent one on its host."""
        try:
            self.gives_way = services.is_in_the_way(self._job)
        except DatabaseTrouble:
            log.warning("look_around_failed", job=str(self._job.pk), exc_info=True)
        return self.gives_way

    def _renew(self) -> None:
        written: tuple[int, str] | None = None
        waited = 0.0
        while not self._over.wait(1.0):
            waited += 1.0
            if self._yields():
                self._lost.set()
                break
            if self._progress == written and waited < settings.HUB_LIMITS_LEASE_SECONDS / 3:
                continue
            waited, written = 0.0, self._progress
            percent, phase = written or (None, "")
            try:
                if not services.renew(self._job, progress=percent, phase=phase):
                    self._lost.set()
                    break
            except DatabaseTrouble:
                log.warning("renewal_failed", job=str(self._job.pk), exc_info=True)
            finally:
                close_old_connections()
        close_old_connections()


def execute(job: Job, sandbox: Sandbox) -> None:
    """Run a claimed job and write its result."""
    structlog.contextvars.bind_contextvars(job=str(job.pk), attempt=job.attempt)
    try:
        meter = Meter(sandbox, has_gpu=bool(job.gpu))
        with Lease(job) as lease:
            report = _run(job, sandbox, lease)
            cost = meter.cost()
            if lease.gives_way and report.outcome == "errored" and services.give_way(job):
                log.info("job_gave_way", kind=job.kind)
            else:
                _write_end(job, report, lost=lease.is_lost() and not lease.gives_way)
            _count(job, "stopped" if lease.is_lost() else report.outcome, cost)
    finally:
        structlog.contextvars.unbind_contextvars("job", "attempt")


def _count(job: Job, outcome: str, cost: work_totals.Cost) -> None:
    """Add to the totals of this kind of job; a failure is only logged."""
    try:
        work_totals.add(job.kind, outcome, cost)
    except DatabaseTrouble:
        log.warning("cost_not_counted", exc_info=True)


def _write_end(job: Job, report: Report, *, lost: bool) -> None:
    """Write the result of an attempt, renewing its lease meanwhile.

    Waits for a database restart.
    """
    until = time.monotonic() + settings.HUB_LIMITS_LEASE_SECONDS
    while True:
        try:
            _end(job, report, lost=lost)
        except (OperationalError, InterfaceError):
            if time.monotonic() > until:
                raise
            log.warning("ending_failed", exc_info=True)
            close_old_connections()
            time.sleep(1.0)
        else:
            return


def _end(job: Job, report: Report, *, lost: bool) -> None:
    if lost:
        log.info("job_stopped", cancelled=services.stop(job))
    elif report.outcome == "errored":
        reason = reason_of(report)
        mine = services.give_back(job, reason=reason, detail=_words(report))
        log.warning("job_given_back", reason=reason, detail=_words(report), mine=mine)
    else:
        mine = services.finish(job, report)
        log.info(
            "job_finished",
            kind=job.kind,
            outcome=report.outcome,
            seconds=report.seconds,
            mine=mine,
        )


def _run(job: Job, sandbox: Sandbox, lease: Lease) -> Report:
    """Run a job; waits for storage that does not respond, and starts again."""
    until = time.monotonic() + STORAGE_SECONDS
    while True:
        try:
            with store().files() as path_of:
                return _run_on(job, sandbox, lease, path_of)
        except problems.StorageFull as error:
            return _errored(job, "storage-full", str(error))
        except problems.Unavailable as error:
            passes = "retry_after" in error.extensions  # a blob that is missing stays so
            if not passes or lease.is_lost() or time.monotonic() > until:
                return _errored(job, "storage-unavailable", str(error))
            log.warning("storage_awaited", error=str(error))
            time.sleep(float(error.extensions["retry_after"]))
        except DatabaseTrouble:
            raise
        except Exception as error:
            # A fault of the hub ends this attempt with its reason, but not the worker.
            log.exception("attempt_failed", kind=job.kind)
            message = f"The worker failed with {type(error).__name__}; its log has the details."
            return _errored(job, "worker-fault", message)


def _run_on(job: Job, sandbox: Sandbox, lease: Lease, path_of: Callable[[str], Path]) -> Report:
    files = {path: str(path_of(sha256)) for path, sha256 in services.files_of(job).items()}
    if job.version_id and job.entry not in files:
        return _errored(job, "file-missing", f"The version no longer holds {job.entry}.")
    weak = _too_weak(sandbox)
    if weak:
        return _errored(job, "sandbox-weak", weak)
    options = _options(job, files, path_of)
    kind = job_kinds.of(job)
    if kind is not None and kind.stage is not None:
        try:
            if kind.fetch is not None:
                kind.fetch(job, lease.note, lease.is_lost)
            staged = kind.stage(job, path_of)
        except job_kinds.GoneError as gone:
            finding = Finding(gone.code, "error", str(gone))
            return Report(job.kind, {}, NOTHING, "failed", (finding,))
        files, options = staged.files, staged.options
    request = Request(
        task=job.kind,
        entry=job.entry,
        files=files,
        sha256=Path(files[job.entry]).name if job.entry else NOTHING,
        options=options,
        limits=_limits(job, options),
    )
    try:
        report = sandbox.run(
            request,
            on_progress=lease.note,
            should_stop=lease.is_lost,
            urgent_since=lambda moment: _urgent_since(job, moment),
            keep=_store_outputs,
        )
        return record_checks.vetted(job, report)
    except OSError as error:
        return _errored(job, "sandbox-failed", f"The sandbox could not be used: {error}")


def _urgent_since(job: Job, moment: float) -> bool:
    """Whether urgent work ran beside a job since ``moment`` (monotonic clock, seconds).

    True also if the database does not say, as then it cannot be ruled out.
    """
    try:
        ago = timedelta(seconds=time.monotonic() - moment)
        return services.ran_beside(job, timezone.now() - ago)
    except DatabaseTrouble:
        log.warning("look_around_failed", job=str(job.pk), exc_info=True)
        close_old_connections()
        return True


def _options(job: Job, files: dict[str, str], path_of: Callable[[str], Path]) -> dict[str, Any]:
    """The options of a job; files that they name by digest are added to ``files``."""
    options = dict(job.input)
    if sample := options.pop("calibration_sha256", ""):
        options["calibration"] = CALIBRATION
        files[CALIBRATION] = str(path_of(sample))
    # Files of another version of the same model, for comparison of graphs or speed.
    for path, sha256 in options.pop("against_files", {}).items():
        files[f"{differences.AGAINST}/{path}"] = str(path_of(sha256))
    for path, sha256 in options.pop("data_files", {}).items():
        files[f"{DATA_FOLDER}/{path}"] = str(path_of(sha256))
    # Files that a user uploaded for one try-out.
    for path, sha256 in options.pop("input_files", {}).items():
        files[path] = str(path_of(sha256))
    return timing_jobs.options_at(job) if job.kind in timing_jobs.KINDS else options


def _limits(job: Job, options: dict[str, Any]) -> Limits:
    """Limits of a stage of this job: low for jobs that gate publication, high for the rest."""
    seconds = settings.HUB_LIMITS_STAGE_SECONDS
    if job.kind in GATE:
        return Limits(
            wall_seconds=seconds * 3,
            cpu_seconds=seconds,
            memory_bytes=settings.HUB_LIMITS_CHILD_BYTES,
        )
    if job.kind in timing_jobs.KINDS:
        whole = timing_jobs.job_seconds(options)
        return Limits(
            wall_seconds=whole,
            cpu_seconds=seconds * THOROUGH,
            memory_bytes=settings.HUB_LIMITS_CHILD_BYTES,
            output_bytes=_ANSWER_BYTES,
            file_bytes=record_checks.RECORD_BYTES,
            written_bytes=settings.HUB_LIMITS_WRITTEN_BYTES,
            job_seconds=whole,
        )
    return Limits(
        wall_seconds=settings.HUB_LIMITS_JOB_SECONDS,
        cpu_seconds=seconds * THOROUGH,
        memory_bytes=settings.HUB_LIMITS_CHILD_BYTES,
        file_bytes=settings.HUB_LIMITS_WRITTEN_BYTES,
        written_bytes=settings.HUB_LIMITS_WRITTEN_BYTES,
        job_seconds=settings.HUB_LIMITS_JOB_SECONDS,
    )


def _store_outputs(report: Report, folder: Path) -> Report:
    """Store the output files that a report names, and no other files of the child.

    Raises OSError for a name that is not a plain file in the folder: an upload may control the
    child and must not make the worker read other files.
    """
    outputs = []
    for output in report.outputs:
        if not OUTPUT_NAME.fullmatch(output.name):
            raise OSError(f"a child named an output {output.name[:80]!r}")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(folder / output.name, flags), "rb", buffering=0) as reader:  # noqa: PTH123
            state = os.fstat(reader.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
                raise OSError(f"the output {output.name!r} is not a plain file")
            sha256, size = derivatives.store_bytes(reader)
        outputs.append(replace(output, sha256=sha256, size=size))
    return replace(report, outputs=outputs)


def _too_weak(sandbox: Sandbox) -> str:
    """Why this machine's isolation is too weak for untrusted files; empty if it suffices."""
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
        subject=NOTHING,
        outcome="errored",
        findings=(Finding(code, "error", message),),
    )


def _words(report: Report) -> str:
    return "; ".join(finding.message for finding in report.findings)[:2000]
