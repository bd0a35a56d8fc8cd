"""Urgent jobs, for which a user is waiting, on hosts that a measurement needs exclusively.

They begin at once. A measurement does not count what ran beside them, and gives up its place if
they find no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from runners import pools
from runners.models import Attempt, Job, Worker
from runners.queue import order
from runners.queue.services import sharing

# After this many attempts a job is not interrupted any more, so that it ends at some time. Where no
# other worker of its host takes urgent jobs, it is.
INTERRUPTIONS = 3
# How long an urgent job waits for a free worker before a measurement gives it its place.
PATIENCE = timedelta(seconds=2)


def waits_on(host: str, *, longer_than: timedelta = timedelta(0)) -> bool:
    """Whether an urgent job is queued that a live worker of this host can take."""
    return _waits_for(_takers(host), timezone.now() - longer_than)


def ran_beside(job: Job, since: datetime) -> bool:
    """Whether urgent work ran since then on the host that a job needs exclusively."""
    if job.exclusive != Job.Exclusive.HOST:
        return False
    beside = Attempt.objects.filter(host=job.host, job__priority=Job.URGENT)
    return beside.filter(Q(ended_at=None) | Q(ended_at__gt=since)).exists()


def is_in_the_way(job: Job) -> bool:
    """Whether an exclusive job has the only place that an urgent job could have on its host."""
    if job.exclusive != Job.Exclusive.HOST:
        return False
    takers = _takers(job.host)
    own = [worker for worker in takers if worker.name == job.worker]
    if not own or not _waits_for(own, timezone.now() - PATIENCE):
        return False
    if job.attempt > INTERRUPTIONS and sum(worker.slots for worker in takers) > 1:
        return False
    running = Job.objects.filter(state=Job.State.RUNNING, worker__in=[row.name for row in takers])
    busy = dict(running.order_by().values_list("worker").annotate(n=Count("pk")))
    return all(busy.get(worker.name, 0) >= worker.slots for worker in takers)


def _takers(host: str) -> list[Worker]:
    """The live workers of a host that take urgent jobs."""
    rows = Worker.objects.filter(host=host, seen_at__gt=timezone.now() - order.WORKER_LOST)
    return [worker for worker in rows if pools.URGENT in worker.queues]


def _waits_for(workers: Iterable[Worker], before: datetime) -> bool:
    """Whether one of these workers can take an urgent job that was due before then."""
    offered = [worker.typed_features for worker in workers]
    if not offered:
        return False
    rows = Job.objects.on_open_pools().filter(
        state=Job.State.QUEUED, queue=pools.URGENT, not_before__lte=before, queued_at__lte=before
    )
    needs = sharing.claimable(rows).order_by().values_list("requires", flat=True)
    return any(not pools.unmet(need, features) for need in needs for features in offered)
