"""Appending to the log: everything that was acknowledged, in one transaction with the signed head.

An event and its delivery are written in the transaction that they tell of, and the delivery stays
until a leaf has recorded it. Under the lock of the first leaf, `append` takes every delivery that
is committed by then, so a head holds all that was acknowledged before it was signed, and what dies
in between is taken by the next. Nothing is signed on a tree that is not the one signed last.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import structlog
from django.db import transaction
from django.db.models import QuerySet, Subquery
from django.utils import timezone

from hub.counting import plural
from hub.protocol import manifests
from hub.protocol.transparency import merkle, notes
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError, Signer, Verifier
from hub.protocol.transparency.records import SALT_BYTES, Record, RecordKind, entry_of
from registry.core.outbox import Subject
from registry.core.prepared_queries import Prepared, insert
from registry.models import Event, Variant, Version
from registry.provenance import keys
from registry.provenance.models import CONSUMER, KEY_KINDS, LogHead, LogLeaf
from registry.provenance.tree import StoredTree
from registry.versions import selectors

log = structlog.get_logger(__name__)

VERSION_VERBS = ("version.published", "version.yanked", "version.restored", "version.withdrawn")
TAG_VERBS = ("tag.moved", "tag.deleted")
VARIANT_VERB = "variant.added"
VERBS = (*VERSION_VERBS, *TAG_VERBS, VARIANT_VERB, "model.moved")
# So many events from before the log are recorded when it begins; with more, the hourly task does.
FIRST_EVENTS = 1000
_BATCH = 5000
# So many leaves are inserted at once.
_ROWS = 100

# A push waits for these. Rows come in no order, so that no planner reads a table in that order.
_WAITING = Prepared(
    lambda consumer: (
        Event.objects.filter(deliveries__consumer=consumer, log_leaf=None)
        .select_related("model__namespace")
        .only(
            "verb",
            "subject_kind",
            "subject_id",
            "data",
            "at",
            "model__name",
            "model__namespace__slug",
        )
        .order_by()
    ),
    planned=True,
)
_FIRST_LEAF = Prepared(
    lambda: LogLeaf.objects.select_for_update().filter(position=0).values_list("position"),
    planned=True,
)
# The records of keys; beside each the last head, the last leaf, and the private key.
_STATE = Prepared(
    lambda: (
        LogLeaf.objects.filter(kind__in=KEY_KINDS)
        .order_by()
        .values_list(
            "position",
            "record",
            Subquery(LogHead.objects.order_by("-size").values("note")[:1]),
            Subquery(LogLeaf.objects.order_by("-position").values("position")[:1]),
            Subquery(keys.sealed()),
        )
    ),
)


class LogTamperedError(Exception):
    """The stored log is not the one that was signed; nothing more is appended to it."""


@dataclass(frozen=True, slots=True)
class State:
    """What the tables have of the log: keys that are not revoked, the present one first.

    ``head`` is the last note, ``last`` the position of the last leaf; ``sealed`` is the private
    key.
    """

    verifiers: tuple[Verifier, ...]
    head: str | None = None
    last: int | None = None
    sealed: str | None = None

    def signer(self) -> Signer:
        """The private key; raises KeyUnusableError."""
        return keys.opened(self.sealed, self.verifiers[0])


@dataclass(frozen=True, slots=True)
class Entry:
    """A record to append, and the rows that it is about."""

    record: Record
    model_id: int | None = None
    event_id: int | None = None


def on_event(_: Subject) -> None:
    """Record everything that waits; the delivery of the event is among it until this returns.

    The transaction is that of the outbox.
    """
    if not lock() and not _begin_small():
        return
    rows = (row for row in _WAITING.instances(CONSUMER) if row.verb in VERBS)
    _append(_entries(sorted(rows, key=attrgetter("pk"))))


def append_missing() -> int:
    """Record what happened while the log was not offered; returns how many."""
    done, last = 0, 0
    while True:
        with transaction.atomic():
            if not lock():
                _begin()
            keys.renew(state().signer())
            rows = list(_unrecorded(Event.objects.filter(pk__gt=last))[:_BATCH])
            entries = _entries(rows)
            _append(entries)
        done += len(entries)
        if len(rows) < _BATCH:
            return done
        last = rows[-1].pk


def append(entries: Iterable[Entry]) -> int:
    """Append records of no event; returns the position of the first."""
    with transaction.atomic():
        if not lock():
            _begin()
        return _append(list(entries))


def audit() -> Iterator[str]:
    """What of the whole log is not what was signed, each in a sentence."""
    trusted_keys = every_key()
    for row in LogLeaf.objects.order_by("position").iterator():
        if merkle.leaf_hash(row.entry) != bytes(row.hash):
            yield f"The record {row.position} ({row.kind}) is not the one that its leaf holds."
        record = Record.decode(row.record)
        if (record.kind, record.number) != (row.kind, row.number):
            yield f"The record {row.position} is filed as {row.kind} of version {row.number}."
    tree = StoredTree()
    for head in LogHead.objects.order_by("size").iterator():
        try:
            note = Note.parse(head.note)
            notes.any_of(note, trusted_keys)
            checkpoint = Checkpoint.parse(note.text)
            actual = tree.root(checkpoint.size)
        except (NoteError, merkle.ProofError) as error:
            yield f"The head of {plural(head.size, 'record')} is damaged: {error}"
            continue
        if (actual, head.size) != (checkpoint.root, checkpoint.size):
            yield f"The tree of {plural(head.size, 'record')} is not the one that was signed."


def every_key() -> tuple[Verifier, ...]:
    """Every key that the log ever had."""
    rows = LogLeaf.objects.filter(kind=RecordKind.KEY.value).values_list("record", flat=True)
    return tuple(Verifier.parse(record.name) for record in map(Record.decode, rows))


def is_begun() -> bool:
    """Whether there is a log."""
    return LogLeaf.objects.filter(position=0).exists()


def lock() -> bool:
    """Keep other appends waiting until the transaction ends; False where there is no log yet."""
    return bool(_FIRST_LEAF.rows())


def rotate_key() -> Verifier:
    """Have the log name a new key, in a head that the present one signs; returns the new key."""
    now = timezone.now().isoformat()
    with transaction.atomic():
        if not lock():
            _begin()
        following = keys.make(state().signer().name)
        _append([Entry(Record(RecordKind.KEY, now, name=str(following.verifier)))])
        keys.store(following)
    return following.verifier


def revoke_key(key: Verifier, reason: str) -> None:
    """Record that a former key must not be trusted any more."""
    now = timezone.now().isoformat()
    append([Entry(Record(RecordKind.KEY_REVOKED, now, name=str(key), reason=reason))])


def state() -> State:
    """Read what the tables have of the log; without a log, no verifiers."""
    rows = sorted(_STATE.rows())
    valid: list[Verifier] = []
    for _, text, *_ in rows:
        record = Record.decode(text)
        key = Verifier.parse(record.name)
        if record.kind is RecordKind.KEY:
            valid.insert(0, key)
        elif key in valid:
            valid.remove(key)
    return State(tuple(valid), *(rows[-1][2:] if rows else ()))


def _begin() -> None:
    """Make the log with its first leaf, which names its key."""
    signing = keys.make(keys.origin())
    keys.store(signing)
    record = Record(RecordKind.KEY, timezone.now().isoformat(), name=str(signing.verifier))
    tree = StoredTree()
    _insert([Entry(record)], 0, tree)
    _sign(signing, 1, tree)


def _begin_small() -> bool:
    """Begin the log with what happened before; False where that is much."""
    rows = list(_unrecorded(Event.objects.all())[: FIRST_EVENTS + 1])
    if len(rows) > FIRST_EVENTS:
        log.warning("provenance_log_waits", detail="the hourly task begins the log")
        return False
    _begin()
    _append(_entries(rows))
    return True


def _unrecorded(rows: QuerySet[Event]) -> QuerySet[Event]:
    rows = rows.filter(verb__in=VERBS, log_leaf=None).select_related("model__namespace")
    return rows.order_by("pk")


def _entries(rows: list[Event]) -> list[Entry]:
    of_versions = {row.subject_id for row in rows if row.subject_kind == "version"}
    versions = Version.objects.in_bulk(map(int, of_versions)) if of_versions else {}
    entries = (
        Entry(record, row.model_id, row.pk)
        for row in rows
        if (record := _record(row, versions.get(int(row.subject_id)))) is not None
    )
    return list(entries)


def _record(event: Event, version: Version | None) -> Record | None:
    """What an event says of its subject now; None for what is not recorded."""
    model = event.model.ref if event.model else ""
    at, data = event.at.isoformat(), event.data
    if event.verb in TAG_VERBS:
        number = int(data.get("number") or 0)
        return Record(RecordKind(event.verb), at, model, number, name=str(data["name"]))
    if event.verb == RecordKind.MODEL_MOVED:
        return Record(RecordKind.MODEL_MOVED, at, str(data["new"]), name=str(data["old"]))
    if version is None or version.state not in Version.VISIBLE:
        return None
    if event.verb == VARIANT_VERB:
        digest = _digest_of_variant(version, str(data["name"]))
        kind, name = RecordKind.VARIANT_ADDED, str(data["name"])
        return Record(kind, at, model, version.number, digest, name) if digest else None
    reason = str(data.get("reason", ""))
    digest = f"sha256:{version.manifest_sha256}"
    return Record(RecordKind(event.verb), at, model, version.number, digest, reason=reason)


def _digest_of_variant(version: Version, name: str) -> str:
    """The digest of all files that a variant made here needs; empty for an uploaded one."""
    row = version.variants.exclude(origin=Variant.Origin.UPLOADED).filter(name=name).first()
    if row is None:
        return ""
    files = ((file.path, file.blob_id, file.blob.size) for file in selectors.files_for(row))
    return f"sha256:{manifests.digest(files)}"


def _append(entries: list[Entry]) -> int:
    """Append under the lock; returns the position of the first, 0 where there is none."""
    if not entries:
        return 0
    present = state()
    signer = present.signer()
    tree = StoredTree()
    size = _verified_size(present, tree)
    _insert(entries, size, tree)
    _sign(signer, size + len(entries), tree)
    return size


def _verified_size(present: State, tree: StoredTree) -> int:
    """How many leaves the last head has; raises LogTamperedError unless the tables hold them."""
    try:
        note = Note.parse(present.head or "")
        notes.any_of(note, present.verifiers)
        checkpoint = Checkpoint.parse(note.text)
        actual = tree.root(checkpoint.size)
    except (NoteError, merkle.ProofError) as error:
        raise LogTamperedError(f"The last head of the log was changed: {error}") from error
    if actual != checkpoint.root or present.last != checkpoint.size - 1:
        raise LogTamperedError(
            f"The leaves in the database are not the {checkpoint.size} that were signed last. "
            "Restore the database from a backup, and see docs/provenance.md."
        )
    return checkpoint.size


def _insert(entries: list[Entry], size: int, tree: StoredTree) -> None:
    rows = list(_leaves(entries, size))
    for first in range(0, len(rows), _ROWS):
        insert(rows[first : first + _ROWS])
    tree.add(size, [bytes(row.hash) for row in rows])


def _leaves(entries: list[Entry], size: int) -> Iterator[LogLeaf]:
    for position, entry in enumerate(entries, size):
        salt, record = secrets.token_bytes(SALT_BYTES), entry.record.encode()
        yield LogLeaf(
            position=position,
            hash=merkle.leaf_hash(entry_of(salt, record)),
            salt=salt,
            record=record.decode(),
            kind=entry.record.kind,
            model_id=entry.model_id,
            number=entry.record.number,
            event_id=entry.event_id,
        )


def _sign(by: Signer, size: int, tree: StoredTree) -> None:
    checkpoint = Checkpoint(by.name, size, tree.root(size))
    insert([LogHead(size=size, note=str(Note(str(checkpoint)).signed_by(by)))])
