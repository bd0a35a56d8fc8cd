"""Freeing storage: bytes that nothing needs any more, and a look at whether the rest is sound.

A blob is needed while a file of a version that is not withdrawn, of a model that is not deleted, a
commit to such a version, a training, or a finished upload names it. Bytes without any file go with
their row;
where a withdrawn page still names them, the row stays and says that the bytes are gone.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from hub.protocol import digests
from registry import chunks
from registry.blobs import store
from registry.federated import kept
from registry.models import Blob, CommitFile, File, Upload, Version, XetStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.db.models import QuerySet

log = structlog.get_logger(__name__)

GRACE = timedelta(days=1)
IDLE = timedelta(days=7)


def unneeded() -> QuerySet[Blob]:
    """Blobs that nothing needs and nobody touched for a day."""
    files = File.objects.filter(blob=OuterRef("pk"), version__model__deleted_at=None).exclude(
        version__state=Version.State.WITHDRAWN
    )
    commits = CommitFile.objects.filter(
        blob=OuterRef("pk"), commit__model__deleted_at=None
    ).exclude(commit__version__state=Version.State.WITHDRAWN)
    uploads = Upload.objects.filter(blob=OuterRef("pk"))
    trained = (~Exists(rows) for rows in kept.of_trainings(OuterRef("pk")))
    return Blob.objects.filter(
        ~Exists(files),
        ~Exists(commits),
        ~Exists(uploads),
        *trained,
        erased_at=None,
        touched_at__lt=timezone.now() - GRACE,
    )


def collect(tell: Callable[[], None] = lambda: None) -> int:
    """Free the bytes of unneeded blobs; returns how many. Row first, bytes after the commit.

    ``tell`` is called before each.
    """
    freed = 0
    for sha256 in list(unneeded().values_list("pk", flat=True)):
        tell()
        with transaction.atomic():
            blob = unneeded().select_for_update(of=("self",)).filter(pk=sha256).first()
            if blob is None or not _forget_chunks(blob):
                continue
            if File.objects.filter(blob=blob).exists() or blob.commit_files.exists():
                Blob.objects.filter(pk=sha256).update(erased_at=timezone.now())
            else:
                blob.delete()
            transaction.on_commit(partial(store().delete, sha256))
        freed += 1
        log.info("blob_freed", sha256=sha256)
    return freed


def collect_chunks() -> int:
    """End the epochs of chunk stores that nobody uses and that keep something back; how many.

    That is: those of deleted models, and those with chunks that were sent and never made a file.
    """
    ended = 0
    deleted = XetStore.objects.exclude(model__deleted_at=None).filter(xorbs__isnull=False)
    idle = XetStore.objects.filter(xorbs__is_kept=True, used_at__lt=timezone.now() - IDLE)
    for store_ in (deleted | idle).distinct():
        chunks.end_epoch(store_)
        ended += 1
    return ended


def _forget_chunks(blob: Blob) -> bool:
    """End the epochs of chunk stores that count on a blob; False while one of them is in use."""
    stores = list(XetStore.objects.filter(xorbs__parts__blob=blob).distinct())
    if any(found.used_at > timezone.now() - GRACE for found in stores):
        return False
    for found in stores:
        chunks.end_epoch(found)
    return True


def verify(tell: Callable[[int], None] = lambda _: None) -> Iterator[tuple[str, str]]:
    """Read every blob again and yield ``(sha256, what is wrong)`` for each that is not sound.

    ``tell`` is given the bytes of each that was read.
    """
    for blob in Blob.objects.filter(erased_at=None).iterator():
        path = store().path(blob.sha256)
        try:
            if path.stat().st_size != blob.size:
                yield blob.sha256, "has another size than its row says"
            elif digests.hash_file(path) != blob.sha256:
                yield blob.sha256, "has changed on disk"
        except FileNotFoundError:
            yield blob.sha256, "is missing from storage"
        tell(blob.size)
    for sha256 in store():
        if not Blob.objects.filter(pk=sha256, erased_at=None).exists():
            yield sha256, "lies in storage without a row (an orphan)"
