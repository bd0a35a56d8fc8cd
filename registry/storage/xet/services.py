"""Taking in large files that come in chunks (Xet): xorbs first, then shards that name their chunks.

A file becomes a blob only when its bytes have the SHA-256 that the shard says. Each model has a
chunk store of its own, so no one can learn or spoil what others have.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from hub.protocol import problems
from registry.core import usage
from registry.core.permissions import Actor, require, require_user
from registry.models import (
    Backup,
    Namespace,
    RegisteredModel,
    Reservation,
    Upload,
    XetStore,
    Xorb,
    XorbPart,
)
from registry.storage.byte_store import full
from registry.storage.files import store
from registry.storage.services import quotas, uploads
from registry.storage.services.uploads import Stream
from registry.storage.xet import chunks, hashes, shards, xorbs

if TYPE_CHECKING:
    from array import array

MOST_FILES = 10_000


def open_store(actor: Actor, *, model: RegisteredModel) -> XetStore:
    """The chunk store of a model that the actor may write; its row is made with its first bytes."""
    require(actor, "version.edit", model)
    row = XetStore.objects.filter(model=model).first()
    if row is None:
        return XetStore(model=model, uuid=_uuid_of(model.pk))
    usage.notes.add_use(usage.CHUNK_STORE, row.pk, timezone.now())
    return row


def make_store(model_id: int) -> None:
    """Make the row of a chunk store whose address was given out before there was one."""
    XetStore.objects.get_or_create(model_id=model_id, defaults={"uuid": _uuid_of(model_id)})


def _uuid_of(model_id: int) -> uuid.UUID:
    """The first address of a model's chunk store: always the same, and impossible to guess.

    Another one after a restore, since clients skip chunks that they sent to the one before.
    """
    restored = Backup.objects.exclude(restored_at=None).order_by("-restored_at").first()
    name = f"{model_id} {restored.pk}" if restored else str(model_id)
    digest = salted_hmac("registry.xet", name, algorithm="sha256").digest()
    return uuid.UUID(bytes=digest[:16])


def put_xorb(actor: Actor, *, to: XetStore, name: str, stream: Stream, length: int | None) -> bool:
    """Keep a xorb of ``length`` bytes, if that is announced; False where the store has it.

    Raises InvalidRequest, TooLarge, QuotaExceeded, StorageFull.
    """
    require(actor, "version.edit", to.model)
    try:
        hashes.from_text(name)
    except hashes.BadHash as error:
        raise problems.InvalidRequest(f"A xorb is named by its hash: {error}.") from error
    _touch(to)
    if Xorb.objects.filter(store=to, name=name).exists():
        return False
    most = xorbs.LONGEST_BYTES
    with _reserved(actor, to, min(length or 0, most)) as room, _file() as file:
        size = _receive(file, stream, most, "A xorb", room)
        try:
            lengths = xorbs.check(file, name)
        except xorbs.BadXorb as error:
            raise problems.InvalidRequest(f"The xorb was rejected: {error}.") from error
        file.seek(0)
        return _keep(to, name, file, lengths, size)


def take_shard(actor: Actor, *, to: XetStore, stream: Stream) -> bool:
    """Make the files that a shard describes, all or none; False where it describes none.

    Raises InvalidRequest for what is wrong with the shard, DigestMismatch where a file's bytes have
    another SHA-256, QuotaExceeded, and Lost where storage failed.
    """
    require(actor, "version.edit", to.model)
    _touch(to)
    with _file() as file:
        with _reserved(actor, to, 0) as room:
            _receive(file, stream, shards.LONGEST_BYTES, "A shard", room)
        index = _check_shard(to, file)
        file.seek(0)
        try:
            rows = _make_files(actor, to, index, shards.read(file))
        except chunks.Lost:
            chunks.end_epoch(to)
            raise
        if rows:
            file.seek(0)
            _remember(to, index, shards.read(file))
        return bool(rows)


@dataclass(slots=True)
class _Pieces:
    """Pieces of bytes, read as a stream."""

    pieces: Iterator[bytes]
    _rest: bytes = field(default=b"")

    def read(self, size: int, /) -> bytes:
        pieces = [self._rest]
        length = len(self._rest)
        while length < size and (piece := next(self.pieces, b"")):
            pieces.append(piece)
            length += len(piece)
        content = b"".join(pieces)
        self._rest = content[size:]
        return content[:size]


@dataclass(slots=True)
class _XorbIndex:
    """The xorbs that a shard names, with their chunks' lengths; asked for once each."""

    store: XetStore
    xorbs: dict[str, tuple[Xorb, array[int]]] = field(default_factory=dict)

    def __call__(self, name: str) -> tuple[Xorb, array[int]]:
        if name not in self.xorbs:
            xorb = problems.expect(
                Xorb.objects.filter(store=self.store, name=name).first(),
                problems.InvalidRequest(
                    f"The shard names the xorb {name}, which this store does not have. Upload it "
                    "first."
                ),
            )
            self.xorbs[name] = xorb, chunks.lengths_of(xorb)
        return self.xorbs[name]


def _touch(of: XetStore) -> None:
    """Note that a store is in use; raises NotFound where its epoch has ended."""
    if not XetStore.objects.filter(pk=of.pk, epoch=of.epoch).update(used_at=timezone.now()):
        raise problems.NotFound(
            "The address of this chunk store has changed. Start the upload again."
        )


def _reserved(actor: Actor, to: XetStore, size: int) -> AbstractContextManager[Reservation]:
    model = RegisteredModel.objects.select_related("namespace").get(pk=to.model_id)
    owner = require_user(actor, "write", of=model)
    return quotas.reserved(size, owner=owner, namespace=model.namespace)


def _file() -> IO[bytes]:
    """A file of this request, which is gone when it is closed."""
    return tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)


def _receive(file: IO[bytes], stream: Stream, most: int, what: str, room: Reservation) -> int:
    """Write a body to a file and go back to its start; returns its size in bytes.

    What was not announced is reserved piece by piece.
    """
    size = 0
    try:
        while piece := stream.read(uploads.CHUNK_BYTES):
            size += len(piece)
            if size > most:
                raise problems.TooLarge(f"{what} may have at most {most} bytes.")
            if size > room.size:
                quotas.grow(room, size)
            store().expect_room(len(piece))
            file.write(piece)
        file.seek(0)
    except OSError as error:
        raise full(error) from error
    return size


@transaction.atomic
def _keep(to: XetStore, name: str, file: IO[bytes], lengths: list[int], size: int) -> bool:
    """Keep a checked xorb, and then its row, unless the epoch has ended meanwhile."""
    now = XetStore.objects.select_for_update().get(pk=to.pk)
    if now.epoch != to.epoch:
        _touch(to)
    if Xorb.objects.filter(store=to, name=name).exists():
        return False
    store().put(chunks.key_of(str(to), name), file)
    Xorb.objects.create(store=to, name=name, lengths=chunks.pack_lengths(lengths), size=size)
    return True


def _files(source: Iterator[shards.File]) -> Iterator[shards.File]:
    try:
        yield from source
    except shards.BadShard as error:
        raise problems.InvalidRequest(f"The shard was rejected: {error}.") from error


def _check_shard(to: XetStore, file: IO[bytes]) -> _XorbIndex:
    """Read a shard through, and refuse what cannot be made, before anything is made."""
    index = _XorbIndex(to)
    total = 0
    for count, entry in enumerate(_files(shards.read(file)), start=1):
        if count > MOST_FILES:
            raise problems.InvalidRequest(f"A shard may describe at most {MOST_FILES} files.")
        for term in entry.terms:
            _check_term(term, index(term.xorb)[1])
        total += entry.size
    quotas.expect(Namespace.objects.get(models=to.model_id), adding=total)
    return index


def _check_term(term: shards.Term, lengths: array[int]) -> None:
    if term.end > len(lengths):
        raise problems.InvalidRequest(
            f"The shard names chunk {term.end - 1} of the xorb {term.xorb}, which has only "
            f"{len(lengths)}."
        )
    size = sum(lengths[term.start : term.end])
    if size != term.size:
        raise problems.InvalidRequest(
            f"The shard says that chunks {term.start} to {term.end} of the xorb {term.xorb} have "
            f"{term.size} bytes; they have {size}."
        )


def _make_files(
    actor: Actor, to: XetStore, index: _XorbIndex, files: Iterator[shards.File]
) -> list[Upload]:
    rows: list[Upload] = []
    try:
        for file in files:
            upload = uploads.create(actor, length=file.size, claimed=file.sha256, model=to.model)
            rows.append(upload)
            pieces = (
                piece
                for term in file.terms
                for piece in chunks.read(index(term.xorb)[0], str(to), term.start, term.end)
            )
            rows[-1] = uploads.append(actor, upload=upload, offset=0, stream=_Pieces(pieces))
    except BaseException:
        for upload in rows:
            uploads.abandon(actor, upload=upload)
        raise
    return rows


@transaction.atomic
def _remember(to: XetStore, index: _XorbIndex, files: Iterator[shards.File]) -> None:
    """Note where the chunks lie now, and drop the xorbs that files hold wholly."""
    XetStore.objects.select_for_update().get(pk=to.pk)
    _touch(to)
    waiting = {
        xorb.pk: xorb
        for xorb in Xorb.objects.filter(store=to, name__in=list(index.xorbs), is_kept=True)
    }
    parts: dict[tuple[int, int, int], XorbPart] = {}
    for file in files:
        offset = 0
        for term in file.terms:
            xorb = index(term.xorb)[0]
            if xorb.pk in waiting:
                parts[xorb.pk, term.start, term.end] = XorbPart(
                    xorb=xorb,
                    start=term.start,
                    end=term.end,
                    blob_id=file.sha256,
                    offset=offset,
                )
            offset += term.size
    XorbPart.objects.bulk_create(parts.values(), ignore_conflicts=True)
    for xorb in waiting.values():
        if chunks.is_covered(xorb, xorb.parts.all()):
            Xorb.objects.filter(pk=xorb.pk).update(is_kept=False)
            key = chunks.key_of(str(to), xorb.name)
            transaction.on_commit(partial(store().delete, [key]))
