"""Recovery of what was lost: expired leases, lost notifications, pending deliveries."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.db.models import Count, F, Q
from django.utils import timezone

from registry.core import outbox
from runners.models import Job, Worker
from runners.queue import notifications
from runners.queue.services.leases import take_back

log = structlog.get_logger(__name__)

UNHEARD = timedelta(seconds=30)
AT_ONCE = 100


def sweep() -> int:
    """Recover lost jobs, repeat notifications and deliver pending events."""
    recover()
    return outbox.deliver()


def recover() -> None:
    """Requeue jobs of lost workers and repeat notifications.

    Quick, and safe to call at any time.
    """
    now = timezone.now()
    lapsed = Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=now)
    for job in lapsed.select_related("version__model")[:AT_ONCE]:
        if take_back(job):
            log.warning("job_lost", job=str(job.pk), worker=job.worker, attempt=job.attempt)
    if settings.REDIS_URL:
        _notify_again()


def _notify_again() -> None:
    """Repeat notifications of queued jobs for queues of workers with free slots.

    If all slots are busy, the messages are most likely still in the broker, and more would only
    accumulate there.
    """
    now = timezone.now()
    queued = Job.objects.on_open_pools().filter(state=Job.State.QUEUED, not_before__lte=now)
    waiting = queued.filter(Q(notified_at=None) | Q(notified_at__lt=now - min(UNHEARD, _lease())))
    if not waiting.exists():
        return
    queues = free_queues()
    rows = waiting.filter(Q(queue__in=queues) | Q(notified_at=None))
    for job in rows.order_by(F("notified_at").asc(nulls_first=True), "due_at")[:AT_ONCE]:
        if not notifications.notify(job):
            break  # the broker is away, and each further try would take its time


def free_queues() -> list[str]:
    """The queues of live workers that have a free slot."""
    busy = dict(
        Job.objects.filter(state=Job.State.RUNNING)
        .values_list("worker")
        .annotate(n=Count("pk"))
        .order_by()
    )
    workers = Worker.objects.filter(seen_at__gt=timezone.now() - timedelta(seconds=90))
    free = [worker for worker in workers if busy.get(worker.name, 0) < worker.slots]
    return sorted({queue for worker in free for queue in worker.queues})


def _lease() -> timedelta:
    return timedelta(seconds=settings.HUB_LIMITS_LEASE_SECONDS)
