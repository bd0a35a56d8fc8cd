"""Adding jobs to the queue, and cancelling them."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.db.models.functions import Least
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.core.permissions import Actor, require, require_user
from registry.models import File, User, Version
from runners import pools
from runners.models import Bar, Job
from runners.queue import content, notifications, order
from runners.queue.services import budgets, sharing


def key_of(
    kind: str, subject: str, job_input: dict[str, Any], requires: dict[str, Any] | None = None
) -> str:
    """Key that is equal for equal work: a digest of kind, bytes, input, requirements and engine."""
    parts = [content.ENGINE, kind, subject, job_input, *([requires] if requires else [])]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@transaction.atomic
def enqueue(
    *,
    kind: str,
    version: Version | None,
    entry: str = "",
    job_input: dict[str, Any] | None = None,
    pool: str = Job.Pool.CPU,
    priority: int = 3,
    requires: dict[str, Any] | None = None,
    exclusive: str = Job.Exclusive.NONE,
    max_attempts: int = 3,
    not_before: datetime | None = None,
    once: bool = False,
    again: bool = False,
    requester: User | None = None,
) -> Job:
    """Queue a job and notify the workers; returns the live job if the same work is queued already.

    ``requires`` may name a runtime, a provider, memory_bytes and a host; only a worker that offers
    them takes the job. With ``once``, the job of work that has a verdict is returned instead. A job
    on a quarantined file fails at once. A job whose result can be shared (`content`) ends with that
    result at once, except with ``again``, or if the version has a verdict of the same work. What a
    ``requester`` asked for counts in their budget. Raises UnknownNeedError, and Throttled beyond
    the budget.
    """
    job_input, requires = job_input or {}, pools.check_needs(requires or {})
    manifest = version.manifest_sha256 if version else ""
    key = key_of(kind, f"{manifest}:{entry}", job_input, requires)
    same = Job.objects.filter(version=version, key=key)
    done = same.with_verdict().order_by("-queued_at").first()
    if once and done is not None:
        return done
    if requester is not None and not same.filter(state__in=Job.LIVE).exists():
        budgets.expect(requester)
    job = Job(
        requester=requester,
        kind=kind,
        version=version,
        entry=entry,
        subject=_subject_of(version, entry),
        input=job_input | ({"manifest_sha256": manifest} if version else {}),
        pool=pool,
        queue=pools.queue_of(pool, requires, urgent=priority == Job.URGENT),
        priority=priority,
        requires=requires,
        exclusive=exclusive,
        max_attempts=max_attempts,
        key=key,
        again=again or done is not None,
    )
    job.content_key = content.key_of(job)
    alone = exclusive == Job.Exclusive.HOST
    job.due_at = order.due_at(priority, job.queued_at, alone=alone)
    if not_before is not None:
        job.not_before = not_before
    bar = Bar.objects.standing_on(job).first()
    if bar is not None:
        return _barred(job, bar)
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError:
        live = same.filter(state__in=Job.LIVE).first()
        if live is None:
            raise
        _raise(live, job)
        return live
    if not sharing.answer(job):
        transaction.on_commit(lambda: notifications.notify(job))
    return job


@transaction.atomic
def cancel(actor: Actor, *, job: Job) -> Job:
    """Cancel a job: at once if it is queued, at the next renewal of its lease if it runs."""
    if job.version is None:
        if not require_user(actor, "admin").is_admin:
            raise problems.NotAllowed("This job belongs to the hub itself; ask an administrator.")
    else:
        require(actor, "job.cancel", job.version.model)
    waiting = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED).update(
        state=Job.State.CANCELLED, finished_at=timezone.now(), phase="cancelled"
    )
    if waiting:
        model = job.version.model if job.version else None
        events.record("job.finished", job, actor=actor, model=model)
    elif not Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(cancel_requested=True):
        raise problems.StateConflict(f"This job is {job.state} already; nothing is left to cancel.")
    job.refresh_from_db()
    return job


def _raise(live: Job, job: Job) -> None:
    """Raise the priority of a queued job to that of a new request for the same work."""
    if job.again:
        Job.objects.filter(pk=live.pk, state=Job.State.QUEUED).update(again=True)
    raised = Job.objects.filter(
        pk=live.pk, state=Job.State.QUEUED, priority__gt=job.priority
    ).update(
        priority=job.priority,
        queue=job.queue,
        due_at=Least(F("due_at"), Value(job.due_at)),
        not_before=Least(F("not_before"), Value(job.not_before)),
    )
    if raised:
        live.refresh_from_db()
        transaction.on_commit(lambda: notifications.notify(live))


def _subject_of(version: Version | None, entry: str) -> str:
    if version is None or not entry:
        return ""
    digests = File.objects.filter(version=version, path=entry).values_list("blob_id", flat=True)
    return digests.first() or ""


def _barred(job: Job, bar: Bar) -> Job:
    """Write a job that has failed already, so that its requester sees the reason."""
    job.state, job.finished_at, job.phase = Job.State.FAILED, timezone.now(), "barred"
    job.error_class = "poison"
    job.error_detail = (
        f"This file is barred from {job.kind} since {bar.created_at:%Y-%m-%d %H:%M} UTC, because "
        f"it ended the child that worked on it every time. {bar.detail} An administrator can lift "
        f"the bar on the page of the job {bar.job_id or job.pk}."
    )
    job.save(force_insert=True)
    model = job.version.model if job.version else None
    events.record("job.finished", job, actor=None, model=model)
    return job
