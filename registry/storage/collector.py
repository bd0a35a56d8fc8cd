"""Freeing storage: bytes that nothing needs any more.

A blob is needed while a file of a version that is not withdrawn, of a model that is not deleted, a
commit to such a version, a training, or an upload names it. Bytes without any file go with their
row; where a withdrawn page still names them, the row stays and says that the bytes are gone.
While a backup runs, nothing with a row is freed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from registry.models import Blob, CommitFile, File, Upload, Version, XetStore
from registry.storage import chunks, holders
from registry.storage.backups import hold
from registry.storage.files import store
from registry.storage.services import blobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from django.db.models import QuerySet

log = structlog.get_logger(__name__)

IDLE = timedelta(days=7)


def unneeded() -> QuerySet[Blob]:
    """Blobs that nothing needs and that were not touched for a day."""
    files = File.objects.filter(blob=OuterRef("pk"), version__model__deleted_at=None).exclude(
        version__state=Version.State.WITHDRAWN
    )
    commits = CommitFile.objects.filter(
        blob=OuterRef("pk"), commit__model__deleted_at=None
    ).exclude(commit__version__state=Version.State.WITHDRAWN)
    uploads = Upload.objects.filter(blob=OuterRef("pk")).exclude(state=Upload.State.ABANDONED)
    elsewhere = (~Exists(rows) for rows in holders.rows(OuterRef("pk")))
    return Blob.objects.filter(
        ~Exists(files),
        ~Exists(commits),
        ~Exists(uploads),
        ~Exists(blobs.awaited(OuterRef("pk"))),
        *elsewhere,
        erased_at=None,
        touched_at__lt=timezone.now() - blobs.GRACE,
    )


def collect(
    tell: Callable[[], None] = lambda: None, *, freed: Callable[[int], None] = lambda _: None
) -> int:
    """Free the bytes of unneeded blobs; returns how many.

    ``tell`` is called before each, and ``freed`` with the size of each that went.
    """
    count = 0
    try:
        for sha256, size in list(unneeded().values_list("pk", "size")):
            tell()
            if _free(sha256):
                count += 1
                freed(size)
                log.info("blob_freed", sha256=sha256, bytes=size)
    finally:
        blobs.empty_trash()
    return count


def collect_orphans(prefixes: Iterable[str] = ()) -> int:
    """Free bytes without a row, whose digests begin so; without prefixes this hour's share.

    Every share has its turn within a day. Returns how many.
    """
    hour = int(timezone.now().timestamp()) // 3600
    share = [f"{number:02x}" for number in range(256) if number % 24 == hour % 24]
    return blobs.free_orphans(prefixes or share)


@transaction.atomic
def _free(sha256: str) -> bool:
    """Free a blob unless something needs it after all, which is looked at once its row is ours."""
    if not hold.may_free():
        return False
    blob = Blob.objects.select_for_update().filter(pk=sha256).first()
    if blob is None or not unneeded().filter(pk=sha256).exists() or not _forget_chunks(blob):
        return False
    Upload.objects.filter(blob=blob, state=Upload.State.ABANDONED).delete()
    if File.objects.filter(blob=blob).exists() or blob.commit_files.exists():
        Blob.objects.filter(pk=sha256).update(erased_at=timezone.now())
    else:
        blob.delete()
    store().trash(sha256)
    return True


def collect_chunks() -> int:
    """End the epochs of unused chunk stores that hold something back; returns how many.

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
    if any(row.used_at > timezone.now() - blobs.GRACE for row in stores):
        return False
    for row in stores:
        chunks.end_epoch(row)
    return True
