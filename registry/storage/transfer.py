"""Copying storage to another store: into a bucket, or back to a folder.

What the other store has is skipped, so a copy that was interrupted goes on where it ended, and one
that is repeated copies what came since. Nothing is removed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from registry.models import Blob
from registry.storage import holders
from registry.storage.blob_store import BlobStore
from registry.storage.files import store


def copy_to(target: BlobStore, tell: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """Copy blobs and what holders keep; yield ``(name, problem)`` for each that cannot be copied.

    Each blob is hashed on its way, and appears whole. ``tell`` is given the bytes of each blob.
    Raises Unavailable where one of the stores does not respond, StorageFull.
    """
    for blob in Blob.objects.filter(erased_at=None).order_by("pk").iterator():
        stat = target.find(blob.pk)
        is_there = stat is not None and stat.size == blob.size
        problem = "" if is_there else copy_blob(blob.pk, store(), target)
        if problem and Blob.objects.filter(pk=blob.pk, erased_at=None).exists():
            yield f"sha256:{blob.pk}", problem  # else it was freed meanwhile
        tell(blob.size)
    for key, size in holders.objects().items():
        with suppress(FileNotFoundError):
            if target.stat(key).size == size:
                continue
        try:
            with store().get(key) as reader:
                target.put(key, reader)
        except FileNotFoundError:
            if key in holders.objects():
                yield key, "is missing"


def copy_blob(sha256: str, source: BlobStore, target: BlobStore) -> str:
    """Copy a blob, hashed on its way; returns what is wrong with it, or nothing.

    Raises Unavailable where one of the stores does not respond, StorageFull.
    """
    if not source.find(sha256):
        return "is missing"
    with source.open(sha256) as reader:
        staged = target.stage(reader)
    if staged.sha256 != sha256:
        target.discard(staged.name)
        return "has other bytes than its digest names"
    target.keep(staged)
    return ""
