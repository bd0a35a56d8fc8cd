"""Claiming: a worker takes the next job that it can run on its host."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from registry.core import maintenance_mode
from runners import pools
from runners.models import Attempt, Host, Job
from runners.queue import order
from runners.queue.content import JobEnvironment
from runners.queue.services import budgets, sharing, urgency
from runners.queue.services.workers import offered_by
from runners.worker_features import WorkerFeatures

# How long a host stays reserved for a job that needs it exclusively; each claim attempt renews it.
RESERVED = timedelta(seconds=60)
# How long a host is kept for the next exclusive job, whose worker looks for work at once.
HANDED_ON = timedelta(seconds=10)


def claim(
    worker: str,
    queues: Sequence[str],
    *,
    uuid: UUID | str | None = None,
    host: str = "",
    features: WorkerFeatures | None = None,
) -> Job | None:
    """Claim the next job of these queues, or the job ``uuid``; None if there is none to claim.

    A job that the worker's features (default: those it registered) or the state of its host do
    not allow stays queued and costs no attempt. A pool that is paused or draining hands out none,
    and no job begins during read-only maintenance. A worker of the queue `urgent` takes urgent jobs
    only. A job whose result exists already ends with that result; while the same work is running,
    it waits.
    """
    if maintenance_mode.current().is_read_only:
        return None
    now = timezone.now()
    rows = Job.objects.on_open_pools().filter(
        state=Job.State.QUEUED, queue__in=pools.queues_of(queues), not_before__lte=now
    )
    if uuid is not None:
        rows = rows.filter(pk=uuid)
    if not rows.exists():  # asked often, and mostly in vain: no lock for that
        return None
    if features is None:
        _, features = offered_by(worker)
    try:
        return _claim(worker, rows, host or worker, features, now)
    except IntegrityError:  # another worker took the same host or GPU in this moment
        return None


def hand_on(ended: Job) -> None:
    """Keep the host of an ended exclusive job for the next such job if that is due soon.

    Not while urgent work waits for the host.

    Otherwise another worker would start a proof, and the host would have to become idle again for
    each benchmark. The namespace whose turn it is decides. Call it in the transaction that ends the
    job.
    """
    if ended.exclusive != Job.Exclusive.HOST or urgency.waits_on(ended.host):
        return
    now = timezone.now()
    rows = Job.objects.on_open_pools().filter(state=Job.State.QUEUED, not_before__lte=now)
    rows = rows.exclude(pool=Job.Pool.LIGHT).exclude(priority=Job.URGENT)
    for own in order.turns(rows, now):
        due_at = own.values_list("due_at", flat=True).first()
        alike = own.filter(exclusive=ended.exclusive, pool=ended.pool, requires=ended.requires)
        near = alike.filter(due_at__lte=due_at + order.BATCH).first() if due_at else None
        if near is not None:
            Host.objects.filter(name=ended.host).update(
                reserved_for=near, reserved_until=now + HANDED_ON
            )
        return


@transaction.atomic
def _claim(
    worker: str, rows: Any, host: str, features: WorkerFeatures, now: datetime
) -> Job | None:
    place = _lock(host)
    gpu = features.gpu
    environment = JobEnvironment(features.versions, host)
    rows = budgets.within(sharing.claimable(_allowed_on(place, rows, now)))
    if gpu and Job.objects.filter(state=Job.State.RUNNING, gpu=gpu).exists():
        rows = rows.exclude(Q(exclusive=Job.Exclusive.GPU) | Q(pool__startswith="gpu-"))
    while True:
        job = _next(rows, now)
        if job is None:
            return None
        if pools.unmet(job.requires, features):
            rows = rows.exclude(requires=job.requires)
        elif job.exclusive == Job.Exclusive.GPU and not gpu:
            rows = rows.exclude(exclusive=Job.Exclusive.GPU)
        elif sharing.answer(job, [environment]):
            continue
        elif job.exclusive == Job.Exclusive.HOST and (
            _at_work(host).exists() or urgency.waits_on(host)
        ):
            _reserve(place, job, now)
            return None
        else:
            return _take(job, worker, host, gpu, now)


def _next(rows: Any, now: datetime) -> Job | None:
    """The next job by turn, locked with SKIP LOCKED if the database supports it."""
    for own in order.turns(rows, now):
        if connection.features.has_select_for_update_skip_locked:
            own = own.select_for_update(skip_locked=True, of=("self",))  # noqa: PLW2901
        job: Job | None = own.first()
        if job is not None:
            return job
    return None


def _lock(host: str) -> Host:
    """The row of the host, locked until the claim ends, so that its claims are serialised."""
    return Host.objects.select_for_update().get_or_create(name=host)[0]


def _at_work(host: str) -> Any:
    return Job.objects.filter(state=Job.State.RUNNING, host=host).exclude(pool=Job.Pool.LIGHT)


def _allowed_on(place: Host, rows: Any, now: datetime) -> Any:
    """The jobs that may begin on a host: light and urgent ones always."""
    always = Q(pool=Job.Pool.LIGHT) | Q(priority=Job.URGENT)
    if _at_work(place.name).filter(exclusive=Job.Exclusive.HOST).exists():
        return rows.filter(always)
    if place.reserved_until is None or place.reserved_until < now:
        return rows
    if place.reserved_for is None or place.reserved_for.state != Job.State.QUEUED:
        return rows
    return rows.filter(Q(pk=place.reserved_for_id) | always)


def _reserve(place: Host, job: Job, now: datetime) -> None:
    Host.objects.filter(pk=place.pk).update(reserved_for=job, reserved_until=now + RESERVED)


def _take(job: Job, worker: str, host: str, gpu: str, now: datetime) -> Job | None:
    on_gpu = job.exclusive == Job.Exclusive.GPU or job.pool.startswith("gpu-")
    claimed = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING,
        attempt=F("attempt") + 1,
        worker=worker,
        host=host,
        gpu=gpu if on_gpu else "",
        lease_until=now + timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS),
        started_at=now,
        progress=0,
        phase="starting",
    )
    if not claimed:
        return None
    if job.exclusive == Job.Exclusive.HOST:
        Host.objects.filter(reserved_for=job).update(reserved_for=None, reserved_until=None)
    mine = Job.objects.select_related("version__model__namespace").get(pk=job.pk)
    Attempt.objects.create(job=mine, number=mine.attempt, worker=worker, host=host, started_at=now)
    return mine
