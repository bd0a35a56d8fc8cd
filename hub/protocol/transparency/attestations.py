"""What a hub signs of its results: in-toto statements in DSSE envelopes, and how they are verified.

Each envelope is named by a record of the log, so the log says when it was signed. Sources: in-toto
attestation framework 1.0 (Statement, Envelope), DSSE 1.0 (PAE), SLSA 1.0 (Provenance).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hub.protocol import canonical, problems, strict
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, NoteError, Signer, Verifier, verify_bytes
from hub.protocol.transparency.records import HeadProof, OpenRecord, Record, RecordKind

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
PROVENANCE = "https://slsa.dev/provenance/v1"
# Documentation of the hub's own predicates, below its address; a fragment names the kind.
PREDICATES = "/docs/attestations"
_DIGEST_CHARACTERS = 64
_READER = strict.Reader()


@dataclass(frozen=True, slots=True)
class AttestedResult:
    """A result of a version: what an attestation says of it, or what the hub shows now.

    ``name`` is unique in the version, such as `benchmark/17`; ``run`` differs where the hub found
    it again. ``files`` have the SHA-256 of each file that it is about by its path, as hex digits.
    ``facts`` are texts, numbers and truth values; ``details`` is the digest of everything else.
    """

    name: str
    run: str
    files: dict[str, str]
    facts: dict[str, str | bool | int | float | None]
    details: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """An in-toto statement about files; ``subject`` has SHA-256s by their names, as hex digits."""

    subject: dict[str, str]
    predicate_type: str
    predicate: dict[str, Any]

    def encode(self) -> bytes:
        """The JSON of the statement."""
        rows = [{"name": name, "digest": {"sha256": sha}} for name, sha in self.subject.items()]
        return canonical.encode(
            {
                "_type": STATEMENT,
                "subject": rows,
                "predicateType": self.predicate_type,
                "predicate": self.predicate,
            }
        )

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Read a statement; raises ProofError."""
        try:
            row = _READER.read(dict[str, Any], json.loads(content))
            if row.get("_type") != STATEMENT:
                raise strict.UnreadableError("it is no in-toto statement")
            subject = _READER.read(tuple[_Subject, ...], row.get("subject"), "subject")
            return cls(
                {item.name: item.digest.get("sha256", "") for item in subject},
                strict.check(row.get("predicateType"), str, "predicateType"),
                strict.check(row.get("predicate"), dict, "predicate"),
            )
        except (ValueError, RecursionError) as error:
            raise ProofError(f"The statement is malformed: {error}.") from None

    @property
    def title(self) -> str:
        """The result that it is about, for people."""
        return f"build of {self.result.name}" if self.is_build else self.result.name

    @property
    def is_build(self) -> bool:
        """Whether it says how a variant was made."""
        return self.predicate_type == PROVENANCE

    @property
    def result(self) -> AttestedResult:
        """The result that it is about, without facts for SLSA provenance; raises ProofError."""
        row = self.predicate
        try:
            if self.is_build:
                row = row["buildDefinition"]["internalParameters"]
            return _READER.read(AttestedResult, {"files": self._files(), "facts": {}} | row)
        except (ValueError, KeyError, TypeError) as error:
            raise ProofError(f"The statement names no result ({error}).") from None

    def _files(self) -> dict[str, str]:
        """The subject without its first member, which is the manifest."""
        return dict(list(self.subject.items())[1:])


@dataclass(frozen=True, slots=True)
class _Subject:
    name: str
    digest: dict[str, str]


def pae(payload_type: str, payload: bytes) -> bytes:
    """What a DSSE signature is of: the pre-authentication encoding, protocol version 1."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(statement: Statement, signer: Signer) -> str:
    """The DSSE envelope of a statement, as JSON; its digest is that of this text."""
    payload = statement.encode()
    signature = {"keyid": str(signer.verifier), "sig": _base64(signer.sign(pae(PAYLOAD, payload)))}
    return canonical.encode(
        {"payload": _base64(payload), "payloadType": PAYLOAD, "signatures": [signature]}
    ).decode()


@dataclass(frozen=True, slots=True)
class Envelope:
    """A DSSE envelope as it was read: the payload, and signatures by the name of their key."""

    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]

    @classmethod
    def parse(cls, content: str) -> Self:
        """Read the JSON of an envelope; raises ProofError. Nothing is verified yet."""
        try:
            row = _READER.read(_EnvelopeRow, json.loads(content))
            if row.payloadType != PAYLOAD:
                raise strict.UnreadableError(f"its payload is {row.payloadType[:80]!r}")
            signed = tuple((item.keyid, _bytes(item.sig)) for item in row.signatures)
            return cls(_bytes(row.payload), signed)
        except (ValueError, RecursionError) as error:
            raise ProofError(f"The envelope is malformed: {error}.") from None

    def verify(self, verifiers: Iterable[Verifier]) -> bool:
        """Raise ProofError unless one of these keys signed it; False without `cryptography`."""
        for key in verifiers:
            for name, signature in self.signatures:
                if name == str(key):
                    try:
                        verify_bytes(key.key, signature, pae(PAYLOAD, self.payload))
                    except problems.LibraryMissing:
                        return False
                    except NoteError:
                        raise ProofError("The signature of the envelope is not right.") from None
                    return True
        raise ProofError("None of the keys that the log had then signed the envelope.")


@dataclass(frozen=True, slots=True)
class _SignatureRow:
    keyid: str
    sig: str


@dataclass(frozen=True, slots=True)
class _EnvelopeRow:
    payload: str
    payloadType: str  # noqa: N815 - DSSE's name
    signatures: tuple[_SignatureRow, ...]


@dataclass(frozen=True, slots=True)
class OpenAttestation:
    """An envelope with the record that names it; empty where the hub has lost the envelope."""

    opening: OpenRecord
    envelope: str


@dataclass(frozen=True, slots=True)
class AttestationProof(HeadProof):
    """What a hub signed of a version, and the results that it shows of it now.

    ``signers`` are the records of the log's keys in this head, ``attestations`` the newest one of
    each result and type, and those whose envelope the hub has lost.
    """

    signers: tuple[OpenRecord, ...]
    attestations: tuple[OpenAttestation, ...]
    results: tuple[AttestedResult, ...]


@dataclass(frozen=True, slots=True)
class Attestation:
    """A verified attestation: when the log recorded it, and what it states.

    ``is_signed`` is false where no library verifies signatures.
    """

    at: str
    statement: Statement
    result: AttestedResult
    is_signed: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about an attestation or a result: what is proven, or what differs."""

    is_verified: bool
    text: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What else is known of the version: its name, number and manifest, as ``sha256:…``."""

    model: str
    number: int
    manifest: str
    is_withdrawn: bool = field(default=False)


def verify(proof: AttestationProof, head: Checkpoint, version: Expected) -> Iterator[Finding]:
    """Verify every attestation of a version against a verified head, and compare it with today's.

    Raises ProofError where the records of the keys are not in the head.
    """
    changes = [(opening.position, opening.verify(head)) for opening in proof.signers]
    valid: list[Attestation] = []
    for item in proof.attestations:
        try:
            valid.append(_verified(item, head, version, changes))
        except ProofError as error:
            yield Finding(is_verified=False, text=str(error))
    yield from judge(valid, proof.results, version)


def judge(
    signed: Iterable[Attestation], present: Iterable[AttestedResult], version: Expected
) -> Iterator[Finding]:
    """What attestations prove, and which results that are shown have none."""
    results = {result.name: result for result in present}
    names = set()
    for attestation in signed:
        names.add(attestation.result.name)
        yield compare(attestation, results.get(attestation.result.name), version)
    for name in sorted(results.keys() - names):
        yield Finding(
            is_verified=False,
            text=f"{name} is shown and was never signed: a user of the database added it, or "
            "the hub has not signed it yet (it does so once an hour).",
        )


def compare(signed: Attestation, present: AttestedResult | None, version: Expected) -> Finding:
    """What an attestation proves, or how what the hub shows now differs from it."""
    result = signed.result
    title = f"{signed.statement.title}, signed at {signed.at}"
    if not signed.is_signed:
        text = f"{title}: its signature was not verified, since 'cryptography' is not installed."
        return Finding(is_verified=False, text=text)
    if result.facts.get("removed") is True:
        rest = " The hub shows it nevertheless." if present else ""
        return Finding(not present, f"{title}: the hub removed this result.{rest}")
    if present is None:
        if version.is_withdrawn:
            return Finding(is_verified=True, text=f"{title}: withdrawn with the version.")
        facts = _sentence(result.facts)
        return Finding(is_verified=False, text=f"{title}: {facts}. The hub shows no such result.")
    if faults := list(_differences(signed, present)):
        return Finding(is_verified=False, text=f"{title}: {'; '.join(faults)}.")
    facts = _origin(signed.statement) if signed.statement.is_build else _sentence(present.facts)
    return Finding(is_verified=True, text=f"{title} and unchanged since: {facts}.")


def _verified(
    item: OpenAttestation,
    head: Checkpoint,
    version: Expected,
    changes: list[tuple[int, Record]],
) -> Attestation:
    record = item.opening.verify(head)
    name = f"The attestation {record.digest} of {record.at}"
    if record.kind is not RecordKind.ATTESTATION or record.number != version.number:
        raise ProofError(f"{name} is none of version {version.number}.")
    if not item.envelope:
        raise ProofError(f"{name} is in the log, and the hub no longer has it.")
    if f"sha256:{hashlib.sha256(item.envelope.encode()).hexdigest()}" != record.digest:
        raise ProofError(f"{name} was changed: the hub has another envelope.")
    envelope = Envelope.parse(item.envelope)
    is_signed = envelope.verify(_keys_at(item.opening.position, changes))
    statement = Statement.decode(envelope.payload)
    manifest = next(iter(statement.subject.values()), "")
    if f"sha256:{manifest}" != version.manifest:
        raise ProofError(
            f"{name} is about the manifest sha256:{manifest}, and {version.model}@{version.number} "
            f"has {version.manifest}."
        )
    return Attestation(record.at, statement, statement.result, is_signed)


def _keys_at(position: int, changes: list[tuple[int, Record]]) -> list[Verifier]:
    """The keys that the log had named and not revoked before a position."""
    keys: list[Verifier] = []
    for at, record in sorted(changes, key=lambda change: change[0]):
        if at > position:
            break
        key = Verifier.parse(record.name)
        if record.kind is RecordKind.KEY:
            keys.append(key)
        elif record.kind is RecordKind.KEY_REVOKED and key in keys:
            keys.remove(key)
    return keys


def _differences(signed: Attestation, present: AttestedResult) -> Iterator[str]:
    result = signed.result
    if result.run != present.run:
        yield f"signed was run {result.run}, shown is run {present.run}"
    yield from _changes(_short(result.files), _short(present.files))
    if signed.statement.is_build:
        return
    yield from _changes(result.facts, present.facts)
    if result.details != present.details:
        yield f"its details had the digest {result.details}, and have {present.details} now"


def _changes(signed: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(signed.keys() | present.keys()):
        before, now = signed.get(name), present.get(name)
        if before != now:
            yield f"{name} was signed as {_word(before)} and is shown as {_word(now)}"


def _short(files: Mapping[str, str]) -> dict[str, str]:
    return {path: f"sha256:{sha256}" for path, sha256 in files.items()}


def _sentence(facts: Mapping[str, Any]) -> str:
    """The facts that say something, without digests."""
    rows = (
        (name, value)
        for name, value in facts.items()
        if value not in (None, "", False) and len(str(value)) < _DIGEST_CHARACTERS
    )
    return ", ".join(f"{name} {_word(value)}" for name, value in rows) or "no facts"


def _word(value: Any) -> str:
    return "nothing" if value is None else str(value) or "nothing"


def _origin(statement: Statement) -> str:
    """From what a variant was made, by SLSA provenance."""
    try:
        definition = statement.predicate["buildDefinition"]
        rows = definition["resolvedDependencies"]
        names = ", ".join(f"{row['name']} (sha256:{row['digest']['sha256']})" for row in rows)
        method = statement.predicate["runDetails"]["builder"]["version"].get("method", "unknown")
        return f"made from {names} by method {method} of {definition['buildType']}"
    except (KeyError, TypeError, AttributeError):
        return "it does not say from what it was made"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise strict.UnreadableError(str(error)) from None
