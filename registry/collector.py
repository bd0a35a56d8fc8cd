"""Freeing storage: bytes that nothing needs any more, and a look at whether the rest is sound.

A blob is needed while a file of a version that is not withdrawn, of a model that is not deleted, or
a finished upload names it. Bytes without any file go with their row; where a withdrawn page still
names them, the row stays and says that the bytes are gone.
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
from registry.blobs import store
from registry.models import Blob, File, Upload, Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

log = structlog.get_logger(__name__)

GRACE = timedelta(days=1)


def unneeded() -> QuerySet[Blob]:
    """Blobs that nothing needs and nobody touched for a day."""
    files = File.objects.filter(blob=OuterRef("pk"), version__model__deleted_at=None).exclude(
        version__state=Version.State.WITHDRAWN
    )
    uploads = Upload.objects.filter(blob=OuterRef("pk"))
    return Blob.objects.filter(
        ~Exists(files),
        ~Exists(uploads),
        erased_at=None,
        touched_at__lt=timezone.now() - GRACE,
    )


def collect() -> int:
    """Free the bytes of unneeded blobs; returns how many. Row first, bytes after the commit."""
    freed = 0
    for sha256 in list(unneeded().values_list("pk", flat=True)):
        with transaction.atomic():
            blob = unneeded().select_for_update(of=("self",)).filter(pk=sha256).first()
            if blob is None:
                continue
            if File.objects.filter(blob=blob).exists():
                Blob.objects.filter(pk=sha256).update(erased_at=timezone.now())
            else:
                blob.delete()
            transaction.on_commit(partial(store().delete, sha256))
        freed += 1
        log.info("blob_freed", sha256=sha256)
    return freed


def verify() -> Iterator[tuple[str, str]]:
    """Read every blob again and yield ``(sha256, what is wrong)`` for each that is not sound."""
    for blob in Blob.objects.filter(erased_at=None).iterator():
        path = store().path(blob.sha256)
        try:
            if path.stat().st_size != blob.size:
                yield blob.sha256, "has another size than its row says"
            elif digests.hash_file(path) != blob.sha256:
                yield blob.sha256, "has changed on disk"
        except FileNotFoundError:
            yield blob.sha256, "is missing from storage"
    for sha256 in store():
        if not Blob.objects.filter(pk=sha256, erased_at=None).exists():
            yield sha256, "lies in storage without a row (an orphan)"
