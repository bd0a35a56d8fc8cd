"""Writes by the holder of a job: lease renewals, progress and the result.

Every write names the claimed attempt, so a late write of a lost worker changes nothing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from registry.core import events
from runners.engine.reports import Report
from runners.models import Attempt, Bar, Job
from runners.queue.failures import FailureCause
from runners.queue.services import claims, sharing

# When a job that was interrupted for an urgent one may run again.
_AFTER_URGENT = timedelta(seconds=60)
# Maximum number of attempts that crash or run out of time.
TRIES = {FailureCause.CRASH: 2, FailureCause.TIMEOUT: 2}
_OUTCOMES: dict[FailureCause, str] = {
    FailureCause.ERRORED: Attempt.Outcome.ERRORED,
    FailureCause.CRASH: Attempt.Outcome.CRASHED,
    FailureCause.TIMEOUT: Attempt.Outcome.TIMED_OUT,
}


def renew(job: Job, *, progress: int | None = None, phase: str = "") -> bool:
    """Renew a lease; False if the job was cancelled or another attempt has it."""
    until = timezone.now() + timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)
    changes: dict[str, Any] = {"lease_until": until}
    if progress is not None:
        changes |= {"progress": max(0, min(100, progress)), "phase": phase[:64]}
    return bool(_mine(job).filter(cancel_requested=False).update(**changes))


@transaction.atomic
def finish(job: Job, report: Report) -> bool:
    """Write the result of an attempt; False if the attempt no longer has the lease."""
    passed = report.outcome == "passed"
    detail = "\n".join(f.message for f in report.findings if f.severity == "error")[:4000]
    ended = _mine(job).update(
        state=Job.State.SUCCEEDED if passed else Job.State.FAILED,
        finished_at=timezone.now(),
        lease_until=None,
        progress=100,
        phase="done",
        error_class="" if passed else _error_class(report),
        error_detail=detail,
        report=report.to_json(),
    )
    if not ended:
        return False
    _close(job, Attempt.Outcome.SUCCEEDED if passed else Attempt.Outcome.FAILED, detail)
    _tell(job)
    claims.hand_on(job)  # first: claims lock the host before the files of shared results
    sharing.answer_others(job)
    return True


@transaction.atomic
def give_back(job: Job, *, reason: FailureCause, detail: str = "") -> bool:
    """Return a job whose attempt failed to the queue, or fail it after its last attempt.

    After a second crash, the file is quarantined for this kind of work until an administrator
    releases it.
    """
    now = timezone.now()
    if not _mine(job).select_for_update().exists():
        return False
    _close(job, _OUTCOMES[reason], detail)
    if _may_try_again(job, reason):
        _mine(job).update(
            state=Job.State.QUEUED,
            worker="",
            host="",
            gpu="",
            lease_until=None,
            notified_at=None,
            not_before=now + timedelta(seconds=2**job.attempt),
            error_class=reason,
            error_detail=detail[:4000],
            phase="waiting for another attempt",
        )
        return True
    has_crashed = reason == FailureCause.CRASH
    if has_crashed and job.kind not in Job.PERSONAL:
        _bar(job, detail)
    _fail(job, "poison" if has_crashed else reason, detail)
    return True


@transaction.atomic
def stop(job: Job) -> bool:
    """End a running attempt whose cancellation was requested."""
    ended = (
        _mine(job)
        .filter(cancel_requested=True)
        .update(
            state=Job.State.CANCELLED,
            finished_at=timezone.now(),
            lease_until=None,
            phase="cancelled",
        )
    )
    if ended:
        _close(job, Attempt.Outcome.CANCELLED)
        _tell(job)
    return bool(ended)


@transaction.atomic
def give_way(job: Job) -> bool:
    """Return a job to the queue in favour of an urgent one, without costing an attempt."""
    mine = _mine(job).filter(cancel_requested=False)
    if not mine.select_for_update().exists():
        return False
    detail = "It was interrupted for an urgent job."
    _close(job, Attempt.Outcome.CANCELLED, detail)
    mine.update(
        state=Job.State.QUEUED,
        max_attempts=F("max_attempts") + 1,
        worker="",
        host="",
        gpu="",
        lease_until=None,
        notified_at=None,
        not_before=timezone.now() + _AFTER_URGENT,
        phase="waiting for another hour",
    )
    return True


@transaction.atomic
def take_back(job: Job) -> bool:
    """Take a job from a worker whose lease has expired; False if another process was quicker."""
    if job.cancel_requested:
        return stop(job)
    detail = f"The worker was lost during attempt {job.attempt}."
    lapsed = _mine(job).filter(lease_until=job.lease_until)
    if not lapsed.select_for_update().exists():
        return False
    _close(job, Attempt.Outcome.LOST, detail)
    if job.attempt >= job.max_attempts:
        _fail(job, "lost", f"The worker was lost {job.attempt} times.")
        return True
    lapsed.update(
        state=Job.State.QUEUED,
        worker="",
        host="",
        gpu="",
        lease_until=None,
        notified_at=None,
        error_class="lost",
        error_detail=detail,
        phase="waiting for another worker",
    )
    return True


def _mine(job: Job) -> Any:
    return Job.objects.filter(
        pk=job.pk, state=Job.State.RUNNING, worker=job.worker, attempt=job.attempt
    )


def _close(job: Job, outcome: str, detail: str = "") -> None:
    Attempt.objects.filter(job=job, number=job.attempt, ended_at=None).update(
        outcome=outcome, ended_at=timezone.now(), detail=detail[:4000]
    )


def _may_try_again(job: Job, reason: FailureCause) -> bool:
    if job.attempt >= job.max_attempts:
        return False
    tries = TRIES.get(reason)
    if tries is None:
        return True
    return Attempt.objects.filter(job=job, outcome=_OUTCOMES[reason]).count() < tries


def _bar(job: Job, detail: str) -> None:
    if job.version and job.subject and not Bar.objects.standing_on(job).exists():
        Bar.objects.create(
            namespace=job.version.model.namespace,
            subject=job.subject,
            kind=job.kind,
            runtime=job.runtime,
            job=job,
            detail=detail[:4000],
        )


def _fail(job: Job, reason: str, detail: str) -> None:
    ended = _mine(job).update(
        state=Job.State.FAILED,
        finished_at=timezone.now(),
        lease_until=None,
        error_class=reason,
        error_detail=detail[:4000],
    )
    if ended:
        _tell(job)


def _tell(job: Job) -> None:
    """Record the event that the job ended, in the transaction that has written the end."""
    job.refresh_from_db()
    events.record("job.finished", job, actor=None, model=job.version.model if job.version else None)


def _error_class(report: Report) -> str:
    return Job.DETERMINISTIC if report.outcome == "failed" else "errored"
