"""Blobs: bytes in storage and their rows, which change together under the lock of the row.

The row of a digest is its lock, on PostgreSQL and on SQLite, for every process and machine of the
hub: an upload writes the row first, the collector locks it first, and both move the
bytes before they commit. A process that is killed in between leaves bytes without a row, which the
collector frees, or a row whose bytes lie in the trash, from which they are restored.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice

import structlog
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from hub.protocol import digests, problems
from registry.models import Blob, BlobCheck, Upload
from registry.storage.byte_store import Staged
from registry.storage.files import store

log = structlog.get_logger(__name__)

GRACE = timedelta(days=1)
# Names of stored bytes that are compared with rows at once.
BATCH = 10_000


def write(content: bytes) -> Blob:
    """Store ``content`` as a blob that nothing names yet; raises StorageFull."""
    return copy(io.BytesIO(content))


def copy(reader: digests.Reader) -> Blob:
    """Store what ``reader`` gives as a blob that nothing names yet; raises StorageFull."""
    staged = store().stage(reader)
    return keep(staged.name, staged.sha256, staged.size)


def keep(name: str, sha256: str, size: int) -> Blob:
    """Make the staged file ``name``, already synced and hashed, a blob with its row.

    Inside a transaction of the caller the digest stays locked until that ends.
    """
    store().prepare(name, sha256)
    return commit(name, sha256, size)


def commit(name: str, sha256: str, size: int) -> Blob:
    """As ``keep``, of what the store has prepared, which may take minutes for large files."""
    return commit_all([Staged(name, sha256, size)])[sha256]


@transaction.atomic
def commit_all(staged: Collection[Staged]) -> dict[str, Blob]:
    """Make prepared files blobs, by digest; none of them twice."""
    rows = _lock({file.sha256: file.size for file in staged})
    store().commit_all(staged)
    for check in BlobCheck.objects.filter(blob__in=rows).exclude(problem=""):
        check.delete()  # what was unsound has been replaced
        log.info("blob_replaced", sha256=check.blob_id, problem=check.problem)
    return rows


def adopt(sha256: str, size: int) -> Blob | None:
    """The row of bytes that a crash left in storage without one; None where they are not there."""
    if not store().find(sha256):
        return None
    with transaction.atomic():
        blob = _lock({sha256: size})[sha256]
        if store().find(sha256):
            return blob
        transaction.set_rollback(True)  # freed before the lock was ours
    return None


def hold(sha256s: Collection[str]) -> dict[str, Blob]:
    """The blobs that this transaction is about to name, by digest: the collector leaves them be.

    Their rows stay locked until it ends. Raises BlobUnknown where one of them was freed meanwhile.
    """
    rows = Blob.objects.select_for_update().filter(pk__in=sha256s, erased_at=None)
    there = {blob.pk: blob for blob in rows.order_by("pk")}
    if missing := set(sha256s).difference(there):
        raise problems.BlobUnknown(
            f"The hub no longer stores sha256:{min(missing)}. Upload the file again."
        )
    return there


def empty_trash() -> None:
    """Remove what was freed; restores what a killed process left there before it committed."""
    for name, sha256 in store().trashed():
        if not _restore(name, sha256):
            store().purge(name)


def free_orphans(prefixes: Iterable[str]) -> int:
    """Free bytes without a row, a day after they came, below these two hex digits; how many.

    An empty prefix is all: one listing, where each prefix by itself costs a bucket at least one.
    """
    freed = 0
    for prefix in prefixes:
        names = iter(store().names(prefix))
        while stored := list(islice(names, BATCH)):
            rows = Blob.objects.filter(pk__gte=stored[0], pk__lte=stored[-1], erased_at=None)
            orphans = set(stored).difference(rows.values_list("pk", flat=True).iterator())
            for sha256 in sorted(orphans):
                if _free_orphan(sha256):
                    freed += 1
                    log.info("orphan_freed", sha256=sha256)
    empty_trash()
    return freed


def awaited(sha256: object) -> QuerySet[Upload]:
    """Uploads whose bytes came whole, and which a crash kept from naming their blob."""
    return Upload.objects.filter(
        claimed_sha256=sha256, state=Upload.State.RECEIVING, offset=F("length")
    )


def _lock(sizes: Mapping[str, int]) -> dict[str, Blob]:
    """The rows of digests, locked until the transaction ends: new ones, or those that are there.

    One statement, as the collector may delete a row between two; in the order of ``hold``.
    """
    now = timezone.now()
    Blob.objects.bulk_create(
        [
            Blob(sha256=sha256, size=size, touched_at=now, erased_at=None)
            for sha256, size in sorted(sizes.items())
        ],
        update_conflicts=True,
        unique_fields=["sha256"],
        update_fields=["touched_at", "erased_at"],
    )
    return Blob.objects.in_bulk(list(sizes))


@transaction.atomic
def _restore(name: str, sha256: str) -> bool:
    """Undo what a transaction that never committed took away; waits for one that is under way."""
    with _locked(sha256) as row:
        restored = row.erased_at is None and store().restore(name, sha256)
        if row.erased_at is not None:
            store().erase(sha256)
    if restored:
        log.warning("blob_restored", sha256=sha256)
    return restored


@transaction.atomic
def _free_orphan(sha256: str) -> bool:
    """Free bytes without a row."""
    old = timezone.now() - GRACE
    with _locked(sha256) as row:
        stat = store().find(sha256)
        freed = (
            row.erased_at is not None
            and stat is not None
            and stat.written_at < old.timestamp()
            and not awaited(sha256).exists()
        )
        if freed:
            store().trash(sha256)
    return freed


@contextmanager
def _locked(sha256: str) -> Iterator[Blob]:
    """The row of a digest, locked; without one, a row of this transaction's own meanwhile."""
    row, is_ours = Blob.objects.select_for_update().get_or_create(
        pk=sha256, defaults={"size": 0, "erased_at": timezone.now()}
    )
    yield row
    if is_ours:
        row.delete()
