"""Copying storage to another store: into a bucket, or back to a folder.

What the other store has is skipped, so a copy that was interrupted goes on where it ended, and one
that is repeated copies what came since. Nothing is removed here.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from registry.models import Blob, Xorb
from registry.storage.files import store
from registry.storage.interface import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from registry.storage.interface import BlobStore


def copy_to(target: BlobStore, tell: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    """Copy every blob and waiting xorb; yield ``(name, problem)`` for each that cannot be copied.

    Each blob is hashed on its way, and appears whole. ``tell`` is given the bytes of each blob.
    Raises Unavailable where one of the stores does not respond, StorageFull.
    """
    for blob in Blob.objects.filter(erased_at=None).order_by("pk").iterator():
        if not _has(target, blob) and (problem := copy_blob(blob.pk, store(), target)):
            is_there = Blob.objects.filter(pk=blob.pk, erased_at=None).exists()
            if is_there:  # else it was freed meanwhile
                yield f"sha256:{blob.pk}", problem
        tell(blob.size)
    for xorb in Xorb.objects.filter(is_kept=True).select_related("store").iterator():
        if problem := _copy_xorb(xorb, target):
            yield f"xorb {xorb.name}", problem


def _has(target: BlobStore, blob: Blob) -> bool:
    if not target.holds(blob.pk):
        return False
    with target.open(blob.pk) as reader:
        return size_of(reader) == blob.size


def copy_blob(sha256: str, source: BlobStore, target: BlobStore) -> str:
    """Copy a blob, hashed on its way; returns what is wrong with it, or nothing.

    Raises Unavailable where one of the stores does not respond, StorageFull.
    """
    if not source.holds(sha256):
        return "is missing"
    with source.open(sha256) as reader:
        staged = target.stage(reader)
    if staged.sha256 != sha256:
        target.discard(staged.name)
        return "has other bytes than its digest names"
    target.prepare(staged.name, staged.sha256)
    target.commit(staged.name, staged.sha256)
    return ""


def _copy_xorb(xorb: Xorb, target: BlobStore) -> str:
    folder = str(xorb.store)
    try:
        with target.open_xorb(folder, xorb.name) as reader:
            if size_of(reader) == xorb.size:
                return ""
    except FileNotFoundError:
        pass
    name = f"xorb-{xorb.name}"
    try:
        with store().open_xorb(folder, xorb.name) as source:
            with target.scratch(name).open("wb") as file:
                shutil.copyfileobj(source, file)
            target.keep_xorb(target.scratch(name), folder, xorb.name)
    except FileNotFoundError:
        return "is missing" if Xorb.objects.filter(pk=xorb.pk, is_kept=True).exists() else ""
    finally:
        target.discard(name)
    return ""
