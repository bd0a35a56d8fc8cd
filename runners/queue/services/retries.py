"""Queueing jobs again that failed through a fault of the hub, such as a lost machine."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from registry.models import Version
from runners.models import Job
from runners.queue.services.queue import enqueue

# Failures that say nothing about the file, unlike `deterministic` and `poison`.
OWN_FAULTS = ("errored", "lost", "timeout")
# Before publishing, the draft is submitted again; the others belong to one request of one person.
_NOT_AGAIN = frozenset({"describe", "check"}) | Job.PERSONAL | Job.PRIVATE


def failed(since: datetime, kinds: Collection[str] = ()) -> QuerySet[Job]:
    """Jobs on published versions that failed since then through a fault of the hub."""
    rows = Job.objects.filter(
        state=Job.State.FAILED,
        error_class__in=OWN_FAULTS,
        finished_at__gte=since,
        version__state=Version.State.PUBLISHED,
        version__model__deleted_at=None,
    ).exclude(kind__in=_NOT_AGAIN)
    rows = rows.filter(kind__in=kinds) if kinds else rows
    return rows.select_related("version").order_by("finished_at")


def requeue(since: datetime, kinds: Collection[str] = ()) -> list[Job]:
    """Queue failed jobs again, each once; returns the jobs that are queued now.

    Work that has a verdict or is queued already is not queued again.
    """
    queued = {}
    for job in failed(since, kinds):
        again = enqueue(
            kind=job.kind,
            version=job.version,
            entry=job.entry,
            job_input={
                name: value for name, value in job.input.items() if name != "manifest_sha256"
            },
            pool=job.pool,
            priority=job.priority,
            requires=job.requires,
            exclusive=job.exclusive,
            max_attempts=job.max_attempts,
            once=True,
        )
        if again.queued_at > job.queued_at and again.state == Job.State.QUEUED:
            queued[again.pk] = again
    return list(queued.values())
