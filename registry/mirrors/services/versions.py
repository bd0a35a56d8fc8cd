"""A version of a source becomes a version here: its bytes first, then all of it at once.

Bytes come as uploads of the mirror's owner to the model, so that a killed transfer goes on where
it stopped, quotas hold, and nobody sees them. The draft, its files and its submission are one
transaction; from there on it is checked and published as every upload is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hub.protocol import problems
from hub.protocol.mirrors import FileRecord, Origin, VersionRecord, clean
from registry.cards import cards
from registry.core.permissions import require
from registry.core.row_locks import lock
from registry.mirrors.sources import Released
from registry.models import Event, File, MirroredVersion, RegisteredModel, Upload, User, Version
from registry.storage.services import uploads
from registry.storage.services.uploads import Stream
from registry.versions import lifecycle
from registry.versions.services import files
from registry.versions.services import versions as version_services

State = MirroredVersion.State


def missing(
    actor: User, model: RegisteredModel, sha256s: Collection[str], *, by_hand: bool = False
) -> set[str]:
    """The digests whose bytes must come from the source.

    A digest is no right: present are bytes that the actor brought to this model (``by_hand``: or to
    none), that a version of it has, or that anyone may read. What else this hub stores must be sent
    by the source.
    """
    targets = Q(model=model) | Q(model=None) if by_hand else Q(model=model)
    brought = Upload.objects.filter(
        targets, owner=actor, blob__in=sha256s, blob__erased_at=None, state=Upload.State.STORED
    )
    own = File.objects.filter(blob__in=sha256s, version__model=model, blob__erased_at=None)
    public = File.objects.filter(
        blob__in=sha256s,
        blob__erased_at=None,
        version__in=Version.objects.open_to_anyone(),
    )
    present = {*brought.values_list("blob", flat=True), *public.values_list("blob", flat=True)}
    present |= set(
        own.exclude(version__state=Version.State.WITHDRAWN).values_list("blob", flat=True)
    )
    return set(sha256s) - present


def fetch(
    actor: User,
    model: RegisteredModel,
    file: FileRecord,
    opened: Callable[[int], AbstractContextManager[Stream]],
    on_bytes: Callable[[int], None],
) -> None:
    """Bring the bytes of a file, from where an earlier attempt stopped.

    Raises DigestMismatch for other bytes than the record names, Unreachable for fewer.
    """
    upload = uploads.begin(actor, model=model, length=file.size, claimed=file.sha256)
    upload = uploads.refresh(upload)
    while upload.state == Upload.State.RECEIVING:
        before = upload.offset
        with opened(before) as stream:
            upload = uploads.append(
                actor, upload=upload, offset=before, stream=_Meter(stream, on_bytes)
            )
        if upload.state == Upload.State.RECEIVING and upload.offset == before:
            raise problems.Unreachable(
                f"The source ended {file.path} after {before} of {file.size} bytes."
            )


@transaction.atomic
def store(
    actor: User, model: RegisteredModel, record: VersionRecord, origin: Origin
) -> MirroredVersion:
    """Make the version from bytes that are all here, submit it, and note where it came from.

    Raises what an upload of the same files meets: CardInvalid, ModelMissing, QuotaExceeded, ….
    """
    require(actor, "version.submit", model)
    model = lock(model)
    _expect_free(model, record.number)
    version = lifecycle.draft(
        model,
        actor,
        message=record.message,
        label=record.label,
        branch=record.branch,
        number=record.number or None,
    )
    digests_of = {file.path: f"sha256:{file.sha256}" for file in record.files}
    card = digests_of.pop(cards.CARD_PATH, None)
    if left := files.put_all(actor, version=version, digests_of=digests_of):
        raise problems.BlobUnknown(f"The content of {left[0]} has not been sent.")
    if card is not None:
        files.put(actor, version=version, path=cards.CARD_PATH, digest=card)
    version = version_services.submit(actor, version=version, publish=True)
    return note(model, version, record, origin, State.CHECKING)


def note(
    model: RegisteredModel,
    version: Version | None,
    record: VersionRecord,
    origin: Origin,
    state: str,
    problem: str = "",
) -> MirroredVersion:
    """Write down what became of a version, and where it comes from."""
    row, _ = MirroredVersion.objects.update_or_create(
        model=model,
        number=version.number if version else record.number,
        defaults={
            "version": version,
            "state": state,
            "problem": problem,
            "url": origin.url,
            "ref": origin.ref,
            "source_state": record.state,
            "commit_id": record.commit_id,
            "manifest_sha256": record.manifest_sha256,
            "author": record.author,
            "published_at": record.published_at,
            "statements": [
                {"kind": statement.kind, "subject": statement.subject, "outcome": statement.outcome}
                for statement in record.statements
            ],
            "stated_at": timezone.now() if record.statements else None,
        },
    )
    return row


def fail(
    model: RegisteredModel, released: Released, origin: Origin, problem: str
) -> MirroredVersion:
    """Write down why a version could not be stored; without a number it is written nowhere."""
    if not released.number:
        return MirroredVersion(state=State.FAILED, problem=clean(problem))
    row, _ = MirroredVersion.objects.update_or_create(
        model=model,
        number=released.number,
        defaults={
            "state": State.FAILED,
            "problem": clean(problem),
            "url": origin.url,
            "ref": origin.ref,
            "commit_id": released.commit_id[:40],
        },
    )
    return row


def adopt(
    model: RegisteredModel, version: Version, record: VersionRecord, origin: Origin
) -> MirroredVersion:
    """Note that a version that was here already is that of the source."""
    row = note(model, version, record, origin, State.CHECKING)
    settle(row)
    return row


def conflict(
    model: RegisteredModel, number: int, manifest_sha256: str, origin: Origin
) -> MirroredVersion:
    """Note that the number of a version means other files here, which stay as they are.

    Of a version that was mirrored, where it came from stays too.
    """
    problem = (
        f"{model.ref}@{number} exists here with other files and was not changed. "
        f"Store {origin.ref} in another namespace."
    )
    row, _ = MirroredVersion.objects.update_or_create(
        model=model,
        number=number,
        defaults={"state": State.CONFLICT, "problem": problem},
        create_defaults={
            "state": State.CONFLICT,
            "problem": problem,
            "url": origin.url,
            "ref": origin.ref,
            "manifest_sha256": manifest_sha256,
        },
    )
    return row


def settle(row: MirroredVersion) -> None:
    """Follow the checks of a version: once they end, it is stored here or refused."""
    version = row.version
    if row.state not in (State.CHECKING, State.CONFLICT) or version is None:
        return
    row.problem = ""
    if version.state == Version.State.DRAFT:
        failed = version.checks.filter(outcome__in=["failed", "errored"])
        kinds = ", ".join(failed.values_list("kind", flat=True)) or "a check"
        row.state = State.REFUSED
        row.problem = f"{version.ref} did not pass its checks on this hub: {kinds}."
    else:
        is_checked = version.state != Version.State.SUBMITTED
        row.state = State.STORED if is_checked else State.CHECKING
    row.save(update_fields=["state", "problem"])


def _expect_free(model: RegisteredModel, number: int) -> None:
    """Raise StateConflict for a number that a version has, or that a deleted draft had."""
    if not number or number >= model.next_number:
        return
    deleted = Event.objects.filter(
        model=model, verb="version.deleted", data__ref__endswith=f"@{number}"
    )
    if Version.objects.filter(model=model, number=number).exists() or deleted.exists():
        raise problems.StateConflict(
            f"The number {number} of {model.ref} is taken here. Mirror into another model."
        )


class _Meter:
    """A stream that reports the bytes it gives."""

    def __init__(self, stream: Stream, on_bytes: Callable[[int], None]) -> None:
        self._stream = stream
        self._on_bytes = on_bytes

    def read(self, size: int, /) -> bytes:
        block = self._stream.read(size)
        self._on_bytes(len(block))
        return block
