"""Receiving bytes: resumable, synced before they are acknowledged, hashed before they are a blob.

What lies in staging is the truth about an upload's offset, so a killed process loses nothing that
was acknowledged. Source: tus resumable upload protocol 1.0.0.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from hashlib import sha256 as new_sha256
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import UnreadablePostError
from django.utils import timezone

from hub.protocol import digests, problems
from registry.core.permissions import Actor, require, require_user
from registry.models import Blob, RegisteredModel, Upload, User
from registry.storage.byte_store import Staged, StagedWriter, full
from registry.storage.files import store
from registry.storage.services import blobs, quotas
from registry.storage.services.hashes import Hashes

log = structlog.get_logger(__name__)

CHUNK_BYTES = 2**20
LIFETIME = timedelta(hours=24)


class Stream(Protocol):
    """Where an upload's bytes come from."""

    def read(self, size: int, /) -> bytes: ...


_hashes = Hashes()


def expect_length(filename: str, length: int) -> None:
    """Raise TooLarge for a file that is larger than this hub accepts."""
    if length > settings.HUB_LIMITS_FILE_BYTES:
        raise problems.TooLarge(
            f"{filename or 'The file'} has {length} bytes; this hub accepts files of up to "
            f"{settings.HUB_LIMITS_FILE_BYTES}. Split it; the weights of a model can be several "
            "external-data files."
        )


def create(
    actor: Actor,
    *,
    length: int,
    filename: str = "",
    claimed: str = "",
    model: RegisteredModel | None = None,
    key: uuid.UUID | None = None,
) -> Upload:
    """Open an upload of ``length`` bytes, which are reserved until it ends.

    Raises TooLarge, QuotaExceeded and StorageFull before any byte.

    With a ``model``, the bytes may be claimed by a commit to it; the actor must be its writer. A
    repeat with the same ``key`` returns the upload that the first call opened.
    """
    # A limited token uploads too; only a model that it reaches may take the bytes from it.
    user = require_user(actor, "write", any_namespace=True)
    digest = digests.parse(f"sha256:{claimed.removeprefix('sha256:')}") if claimed else ""
    # The key names the row, so that two requests cannot both make it.
    identity = uuid.uuid5(key, f"upload of {user.pk}") if key else uuid.uuid4()
    if key and (earlier := Upload.objects.of(user).filter(pk=identity).first()):
        if earlier.length != length or (digest and earlier.claimed_sha256 != digest):
            raise problems.StateConflict(
                f"The Idempotency-Key {key} belongs to another upload. Send a new key."
            )
        return earlier
    if model is not None:
        require(actor, "version.edit", model)
    if length < 0:
        raise problems.InvalidRequest("Upload-Length must be 0 or more bytes.")
    expect_length(filename, length)
    # Begun before there is a row: one without staged bytes would be taken for a lost upload.
    store().begin(str(identity), length)
    try:
        with transaction.atomic():
            quotas.expect_upload(user, length, model.namespace if model else None)
            upload = Upload.objects.create(
                uuid=identity,
                owner=user,
                **_limits(user),
                model=model,
                length=length,
                filename=filename[:512],
                claimed_sha256=digest,
                expires_at=timezone.now() + LIFETIME,
            )
    except IntegrityError as error:
        raise problems.Throttled(
            f"Another request with the Idempotency-Key {key} is in progress. Try again.",
            retry_after=1,
        ) from error
    except problems.Problem:
        store().discard(str(identity))
        raise
    if length == 0:
        with _alone(upload) as staged:
            _finish(upload, staged)
    return upload


def direct_url(upload: Upload) -> str | None:
    """Where the client sends all bytes itself, by one PUT; None where they go through the hub."""
    if upload.state == Upload.State.RECEIVING and upload.claimed_sha256:
        with suppress(problems.Unavailable):
            return store().upload_url(str(upload.uuid), upload.claimed_sha256, upload.length)
    return None


def append(actor: Actor, *, upload: Upload, offset: int, stream: Stream) -> Upload:
    """Add bytes at ``offset``; what arrived before a cut is kept and acknowledged at the next HEAD.

    Raises UploadOffset where ``offset`` is not where staging ends, DigestMismatch at the last byte.
    """
    require_user(actor, "write", any_namespace=True)
    upload = refresh(upload)
    if upload.state in (Upload.State.REFUSED, Upload.State.ABANDONED):
        raise problems.UploadGone(f"This upload was {upload.state}. Start a new one.")
    if upload.state == Upload.State.STORED:
        if offset != upload.length:
            raise problems.UploadOffset(f"All {upload.length} bytes are already stored.")
        return upload
    try:
        with _alone(upload) as staged:
            _receive(upload, staged, offset, stream)
            Upload.objects.filter(pk=upload.pk).update(
                offset=upload.offset, expires_at=timezone.now() + LIFETIME
            )
            if upload.offset == upload.length:
                _finish(upload, staged)
    except OSError as error:
        raise full(error) from error
    return upload


def begin(actor: Actor, *, model: RegisteredModel, length: int, claimed: str) -> Upload:
    """The upload of an object to a model: an unfinished one, or a new one."""
    user = require_user(actor, "write", of=model)
    begun = Upload.objects.filter(
        owner=user,
        model=model,
        claimed_sha256=claimed,
        length=length,
        state=Upload.State.RECEIVING,
        created_at__gt=timezone.now() - LIFETIME / 2,
    ).first()
    return begun or create(actor, length=length, claimed=claimed, model=model)


def receive(actor: Actor, *, upload: Upload, stream: Stream) -> Upload:
    """Take an upload's bytes from its first one on, whatever came before; raises as ``append``.

    What was cut stays incomplete, and is sent again as a whole.
    """
    upload = refresh(upload)
    if upload.state == Upload.State.RECEIVING and upload.offset:
        with _alone(upload):
            store().discard(str(upload.uuid))
            store().begin(str(upload.uuid), upload.length)
    offset = upload.length if upload.state == Upload.State.STORED else 0
    return append(actor, upload=upload, offset=offset, stream=stream)


def receive_part(*, upload: Upload, number: int, part_bytes: int, stream: Stream) -> str:
    """Take part ``number`` (from 1) of an upload that comes in parts; returns the part's SHA-256.

    Parts may come in any order, at once, and again. Raises InvalidRequest where bytes are missing.
    """
    start = (number - 1) * part_bytes
    length = min(part_bytes, upload.length - start)
    hasher = new_sha256()
    left = length
    try:
        with store().part(str(upload.uuid), number, start) as staged:
            while chunk := stream.read(min(CHUNK_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise problems.TooLarge(
                        f"Part {number} has {length} bytes, but more were sent."
                    )
                store().expect_room(len(chunk))
                staged.write(chunk)
                hasher.update(chunk)
            if left:
                raise problems.InvalidRequest(
                    f"Part {number} has {length} bytes; {left} are missing."
                )
    except UnreadablePostError as error:
        raise problems.InvalidRequest(f"Part {number} was truncated. Send it again.") from error
    except OSError as error:
        raise full(error) from error
    Upload.objects.filter(pk=upload.pk).update(expires_at=timezone.now() + LIFETIME)
    return hasher.hexdigest()


def join_parts(upload: Upload) -> Upload:
    """Finish an upload whose parts have all come; raises DigestMismatch, and then keeps nothing."""
    store().join_parts(str(upload.uuid))
    return refresh(upload)


def refresh(upload: Upload) -> Upload:
    """The upload with the offset that staging has; finishes one that a crash left at its end."""
    upload.refresh_from_db()
    if upload.state != Upload.State.RECEIVING:
        return upload
    try:
        upload.offset = store().staged_size(str(upload.uuid))
    except FileNotFoundError:
        return _recover(upload)
    if upload.offset == upload.length:
        try:
            with _alone(upload) as staged:
                _finish(upload, staged)
        except problems.UploadOffset:
            upload.refresh_from_db()  # another request is finishing it, or has just done so
    return upload


def take(actor: Actor, *, model: RegisteredModel, content: bytes) -> Blob:
    """Store bytes that came inside a request, as an upload of the actor's own to a model.

    They count until a version of the model's namespace names them. Raises QuotaExceeded,
    StorageFull.
    """
    [blob] = take_all(actor, model=model, contents=[content]).values()
    return blob


def take_all(actor: Actor, *, model: RegisteredModel, contents: Iterable[bytes]) -> dict[str, Blob]:
    """As ``take``, of several files in one transaction; the blobs by their SHA-256."""
    user = require(actor, "version.edit", model)
    content_of = {digests.hash_bytes(content): content for content in contents}
    store().expect_room(sum(map(len, content_of.values())))
    staged: list[Staged] = []
    try:
        for content in content_of.values():
            staged.append(store().stage(io.BytesIO(content)))  # noqa: PERF401  (for the clean-up)
        store().prepare_all(staged)
        return _claim(user, model, staged) if staged else {}
    except problems.Problem:
        for file in staged:
            store().discard(file.name)
        raise


def credit(user: User, *, blob: Blob, filename: str) -> None:
    """Record a blob that the hub itself stored as an upload of a user, who may then name it."""
    Upload.objects.create(
        owner=user,
        filename=filename[:512],
        length=blob.size,
        offset=blob.size,
        claimed_sha256=blob.sha256,
        state=Upload.State.STORED,
        blob=blob,
        expires_at=timezone.now() + LIFETIME,
    )


@transaction.atomic
def _claim(user: User, model: RegisteredModel, staged: list[Staged]) -> dict[str, Blob]:
    """Make prepared bytes blobs that count for a user, by their SHA-256."""
    # What was brought to this model before, in a request that was refused, counts already.
    again = Upload.objects.filter(
        owner=user,
        model=model,
        blob__in=[file.sha256 for file in staged],
        state=Upload.State.STORED,
    )
    until = timezone.now() + LIFETIME
    earlier = set(again.values_list("blob", flat=True)) if again.update(expires_at=until) else set()
    new = [file for file in staged if file.sha256 not in earlier]
    if new:
        quotas.expect_upload(user, sum(file.size for file in new), model.namespace)
    rows = blobs.commit_all(staged)
    Upload.objects.bulk_create(
        Upload(
            owner=user,
            **_limits(user),
            model=model,
            length=file.size,
            offset=file.size,
            claimed_sha256=file.sha256,
            state=Upload.State.STORED,
            blob=rows[file.sha256],
            expires_at=until,
        )
        for file in new
    )
    return rows


def _limits(user: User) -> dict[str, Any]:
    """The columns that say which limited token brings bytes; others see every upload anyway."""
    token = user.access_token
    if token is None or token.reach is None:
        return {}
    return {"token": token, "bound_to": token.namespace}


@transaction.atomic
def abandon(actor: Actor, *, upload: Upload) -> None:
    """Forget an upload and what came of it so far.

    Where it was stored already, its bytes count until the collector has freed them.
    """
    require_user(actor, "write", any_namespace=True)
    stored = Upload.objects.filter(pk=upload.pk, state=Upload.State.STORED)
    if stored.update(state=Upload.State.ABANDONED):
        return
    name = str(upload.uuid)
    upload.delete()
    transaction.on_commit(lambda: store().discard(name))


def expire() -> int:
    """Delete expired uploads, and staged files without an upload."""
    quotas.expire()
    forgotten = 0
    over = Upload.objects.filter(expires_at__lt=timezone.now())
    for key in list(over.values_list("pk", flat=True)):
        # One whose bytes went on coming meanwhile is not over any more.
        if over.filter(pk=key).delete()[0]:
            store().discard(str(key))
            forgotten += 1
    uuids = {str(pk) for pk in Upload.objects.values_list("pk", flat=True)}
    day_ago = (timezone.now() - LIFETIME).timestamp()
    for name in store().staged_before(day_ago):
        if name not in uuids:
            store().discard(name)
    return forgotten


def _recover(upload: Upload) -> Upload:
    """Finish what a crash left between the rename and the row: the blob is there, its row is not.

    Raises UploadGone where there is nothing to finish.
    """
    upload.refresh_from_db()
    if upload.state != Upload.State.RECEIVING:  # another request finished it meanwhile
        return upload
    is_whole = upload.offset == upload.length  # else the digest is the client's claim
    if is_whole and upload.claimed_sha256:
        with transaction.atomic():
            if blob := blobs.adopt(upload.claimed_sha256, upload.length):
                _register(upload, blob)
                return upload
    raise problems.UploadGone("The hub no longer has this upload. Start a new one.")


@contextmanager
def _alone(upload: Upload) -> Iterator[StagedWriter]:
    """The staged bytes, held by this request alone until its upload is finished.

    Raises UploadOffset where another request holds them, UploadGone where they are there no more.
    """
    with ExitStack() as stack:
        try:
            staged = stack.enter_context(store().writer(str(upload.uuid)))
        except FileNotFoundError as error:
            if _recover(upload).state == Upload.State.STORED:
                raise problems.UploadOffset(
                    "Another request has just finished this upload. Request its state."
                ) from error
            raise problems.UploadGone(
                "The hub no longer has this upload. Start a new one."
            ) from error
        except BlockingIOError as error:
            raise problems.UploadOffset(
                "Another request is writing to this upload. Request its offset (HEAD), then "
                "continue."
            ) from error
        yield staged


def _receive(upload: Upload, staged: StagedWriter, offset: int, stream: Stream) -> None:
    if offset != staged.size:
        raise problems.UploadOffset(
            f"The next expected byte is {staged.size}, not {offset}. Continue from there.",
            offset=staged.size,
        )
    name = str(upload.uuid)
    hasher = _hashes.take(name, staged)
    end = offset
    try:
        while chunk := stream.read(CHUNK_BYTES):
            if end + len(chunk) > upload.length:
                staged.cut(offset)
                raise problems.TooLarge(
                    f"More bytes were sent than the {upload.length} announced. They were discarded."
                )
            store().expect_room(len(chunk))
            staged.write(chunk)
            end += len(chunk)
            if hasher is not None:
                hasher.update(chunk)
    except UnreadablePostError as error:
        # The line was cut: what came before stays, and the client goes on from there.
        log.info("upload_cut", upload=name, offset=end, error=str(error))
    finally:
        upload.offset = min(staged.sync(), upload.length)
    if hasher is not None and end == upload.offset:
        _hashes.keep(name, staged, hasher)


def _finish(upload: Upload, staged: StagedWriter) -> None:
    """Hash what was staged and make it a blob; raises DigestMismatch and keeps nothing."""
    hasher = _hashes.take(str(upload.uuid), staged)
    name = staged.seal()
    sha256 = hasher.hexdigest() if hasher else store().hash_staged(name)
    if upload.claimed_sha256 and upload.claimed_sha256 != sha256:
        # Said before the bytes go: a row without them that claims a digest would be recovered.
        Upload.objects.filter(pk=upload.pk).update(state=Upload.State.REFUSED)
        store().discard(name)
        raise problems.DigestMismatch(
            f"The content received has sha256:{sha256}, but sha256:{upload.claimed_sha256} was "
            "claimed. It was discarded. Upload the file again.",
            claimed=f"sha256:{upload.claimed_sha256}",
            computed=f"sha256:{sha256}",
        )
    # Written before the rename, so that after a crash the row knows which blob it became.
    Upload.objects.filter(pk=upload.pk).update(claimed_sha256=sha256, offset=upload.length)
    store().prepare(name, sha256)
    with transaction.atomic():
        _register(upload, blobs.commit(name, sha256, upload.length))


def _register(upload: Upload, blob: Blob) -> None:
    """Note which blob an upload became, in the transaction that made it one."""
    upload.blob = blob
    upload.state = Upload.State.STORED
    upload.offset = upload.length
    upload.claimed_sha256 = blob.sha256
    upload.save(update_fields=["blob", "state", "offset", "claimed_sha256"])
