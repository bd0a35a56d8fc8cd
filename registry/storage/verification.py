"""Whether the bytes in storage are still those that their digests name.

Every blob is read again within ``HUB_VERIFY_DAYS``, a slice each hour, the one that waits longest
first. What is wrong is remembered until it reads well again or its bytes are uploaded again.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from hub.protocol import problems
from registry.models import Blob, BlobCheck
from registry.models.blobs import BlobProblem
from registry.storage.byte_store import Stat
from registry.storage.files import store

log = structlog.get_logger(__name__)

SLICE_SECONDS = 3600.0
# How soon an unsound blob is read again, and one whose reader was killed.
AGAIN = timedelta(hours=1)
ENROLLED_AT_ONCE = 10_000
READ_BYTES = 2**20


def verify(tell: Callable[[int], None] = lambda _: None) -> Iterator[tuple[str, str]]:
    """Read every blob again and yield ``(sha256, what is wrong)`` for each that is not sound.

    What is found is remembered. ``tell`` is given the bytes of each that was read.
    """
    for blob in Blob.objects.filter(erased_at=None).iterator():
        if problem := _verify(blob):
            yield blob.sha256, str(problem.label)
        tell(blob.size)
    for name in store().names():
        if not Blob.objects.filter(pk=name, erased_at=None).exists():
            yield name, "lies in storage without a row (an orphan)"


def verify_slice() -> int:
    """Read an hour's share of storage again, and one blob at least; returns how many bytes.

    Several workers may do so at once: each takes other blobs.
    """
    if not settings.HUB_VERIFY_DAYS:
        return 0
    _enrol()
    total = Blob.objects.filter(erased_at=None).aggregate(sum=Sum("size"))["sum"] or 0
    share = total * SLICE_SECONDS / timedelta(days=settings.HUB_VERIFY_DAYS).total_seconds()
    most, read = min(share, settings.HUB_VERIFY_BYTES), 0
    while (blob := _take()) is not None:
        _verify(blob)
        read += blob.size
        if read >= most:
            break
    return read


def unsound() -> QuerySet[BlobCheck]:
    """What was wrong with blobs when they were last read, the newest first."""
    rows = BlobCheck.objects.filter(blob__erased_at=None).exclude(problem="")
    return rows.order_by("-checked_at", "pk")


def _enrol() -> None:
    """Have blobs that came since be read: at once, since no disk has been asked for them yet."""
    new = Blob.objects.filter(check_state=None, erased_at=None).values_list("pk", flat=True)
    BlobCheck.objects.bulk_create(
        [BlobCheck(blob_id=pk, due_at=timezone.now()) for pk in new[:ENROLLED_AT_ONCE]],
        ignore_conflicts=True,
        batch_size=500,
    )


@transaction.atomic
def _take() -> Blob | None:
    """The blob that has waited longest, for this process alone; None where none is due.

    A reader that is killed has taken it for an hour only.
    """
    now = timezone.now()
    due = BlobCheck.objects.filter(due_at__lte=now, blob__erased_at=None)
    row = due.select_for_update(skip_locked=True, of=("self",)).order_by("due_at", "pk").first()
    if row is None:
        return None
    row.due_at = now + AGAIN
    row.save(update_fields=["due_at"])
    return Blob.objects.get(pk=row.pk)


def _verify(blob: Blob) -> BlobProblem:
    """Read a blob and remember what is wrong with it; NONE too where it was freed meanwhile."""
    stat = None
    try:
        stat = store().find(blob.sha256)
        with store().open(blob.sha256) as reader:
            problem = _problem_of(reader, blob)
    except problems.Unavailable:
        problem, stat = BlobProblem.MISSING, None
    except OSError:
        problem = BlobProblem.UNREADABLE
    return _remember(blob, problem, stat)


def _problem_of(reader: io.BufferedReader, blob: Blob) -> BlobProblem:
    """Read a blob to its end, without leaving it in the cache that downloads are served from."""
    hasher, size = sha256(), 0
    while piece := reader.read(READ_BYTES):
        hasher.update(piece)
        with suppress(io.UnsupportedOperation):  # no file of this machine
            os.posix_fadvise(reader.fileno(), size, len(piece), os.POSIX_FADV_DONTNEED)
        size += len(piece)
    if size != blob.size:
        return BlobProblem.SIZE
    return BlobProblem.NONE if hasher.hexdigest() == blob.sha256 else BlobProblem.DIGEST


@transaction.atomic
def _remember(blob: Blob, problem: BlobProblem, stat: Stat | None) -> BlobProblem:
    """Write how a blob was, under its lock, unless it was freed or replaced since it was read."""
    row = Blob.objects.select_for_update().filter(pk=blob.pk, erased_at=None).first()
    if row is None:
        return BlobProblem.NONE
    is_certain = problem in (BlobProblem.NONE, BlobProblem.UNREADABLE)
    if not is_certain and store().find(blob.sha256) != stat:
        return BlobProblem.NONE
    now = timezone.now()
    wait = AGAIN if problem else timedelta(days=settings.HUB_VERIFY_DAYS)
    BlobCheck.objects.update_or_create(
        blob=row, defaults={"problem": problem, "checked_at": now, "due_at": now + wait}
    )
    if problem:
        log.error("blob_unsound", sha256=blob.sha256, problem=str(problem))
    return problem
