"""Verifying what a hub shows of a version: its keys, its head, its history, and the records.

Each failure is a sentence that says what differs. A reader who has an earlier head of the same log
gives it as ``earlier``; without one, the first key that the hub names is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hub.counting import plural
from hub.protocol import problems
from hub.protocol.transparency import merkle, notes
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError, Verifier
from hub.protocol.transparency.records import (
    STATES,
    HeadProof,
    KeyChange,
    OpenRecord,
    Record,
    RecordKind,
    VersionProof,
    bytes_of,
)

_TAGS = frozenset({RecordKind.TAG_MOVED, RecordKind.TAG_DELETED})


@dataclass(frozen=True, slots=True)
class TrustedHead:
    """The last head of a log that a reader has verified, and the key that signed it."""

    key: str
    checkpoint: str


@dataclass(frozen=True, slots=True)
class VerifiedHead:
    """A head that may be trusted; ``is_signed`` is false where no library verifies signatures."""

    head: Checkpoint
    trusted: TrustedHead
    is_signed: bool


@dataclass(frozen=True, slots=True)
class Verified(VerifiedHead):
    """The same with the records that a proof shows, by their position."""

    records: tuple[Record, ...]


def verify_head(proof: HeadProof, earlier: TrustedHead | None) -> VerifiedHead:
    """The head of a proof; raises ProofError, whose text says what does not hold."""
    try:
        note = Note.parse(proof.checkpoint)
        head = Checkpoint.parse(note.text)
        key, is_signed = _key_of(proof.keys, note, earlier)
        if earlier is not None:
            _follow(Checkpoint.parse(Note.parse(earlier.checkpoint).text), head, proof)
    except NoteError as error:
        raise ProofError(str(error)) from None
    return VerifiedHead(head, TrustedHead(key, proof.checkpoint), is_signed)


def verify(proof: VersionProof, earlier: TrustedHead | None) -> Verified:
    """The head and the records of a proof; raises ProofError."""
    head = verify_head(proof, earlier)
    records = tuple(opening.verify(head.head) for opening in _by_position(proof))
    return Verified(head.head, head.trusted, head.is_signed, records)


def _by_position(proof: VersionProof) -> list[OpenRecord]:
    return sorted(proof.records, key=lambda opening: opening.position)


def _follow(old: Checkpoint, new: Checkpoint, proof: HeadProof) -> None:
    """Raise ProofError unless the new head continues the log of the old one."""
    if old.origin != new.origin:
        raise ProofError(f"The log is {new.origin} now; it was {old.origin}.")
    if new.size < old.size:
        raise ProofError(
            f"The log has {plural(new.size, 'record')} now; it had {old.size}. "
            "Records were removed."
        )
    path = [bytes_of(digits) for digits in proof.consistency]
    try:
        merkle.verify_consistency(old.size, new.size, old.root, new.root, path)
    except ProofError:
        raise ProofError(
            f"The log does not begin with the {plural(old.size, 'record')} that it had before."
        ) from None


def _key_of(
    changes: tuple[KeyChange, ...], note: Note, earlier: TrustedHead | None
) -> tuple[str, bool]:
    """The key that signed a head, and whether that could be verified.

    Keys are trusted from the one of the earlier head on: each is named by a record in a head that
    a trusted key signed.
    """
    trusted: list[Verifier] = [Verifier.parse(earlier.key)] if earlier else []
    try:
        for change in changes:
            _extend(trusted, change)
        return str(notes.any_of(note, trusted)), True
    except problems.LibraryMissing:
        return earlier.key if earlier else "", False


def _extend(trusted: list[Verifier], change: KeyChange) -> None:
    signed = Note.parse(change.checkpoint)
    record = change.opening.verify(Checkpoint.parse(signed.text))
    key = Verifier.parse(record.name)
    if not trusted:
        trusted.append(key)
    try:
        notes.any_of(signed, trusted)
    except NoteError:
        return  # of before the keys that the reader trusts
    if record.kind is RecordKind.KEY_REVOKED and key in trusted:
        trusted.remove(key)
    elif record.kind is RecordKind.KEY and key not in trusted:
        trusted.append(key)


def differences(proof: VersionProof, verified: Verified) -> Iterator[str]:
    """What the hub says of a version otherwise than its log, each in a sentence."""
    ref = f"{proof.model}@{proof.number}"
    own = [record for record in verified.records if record.number == proof.number]
    names = {proof.model, *_former(proof.model, verified.records)}
    for record in own:
        if record.model not in names:
            yield f"The log recorded {record.kind} for {record.model}@{record.number}, not {ref}."
    published = [record for record in own if record.kind is RecordKind.PUBLISHED]
    if not published:
        yield f"The log has no record that {ref} was published."
        return
    first = published[0]
    for record in published[1:]:
        yield f"The log records that {ref} was published again at {record.at}."
    if first.digest != proof.manifest:
        yield (
            f"{ref} has the manifest {proof.manifest} here; the log recorded {first.digest} "
            f"when it was published at {first.at}."
        )
    last = [record for record in own if record.kind in STATES][-1]
    if STATES[last.kind] != proof.state:
        yield (
            f"{ref} is {proof.state} here; the log recorded {last.kind} at {last.at}"
            f"{f' ({last.reason})' if last.reason else ''}."
        )
    yield from _moved_tags(proof, verified.records)


def tags_of(records: Iterable[Record]) -> dict[str, int]:
    """The version that each tag names, as the log recorded it last; 0 for a deleted tag."""
    named = [record for record in records if record.kind in _TAGS]
    return {
        record.name: record.number if record.kind is RecordKind.TAG_MOVED else 0 for record in named
    }


def variants_of(records: Iterable[Record]) -> dict[str, str]:
    """The digest of all files of each variant that was made on the hub, as recorded last."""
    return {
        record.name: record.digest for record in records if record.kind is RecordKind.VARIANT_ADDED
    }


def _moved_tags(proof: VersionProof, records: tuple[Record, ...]) -> Iterator[str]:
    recorded = tags_of(records)
    for name in proof.tags:
        if recorded.get(name) != proof.number:
            yield (
                f"The tag {name} names version {proof.number} here; the log recorded "
                f"{f'version {recorded[name]}' if recorded.get(name) else 'no such tag'}."
            )
    for name, number in recorded.items():
        if number == proof.number and name not in proof.tags:
            yield f"The log recorded that the tag {name} names version {number}; here it does not."


def _former(model: str, records: tuple[Record, ...]) -> set[str]:
    """The names that a model had before."""
    names, current = set(), model
    for record in reversed(records):
        if record.kind is RecordKind.MODEL_MOVED and record.model == current:
            current = record.name
            names.add(current)
    return names
