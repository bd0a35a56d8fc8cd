"""Ending jobs with a result that is there already, instead of doing the same work once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.models import Blob, File, Version
from registry.storage.services import blobs
from registry.versions import lifecycle
from runners.models import Job
from runners.queue import content

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from runners.queue.content import JobEnvironment

# Jobs that are ended in the transaction of another one's end.
_AT_ONCE = 50


@transaction.atomic
def answer(job: Job, environments: Iterable[JobEnvironment] | None = None) -> bool:
    """End a waiting job with the result of another one; False where none answers it.

    ``benches`` are those on which it would be done, of all live workers unless given. Files that
    the report names stay in storage until its rows are written.
    """
    other = content.answer_to(
        job, content.environments_for(job) if environments is None else environments
    )
    if other is None:
        return False
    files = set(other.typed_report.files.values())
    try:
        blobs.hold(files)
    except problems.BlobUnknown:  # freed in this moment
        return False
    ended = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED, again=False).update(
        state=other.state,
        shared_from=other.shared_from_id or other.pk,
        started_at=other.started_at,
        finished_at=other.finished_at,
        progress=100,
        phase="done",
        error_class=other.error_class,
        error_detail=other.error_detail,
        report=other.report,
    )
    if not ended:
        return False
    Blob.objects.filter(pk__in=files).update(touched_at=timezone.now())
    job.refresh_from_db()
    events.record("job.finished", job, actor=None, model=job.version.model if job.version else None)
    return True


def answer_others(ended: Job) -> int:
    """End waiting jobs that an ended one answers, those that are left once a worker takes them.

    Returns how many it ended.
    """
    if not ended.content_key:
        return 0
    same = Job.objects.filter(
        state=Job.State.QUEUED, content_key=ended.content_key, again=False
    ).select_related("version__model__namespace")
    return sum(answer(job) for job in same[:_AT_ONCE])


@transaction.atomic
def files_of(job: Job) -> dict[str, str]:
    """The SHA-256 of each file of a job's version by path, all of one moment, for a worker to read.

    Where they are no longer those of the content key, the result will answer no other job: who
    takes a version back to draft must not have other bytes tested under the key of these.
    """
    if job.version is None:
        return {}
    if job.content_key:
        job.version = lifecycle.lock(job.version)
        if content.key_of(job) != job.content_key:
            job.content_key = ""
            job.save(update_fields=["content_key"])
    return dict(File.objects.filter(version=job.version).values_list("path", "blob"))


def claimable(rows: QuerySet[Job]) -> QuerySet[Job]:
    """Waiting jobs without those that another one, which runs, is about to answer."""
    running = Job.objects.filter(state=Job.State.RUNNING).exclude(content_key="")
    keys = list(running.values_list("content_key", flat=True))
    if not keys:
        return rows
    same = running.filter(content_key=OuterRef("content_key"))
    has_twin = Exists(same.shared_with(OuterRef("version__model__namespace")))
    return rows.exclude(Q(content_key__in=keys, again=False) & has_twin)


def public_twin(waiting: Job) -> Job | None:
    """The running job that a waiting one waits for, where anyone may know of its version."""
    if not waiting.content_key or waiting.again:
        return None
    running = Job.objects.filter(state=Job.State.RUNNING, content_key=waiting.content_key)
    public = running.filter(version__in=Version.objects.open_to_anyone())
    return public.select_related("version__model__namespace").first()
