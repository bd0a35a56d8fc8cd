"""Heads and tiles of the log, which are public, and records for readers of their subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet

from hub.protocol import problems
from hub.protocol.transparency import merkle
from hub.protocol.transparency.attestations import (
    STATEMENT,
    AttestationProof,
    OpenAttestation,
)
from hub.protocol.transparency.records import (
    HeadProof,
    KeyChange,
    OpenRecord,
    Record,
    RecordKind,
    VersionProof,
)
from registry.core.permissions import Actor
from registry.models import Delivery, Ref, RegisteredModel, Version
from registry.provenance import attestations
from registry.provenance.models import (
    ATTESTING,
    CONSUMER,
    KEY_KINDS,
    Attestation,
    LogHead,
    LogLeaf,
)
from registry.provenance.tree import StoredTree
from registry.versions import results

_T = TypeVar("_T")

# W3C's PROV-AQ, section 3.1: the relation of the proof of a version.
HAS_PROVENANCE = "http://www.w3.org/ns/prov#has_provenance"
# How often a proof is made anew when the log grew meanwhile.
_ATTEMPTS = 3
_OF_MODELS = (RecordKind.TAG_MOVED, RecordKind.TAG_DELETED, RecordKind.MODEL_MOVED)


def head() -> LogHead:
    """The newest head; raises NotFound while there is no log."""
    return problems.expect(
        LogHead.objects.order_by("size").last(),
        problems.NotFound("The log of this hub begins with its first published version."),
    )


def tile(level: int, number: int, width: int) -> bytes:
    """The hashes of a tile; raises NotFound where the newest head has none so wide."""
    _expect_tile(level, number, width)
    return b"".join(StoredTree().tile(level, number)[:width])


def entries(number: int, width: int) -> bytes:
    """The entries of a tile of leaves, each with its length before it."""
    _expect_tile(0, number, width)
    low = number * merkle.TILE_WIDTH
    rows = LogLeaf.objects.filter(position__gte=low, position__lt=low + width)
    content = [row.entry for row in rows.order_by("position")]
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in content)


def records(actor: Actor) -> QuerySet[LogLeaf]:
    """The leaves that the actor may open: of the log's keys, and of what they see."""
    visible = Version.objects.visible_to(actor).filter(
        model=OuterRef("model"), number=OuterRef("number")
    )
    models = RegisteredModel.objects.visible_to(actor).order_by().values("pk")
    return LogLeaf.objects.filter(
        Q(model=None) | Q(number=0, model__in=models) | Q(Exists(visible))
    )


def head_proof(since: int) -> HeadProof:
    """The newest head, and what leads to it from one of ``since`` leaves."""
    return _head_proof(head(), StoredTree(), since)


def proof(actor: Actor, version: Version, since: int) -> VersionProof:
    """The same with what the log shows of a version that the actor sees; raises Unavailable."""
    return _consistent(version, lambda newest: _proof(actor, version, since, newest))


def attestation_proof(actor: Actor, version: Version, since: int) -> AttestationProof:
    """What the hub signed of a version that the actor sees, and what it shows now.

    Raises Unavailable.
    """
    return _consistent(version, lambda newest: _attestation_proof(actor, version, since, newest))


def attestation(version: Version, digest: str) -> Attestation:
    """One attestation of a version; raises NotFound."""
    rows = Attestation.objects.filter(model=version.model_id, number=version.number, digest=digest)
    return problems.expect(
        rows.first(), problems.NotFound(f"{version.ref} has no attestation sha256:{digest[:64]}.")
    )


def _consistent(version: Version, make: Callable[[LogHead], _T]) -> _T:
    """What is made of the newest head while no change of the model waits for its record.

    Raises Unavailable while one does: what the hub says of the version and what the log shows would
    differ.
    """
    for _ in range(_ATTEMPTS):
        newest = head()
        version.refresh_from_db(fields=["state", "manifest_sha256"])
        content = make(newest)
        # A change since the head was read waits for its record, or is in a newer head. One that
        # the log refused to record is shown as a difference.
        waiting = Delivery.objects.filter(
            consumer__in=(CONSUMER, ATTESTING), event__model=version.model_id, error=""
        )
        if not waiting.exists() and head().size == newest.size:
            return content
    raise problems.Unavailable(
        f"The log is about to record a change of {version.model.ref}. Ask again in a second.",
        retry_after=1,
    )


def _attestation_proof(
    actor: Actor, version: Version, since: int, newest: LogHead
) -> AttestationProof:
    tree = StoredTree()
    base = _head_proof(newest, tree, since)
    held = LogLeaf.objects.filter(position__lt=newest.size)
    signers = held.filter(kind__in=KEY_KINDS).order_by("position")
    rows = records(actor).filter(
        kind=RecordKind.ATTESTATION.value,
        model=version.model_id,
        number=version.number,
        position__lt=newest.size,
    )
    of_version = Attestation.objects.filter(model=version.model_id, number=version.number)
    last = {row.pk: row.envelope for row in attestations.newest(version)}
    replaced = of_version.exclude(pk__in=last).values("pk")
    opened = [(row, last.get(row.pk, "")) for row in rows.exclude(pk__in=replaced)]
    return AttestationProof(
        base.checkpoint,
        base.keys,
        base.consistency,
        signers=tuple(_opening(row, tree, newest.size) for row in signers),
        attestations=tuple(
            OpenAttestation(_opening(row, tree, newest.size), envelope) for row, envelope in opened
        ),
        results=tuple(attestations.describe(result) for _, result in results.of(version)),
    )


def _proof(actor: Actor, version: Version, since: int, newest: LogHead) -> VersionProof:
    tree = StoredTree()
    base = _head_proof(newest, tree, since)
    about = Q(number=version.number) | Q(kind__in=_OF_MODELS)
    rows = records(actor).filter(about, model=version.model_id, position__lt=newest.size)
    rows = rows.exclude(kind=RecordKind.ATTESTATION.value)
    tags = Ref.objects.filter(version=version, kind=Ref.Kind.TAG)
    return VersionProof(
        base.checkpoint,
        base.keys,
        base.consistency,
        records=tuple(_opening(row, tree, newest.size) for row in rows.order_by("position")),
        model=version.model.ref,
        number=version.number,
        state=version.state,
        manifest=f"sha256:{version.manifest_sha256}",
        tags=tuple(sorted(tags.values_list("name", flat=True))),
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """That the log recorded a version, when, and how many statements it has about its results.

    ``fault`` says how the version differs from the record; empty where it does not.
    """

    at: datetime
    signed: int
    fault: str


def mark(version: Version) -> Mark | None:
    """What a page says of the record of a version; None without one."""
    of_version = LogLeaf.objects.filter(model=version.model_id, number=version.number)
    leaf = of_version.filter(kind=RecordKind.PUBLISHED.value).order_by("position").first()
    if leaf is None:
        return None
    record = Record.decode(leaf.record)
    present = f"sha256:{version.manifest_sha256}"
    fault = ""
    if record.digest != present:
        fault = (
            f"This version has the manifest {present}; the log recorded {record.digest} when it "
            "was published."
        )
    signed = of_version.filter(kind=RecordKind.ATTESTATION.value).count()
    return Mark(datetime.fromisoformat(record.at), signed, fault)


def addresses(version: Version) -> dict[str, str]:
    """The addresses of the proofs of a version by their relation; none while there is no log."""
    if not LogHead.objects.exists():
        return {}
    url = f"/api/v1/models/{version.model.ref}/versions/{version.number}"
    return {HAS_PROVENANCE: f"{url}/log", STATEMENT: f"{url}/attestations"}


def _expect_tile(level: int, number: int, width: int) -> None:
    size = head().size >> (merkle.TILE_HEIGHT * level)
    if not 0 < width <= merkle.TILE_WIDTH or number * merkle.TILE_WIDTH + width > size:
        raise problems.NotFound(f"The log has no tile {number} of {width} hashes there.")


def _head_proof(newest: LogHead, tree: StoredTree, since: int) -> HeadProof:
    grown = 0 < since <= newest.size
    path = merkle.consistency(tree.node, since, newest.size) if grown else []
    return HeadProof(newest.note, _key_changes(tree), tuple(value.hex() for value in path))


def _opening(row: LogLeaf, tree: StoredTree, size: int) -> OpenRecord:
    path = merkle.inclusion(tree.node, row.position, size)
    return OpenRecord(
        row.position, bytes(row.salt).hex(), row.record, tuple(value.hex() for value in path)
    )


def _key_changes(tree: StoredTree) -> tuple[KeyChange, ...]:
    """Each key of the log, with the first head that holds its record."""
    changes = []
    for row in LogLeaf.objects.filter(kind__in=KEY_KINDS).order_by("position"):
        first = LogHead.objects.filter(size__gt=row.position).order_by("size").first()
        if first is not None:
            changes.append(KeyChange(_opening(row, tree, first.size), first.note))
    return tuple(changes)
