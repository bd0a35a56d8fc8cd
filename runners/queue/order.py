"""The order in which queued jobs are claimed.

A job is due ``STEP`` after it was queued for each step of its priority, so first evidence precedes
deep evidence, but no job waits forever. Namespaces take turns: a namespace's jobs are delayed by
the worker time that it used in the last ``WINDOW``. Urgent jobs, for which a user is waiting,
precede all others and take turns among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Min, Q, QuerySet
from django.utils import timezone

from runners import pools
from runners.models import Attempt, Job, Worker

# Priorities of scheduled evidence: the first that each version gets, and further evidence.
FIRST, DEEP = 4, 6
STEP = timedelta(minutes=10)
# First benchmarks, which need an idle host, are due this much later than first proofs, and may
# continue this much before their turn. So one idle period serves many benchmarks.
BATCH = timedelta(minutes=3)
WINDOW = timedelta(minutes=15)
WORKER_LOST = timedelta(seconds=90)
_NAMESPACE = "version__model__namespace"


def due_at(priority: int, queued_at: datetime, *, alone: bool = False) -> datetime:
    """When a job of this priority is due; ``alone`` tells whether it needs its host exclusively."""
    due = queued_at + priority * STEP
    return due + BATCH if alone and priority >= FIRST else due


def turns(rows: QuerySet[Job], now: datetime) -> Iterator[QuerySet[Job]]:
    """The queued jobs of each namespace, in order of the namespaces' turns."""
    for part in (rows.filter(priority=Job.URGENT), rows.exclude(priority=Job.URGENT)):
        earliest = dict(
            part.values_list(_NAMESPACE)
            .annotate(due=Min("due_at"))
            .order_by()
            .values_list(_NAMESPACE, "due")
        )
        used = _used(now) if len(earliest) > 1 else {}
        for key in sorted(
            earliest, key=lambda key: (earliest[key] + used.get(key, timedelta()), key or 0)
        ):
            own = part.filter(version=None) if key is None else part.filter(**{_NAMESPACE: key})
            yield own.order_by("due_at", "queued_at", "pk")


def ahead_of(waiting: Job) -> QuerySet[Job]:
    """Queued jobs of the same queue that are due earlier.

    Turns of namespaces are not considered.
    """
    rows = Job.objects.filter(
        state=Job.State.QUEUED, queue__in=pools.queues_of([waiting.queue])
    ).exclude(pk=waiting.pk)
    earlier = Q(due_at__lt=waiting.due_at) | Q(
        due_at=waiting.due_at, queued_at__lt=waiting.queued_at
    )
    if waiting.priority == Job.URGENT:
        return rows.filter(earlier, priority=Job.URGENT)
    return rows.filter(earlier | Q(priority=Job.URGENT))


def expected_wait(waiting: Job) -> timedelta | None:
    """Estimated time until the jobs ahead have run; None if it is unknown.

    Each kind counts with the mean duration of its successful attempts of the last day.
    """
    kinds = dict(ahead_of(waiting).values_list("kind").annotate(n=Count("pk")).order_by())
    slots = sum(
        worker.slots
        for worker in Worker.objects.filter(seen_at__gt=timezone.now() - WORKER_LOST)
        if waiting.queue in worker.queues
    )
    took = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    means = dict(
        Attempt.objects.filter(
            job__kind__in=kinds,
            outcome=Attempt.Outcome.SUCCEEDED,
            ended_at__gt=timezone.now() - timedelta(days=1),
        )
        .values_list("job__kind")
        .annotate(mean=Avg(took))
        .order_by()
    )
    if not slots or kinds.keys() - means.keys():
        return None
    total: timedelta = sum((n * means[kind] for kind, n in kinds.items()), timedelta())
    return total / slots


def _used(now: datetime) -> dict[Any, timedelta]:
    """The worker time that each namespace used in the last ``WINDOW``."""
    began = now - WINDOW
    rows = Attempt.objects.filter(Q(ended_at=None) | Q(ended_at__gt=began)).values_list(
        f"job__{_NAMESPACE}", "started_at", "ended_at"
    )
    used: dict[Any, timedelta] = {}
    for namespace, start, end in rows:
        spent = (end or now) - max(start, began)
        used[namespace] = used.get(namespace, timedelta()) + max(spent, timedelta())
    return used
