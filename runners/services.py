"""The life of a job: enqueue, claim, renew, finish, cancel, sweep.

Every write of a worker names the attempt it claimed, so a worker that comes back late changes
nothing. Each function is one transaction and one compare-and-set.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hub.protocol import problems
from registry import collector, events, outbox
from registry.permissions import require
from registry.services import uploads
from runners import bell
from runners.models import Job, Worker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from registry.models import RegisteredModel, Version
    from registry.permissions import Actor
    from runners.reports import Report

log = structlog.get_logger(__name__)

WORKER_LOST = timedelta(seconds=90)
ENGINE = "1"


def key_of(kind: str, subject: str, given: dict[str, Any]) -> str:
    """What makes two jobs the same work: kind, bytes, input and engine."""
    text = json.dumps([ENGINE, kind, subject, given], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def enqueue(
    *,
    kind: str,
    version: Version,
    entry: str = "",
    given: dict[str, Any] | None = None,
    pool: str = Job.Pool.CPU,
    priority: int = 3,
) -> Job:
    """Write a job and ring for it; returns the live job where the same work is under way."""
    given = given or {}
    subject = f"{version.manifest_sha256}:{entry}"
    key = key_of(kind, subject, given)
    try:
        with transaction.atomic():
            job = Job.objects.create(
                kind=kind,
                version=version,
                entry=entry,
                input=given | {"manifest_sha256": version.manifest_sha256},
                pool=pool,
                priority=priority,
                key=key,
            )
    except IntegrityError:
        return Job.objects.get(version=version, key=key, state__in=Job.LIVE)
    transaction.on_commit(lambda: bell.ring(job))
    return job


@transaction.atomic
def claim(worker: str, pools: Sequence[str], *, uuid: UUID | str | None = None) -> Job | None:
    """Take the next job for a worker, or the one named; None where there is none to take."""
    now = timezone.now()
    rows = Job.objects.filter(state=Job.State.QUEUED, pool__in=pools, not_before__lte=now)
    if uuid is not None:
        rows = rows.filter(pk=uuid)
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True)
    job = rows.order_by("priority", "queued_at", "pk").first()
    if job is None:
        return None
    taken = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING,
        attempt=F("attempt") + 1,
        worker=worker,
        lease_until=now + _lease(),
        started_at=now,
        progress=0,
        phase="starting",
    )
    if not taken:
        return None
    return Job.objects.select_related("version__model__namespace").get(pk=job.pk)


def renew(job: Job, *, progress: int | None = None, phase: str = "") -> bool:
    """Keep a lease; False where the job was cancelled or belongs to another attempt by now."""
    changes: dict[str, Any] = {"lease_until": timezone.now() + _lease()}
    if progress is not None:
        changes |= {"progress": max(0, min(100, progress)), "phase": phase[:64]}
    return bool(_mine(job).filter(cancel_requested=False).update(**changes))


@transaction.atomic
def finish(job: Job, report: Report) -> bool:
    """Write what an attempt found; False where it is no longer this attempt's to write."""
    ended = _mine(job).update(
        state=Job.State.SUCCEEDED if report.outcome == "passed" else Job.State.FAILED,
        finished_at=timezone.now(),
        lease_until=None,
        progress=100,
        phase="done",
        error_class="" if report.outcome == "passed" else _error_class(report),
        error_detail="\n".join(f.message for f in report.findings if f.severity == "error")[:4000],
        report=report.to_json(),
    )
    if not ended:
        return False
    job.refresh_from_db()
    events.record("job.finished", job, actor=None, model=_model_of(job))
    return True


@transaction.atomic
def give_back(job: Job, *, reason: str, detail: str = "") -> bool:
    """Return a job that this side could not do; after its last attempt it fails for good."""
    rows = _mine(job)
    if job.attempt < job.max_attempts:
        delay = timedelta(seconds=2**job.attempt)
        return bool(
            rows.update(
                state=Job.State.QUEUED,
                worker="",
                lease_until=None,
                not_before=timezone.now() + delay,
                error_class=reason,
                error_detail=detail[:4000],
                phase="waiting for another attempt",
            )
        )
    return bool(rows.count()) and _fail(job, reason, detail)


@transaction.atomic
def cancel(actor: Actor, *, job: Job) -> Job:
    """Cancel a job: at once while it waits, at the next renewal while it runs."""
    if job.version is None:
        raise problems.NotAllowed("This job belongs to the hub itself.")
    require(actor, "job.cancel", job.version.model)
    waiting = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.CANCELLED, finished_at=timezone.now(), phase="cancelled"
    )
    if waiting:
        events.record("job.finished", job, actor=actor, model=job.version.model)
    elif not Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel_requested=True):
        raise problems.StateConflict(f"This job is {job.state} already; nothing is left to cancel.")
    job.refresh_from_db()
    return job


@transaction.atomic
def stop(job: Job) -> bool:
    """End a running attempt whose cancellation was asked for."""
    ended = _mine(job).update(
        state=Job.State.CANCELLED, finished_at=timezone.now(), lease_until=None, phase="cancelled"
    )
    if ended:
        events.record("job.finished", job, actor=None, model=_model_of(job))
    return bool(ended)


def sweep() -> int:
    """Put jobs of lost workers back, ring again for those that wait, and deliver what is due."""
    now = timezone.now()
    lost = Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=now)
    for job in lost.select_related("version__model")[:100]:
        log.warning("job_lost", job=str(job.pk), worker=job.worker, attempt=job.attempt)
        _take_back(job)
    unheard = Job.objects.filter(state=Job.State.QUEUED, not_before__lte=now).filter(
        Q(rung_at=None) | Q(rung_at__lt=now - _lease())
    )
    for job in unheard[:100]:
        bell.ring(job)
    return outbox.deliver()


def tidy() -> None:
    """Hourly: forget uploads that are over, bytes nothing needs and workers that are gone."""
    uploads.expire()
    collector.collect()
    Worker.objects.filter(seen_at__lt=timezone.now() - timedelta(days=1)).delete()


def see(worker: str, *, host: str, pool: str, capabilities: dict[str, Any]) -> None:
    """Note a worker's sign of life."""
    Worker.objects.update_or_create(
        name=worker,
        defaults={
            "host": host,
            "pool": pool,
            "capabilities": capabilities,
            "seen_at": timezone.now(),
        },
    )


def _lease() -> timedelta:
    return timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)


def _model_of(job: Job) -> RegisteredModel | None:
    return job.version.model if job.version else None


def _mine(job: Job) -> Any:
    return Job.objects.filter(
        pk=job.pk, state=Job.State.RUNNING, worker=job.worker, attempt=job.attempt
    )


@transaction.atomic
def _take_back(job: Job) -> None:
    if job.cancel_requested:
        stop(job)
    elif job.attempt >= job.max_attempts:
        _fail(job, "lost", f"The worker {job.worker} was lost {job.attempt} times.")
    else:
        _mine(job).filter(lease_until=job.lease_until).update(
            state=Job.State.QUEUED,
            worker="",
            lease_until=None,
            rung_at=None,
            error_class="lost",
            error_detail=f"The worker {job.worker} was lost during attempt {job.attempt}.",
            phase="waiting for another worker",
        )


def _fail(job: Job, reason: str, detail: str) -> bool:
    ended = _mine(job).update(
        state=Job.State.FAILED,
        finished_at=timezone.now(),
        lease_until=None,
        error_class=reason,
        error_detail=detail[:4000],
    )
    if ended:
        events.record("job.finished", job, actor=None, model=_model_of(job))
    return bool(ended)


def _error_class(report: Report) -> str:
    return "deterministic" if report.outcome == "failed" else "errored"
