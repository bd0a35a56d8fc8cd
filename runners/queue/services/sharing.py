"""Ending queued jobs with an existing result of the same work."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from hub.protocol import problems
from registry.core import events
from registry.models import Blob, File, Version
from registry.storage.services import blobs
from registry.versions import lifecycle
from runners.models import Job
from runners.queue import content
from runners.queue.content import JobEnvironment

# Number of jobs that are ended in the transaction that ends another one.
_AT_ONCE = 50


@transaction.atomic
def answer(job: Job, environments: Iterable[JobEnvironment] | None = None) -> bool:
    """End a queued job with the result of another one; False if there is no such result.

    ``environments`` are those in which the job would run (default: those of all live workers).
    Files that the report names are kept in storage until their rows are written.
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
    """End queued jobs with the result of an ended one; returns their number.

    At most `_AT_ONCE` are ended; workers end the others when they claim them.
    """
    if not ended.content_key:
        return 0
    same = Job.objects.filter(
        state=Job.State.QUEUED, content_key=ended.content_key, again=False
    ).select_related("version__model__namespace")
    return sum(answer(job) for job in same[:_AT_ONCE])


@transaction.atomic
def files_of(job: Job) -> dict[str, str]:
    """Digests of the files of a job's version by path, read at one moment.

    If they differ from those of the content key, the result is not shared with other jobs: a
    version taken back to draft must not have other bytes tested under the old key.
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
    """Queued jobs without those for which a running job will have the result."""
    running = Job.objects.filter(state=Job.State.RUNNING).exclude(content_key="")
    keys = list(running.values_list("content_key", flat=True))
    if not keys:
        return rows
    same = running.filter(content_key=OuterRef("content_key"))
    has_twin = Exists(same.shared_with(OuterRef("version__model__namespace")))
    return rows.exclude(Q(content_key__in=keys, again=False) & has_twin)


def public_twin(waiting: Job) -> Job | None:
    """The running job whose result a queued one waits for, if its version is public."""
    if not waiting.content_key or waiting.again:
        return None
    running = Job.objects.filter(state=Job.State.RUNNING, content_key=waiting.content_key)
    public = running.filter(version__in=Version.objects.open_to_anyone())
    return public.select_related("version__model__namespace").first()
