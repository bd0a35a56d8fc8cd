"""Freeing storage: bytes that nothing needs any more.

A blob is needed while a file of a version that is not withdrawn, of a model that is not deleted or
can be restored, a commit to such a version, a training, or an upload names it. Bytes without any
file go with their row; where a withdrawn page still names them, the row stays and says that the
bytes are gone. What else needs bytes, or holds them for a while, says so in the port ``holders``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError, QuerySet
from django.utils import timezone

from registry.models import Blob, CommitFile, File, Upload, Version
from registry.models.registered_models import has_files
from registry.storage import holders
from registry.storage.files import store
from registry.storage.services import blobs

log = structlog.get_logger(__name__)


def unneeded() -> QuerySet[Blob]:
    """Blobs that nothing needs and that were not touched for a day."""
    files = File.objects.filter(has_files("version__model__"), blob=OuterRef("pk")).exclude(
        version__state=Version.State.WITHDRAWN
    )
    commits = CommitFile.objects.filter(has_files("commit__model__"), blob=OuterRef("pk")).exclude(
        commit__version__state=Version.State.WITHDRAWN
    )
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

    An empty prefix is all. Every share has its turn within a day. Returns how many.
    """
    hour = int(timezone.now().timestamp()) // 3600
    share = [f"{number:02x}" for number in range(256) if number % 24 == hour % 24]
    return blobs.free_orphans(prefixes or share)


@transaction.atomic
def _free(sha256: str) -> bool:
    """Free a blob unless something needs it after all, which is looked at once its row is ours."""
    if not holders.may_free():
        return False
    blob = Blob.objects.select_for_update().filter(pk=sha256).first()
    if blob is None or not unneeded().filter(pk=sha256).exists() or not holders.release(blob):
        return False
    Upload.objects.filter(blob=blob, state=Upload.State.ABANDONED).delete()
    if File.objects.filter(blob=blob).exists() or blob.commit_files.exists():
        Blob.objects.filter(pk=sha256).update(erased_at=timezone.now())
    else:
        try:
            blob.delete()
        except ProtectedError:  # a row of a capability that the hub no longer offers names it
            return False
    store().trash(sha256)
    return True
