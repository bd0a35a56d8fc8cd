"""The chunks of large files that a model's own store (Xet) has: reading them, and forgetting them.

A chunk lies in its xorb until a file holds it, and in that file afterwards. A client that learned
once that a store has a chunk never sends it again to the same address, so a store forgets only as a
whole: its epoch ends, and its address is another.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import structlog
from django.db import transaction
from django.db.models import F

from hub.protocol import problems
from registry.models import XetStore, Xorb, XorbPart
from registry.storage.files import store
from registry.storage.xet import xorbs

log = structlog.get_logger(__name__)

READ_BYTES = 2**20


class Lost(problems.Unavailable):
    """Storage has lost chunks that it said it had."""


def key_of(folder: str, name: str) -> str:
    """The key of a xorb in storage, of the chunk store ``folder``."""
    return f"xorbs/{folder}/{name}"


def objects() -> dict[str, int]:
    """The keys of the xorbs whose chunks no files hold yet, each with its size in bytes."""
    rows = Xorb.objects.filter(is_kept=True).select_related("store")
    return {key_of(str(xorb.store), xorb.name): xorb.size for xorb in rows}


def pack_lengths(lengths: Iterable[int]) -> bytes:
    """Chunks' plain lengths as their row keeps them."""
    return b"".join(length.to_bytes(4, "little") for length in lengths)


def lengths_of(xorb: Xorb) -> array[int]:
    """The plain length of each chunk of a xorb, in bytes."""
    lengths = array("I")
    lengths.frombytes(bytes(xorb.lengths))
    return lengths


def read(xorb: Xorb, folder: str, start: int, end: int) -> Iterator[bytes]:
    """The plain bytes of chunks ``start`` up to but not ``end``; raises Lost."""
    try:
        file = store().get(key_of(folder, xorb.name))
    except FileNotFoundError:
        yield from _from_files(xorb, start, end)
        return
    with file:
        try:
            yield from xorbs.read(file, start, end)
        except xorbs.BadXorb as error:
            raise _lost(xorb, str(error)) from error


def is_covered(xorb: Xorb, parts: Iterable[XorbPart]) -> bool:
    """Whether files hold every chunk of a xorb."""
    reached = 0
    for part in sorted(parts, key=lambda part: part.start):
        if part.start > reached:
            return False
        reached = max(reached, part.end)
    return reached >= len(lengths_of(xorb))


@transaction.atomic
def end_epoch(of: XetStore) -> None:
    """Forget every chunk of a store, and give it another address."""
    ended = XetStore.objects.select_for_update().get(pk=of.pk)
    folder = str(ended)
    ended.xorbs.all().delete()
    XetStore.objects.filter(pk=ended.pk).update(epoch=F("epoch") + 1)
    transaction.on_commit(lambda: store().delete(store().keys(key_of(folder, ""))))
    log.info("xet_epoch_ended", store=folder)


def _from_files(xorb: Xorb, start: int, end: int) -> Iterator[bytes]:
    lengths = lengths_of(xorb)
    parts = list(xorb.parts.select_related("blob"))
    while start < end:
        part = next((part for part in parts if part.start <= start < part.end), None)
        if part is None:
            raise _lost(xorb, f"no file contains its chunk {start}")
        stop = min(end, part.end)
        offset = part.offset + sum(lengths[part.start : start])
        yield from _slice(part.blob_id, offset, sum(lengths[start:stop]))
        start = stop


def _slice(sha256: str, offset: int, length: int) -> Iterator[bytes]:
    with store().open(sha256) as file:
        file.seek(offset)
        while length:
            piece = file.read(min(READ_BYTES, length))
            if not piece:
                raise Lost(f"The blob sha256:{sha256} is shorter than it was.")
            length -= len(piece)
            yield piece


def _lost(xorb: Xorb, why: str) -> Lost:
    log.error("xorb_lost", xorb=xorb.name, store=xorb.store_id, why=why)
    return Lost(
        "The hub lost part of what you uploaded and discarded the rest. Start the upload again."
    )
