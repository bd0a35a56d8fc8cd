"""Records of a transparency log, how a leaf commits to one, and what a version's proof must show.

A leaf is the SHA-256 of a salt of 32 random bytes and a record, which is canonical JSON (RFC 8785).
So every leaf looks random, and the salt opens it for those who may see what it records.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from hub.protocol import canonical, strict
from hub.protocol.transparency import merkle
from hub.protocol.transparency.notes import Checkpoint

SALT_BYTES = 32
_READER = strict.Reader()


class RecordKind(StrEnum):
    """What a record says: what happened to a version, a tag, a model, an attestation or a key."""

    PUBLISHED = "version.published"
    YANKED = "version.yanked"
    RESTORED = "version.restored"
    WITHDRAWN = "version.withdrawn"
    VARIANT_ADDED = "variant.added"
    TAG_MOVED = "tag.moved"
    TAG_DELETED = "tag.deleted"
    MODEL_MOVED = "model.moved"
    ATTESTATION = "attestation"
    KEY = "key"
    KEY_REVOKED = "key.revoked"


# The state of a version after a record.
STATES = {
    RecordKind.PUBLISHED: "published",
    RecordKind.YANKED: "yanked",
    RecordKind.RESTORED: "published",
    RecordKind.WITHDRAWN: "withdrawn",
}


@dataclass(frozen=True, slots=True)
class Record:
    """Something that happened; what does not apply is empty.

    ``digest`` is that of a version's manifest, of the manifest of all files of a variant that was
    made here, or of an attestation's envelope. ``name`` is a tag, a variant, the former name of a
    model, the type of an attestation, or a key.
    """

    kind: RecordKind
    at: str
    model: str = ""
    number: int = 0
    digest: str = ""
    name: str = ""
    reason: str = ""

    def encode(self) -> bytes:
        """The canonical JSON of what applies."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return canonical.encode({name: str(value) if name == "kind" else value
                                 for name, value in fields.items() if value})  # fmt: skip

    @classmethod
    def decode(cls, content: bytes | str) -> Self:
        """Read a record; raises ProofError."""
        try:
            return _READER.read(cls, json.loads(content))
        except (ValueError, RecursionError) as error:
            raise merkle.ProofError(f"A record of the log is malformed: {error}.") from None


def entry_of(salt: bytes, record: bytes) -> bytes:
    """The content of the leaf that commits to a record."""
    return hashlib.sha256(salt + record).digest()


@dataclass(frozen=True, slots=True)
class OpenRecord:
    """A record with what proves that it is in the log; bytes are hex digits."""

    position: int
    salt: str
    record: str
    path: tuple[str, ...]

    def verify(self, head: Checkpoint) -> Record:
        """The record; raises ProofError unless the head holds it."""
        entry = entry_of(bytes_of(self.salt), self.record.encode())
        merkle.verify_inclusion(
            merkle.leaf_hash(entry),
            self.position,
            head.size,
            tuple(map(bytes_of, self.path)),
            head.root,
        )
        return Record.decode(self.record)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A record that names a key of the log or revokes one, in a head signed by an earlier key."""

    opening: OpenRecord
    checkpoint: str


@dataclass(frozen=True, slots=True)
class HeadProof:
    """What a hub shows of its log: a signed head, the keys, and what leads to it.

    ``consistency`` leads from the head that the reader has to this one.
    """

    checkpoint: str
    keys: tuple[KeyChange, ...]
    consistency: tuple[str, ...]

    @classmethod
    def read(cls, answer: object) -> Self:
        """Read an answer of a hub; raises ProofError."""
        try:
            return _READER.read(cls, answer)
        except strict.UnreadableError as error:
            raise merkle.ProofError(f"The proof is malformed: {error}.") from None


@dataclass(frozen=True, slots=True)
class VersionProof(HeadProof):
    """The same with the records of a version, and what the hub says of it now."""

    records: tuple[OpenRecord, ...]
    model: str
    number: int
    state: str
    manifest: str
    tags: tuple[str, ...]


def bytes_of(digits: str) -> bytes:
    """Decode hex digits of an answer; raises ProofError."""
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise merkle.ProofError("A proof has something else than hex digits.") from None
