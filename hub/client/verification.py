"""What a reader can verify of a version: history, records, attestations, bytes; also offline.

Each result is a line that says what it proves, and nothing more than was verified.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.client import log_heads, signatures
from hub.client.cache import Resolved
from hub.client.signatures import SignatureCopy
from hub.counting import plural
from hub.protocol import digests, problems
from hub.protocol.transparency import attestations, notes, proofs
from hub.protocol.transparency.attestations import AttestationProof
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError, Signer, Verifier
from hub.protocol.transparency.proofs import Verified
from hub.protocol.transparency.records import VersionProof

if TYPE_CHECKING:
    from hub.client.answers import Answer
    from hub.client.hub import Hub


@dataclass(frozen=True, slots=True)
class Result:
    """Whether something was verified: what it is, and what that proves or what differs."""

    subject: str
    is_verified: bool
    text: str


def verify(hub: Hub, ref: str) -> tuple[list[Result], dict[str, Any]]:
    """Verify a version online; returns the results, and the bundle that repeats them offline.

    Raises `NotFound` where the hub has no such version, or no log.
    """
    hub.config.require_network(ref, "hub verify")
    answer = hub.reads.request("GET", "/api/v1/resolve", query={"ref": ref})
    resolved = Resolved.from_json(answer.json())
    label = log_heads.label_of(ref)
    url = log_heads.hub_of(answer.url)
    had = log_heads.size_of(log_heads.find(hub.cache, url))
    try:
        proof, verified = log_heads.fetch(hub.reads, hub.cache, resolved, url)
    except problems.RecordMismatch as error:
        return [Result("history", False, str(error))], {}
    history = f"{url} showed its log: {plural(verified.head.size, 'record')}, {_signed(verified)}"
    if had:
        history += f"; it continues the head of {plural(had, 'record')} that you had"
    else:
        history += "; it is the first head that you have of this hub"
    signed, attested = _attestations_online(hub, resolved, url, answer, proof)
    results = [
        Result("history", verified.is_signed, f"{history}."),
        *_records(resolved, proof, verified, label),
        *attested,
        _bytes(hub, resolved),
    ]
    copies = signatures.fetch(hub.reads, hub.cache, resolved)
    results += _signatures(copies, resolved, hub.config.sigstore_root)
    bundle = {
        "hub": url, "label": label or "", "resolution": answer.json(), "proof": asdict(proof),
        "attestations": None if signed is None else asdict(signed),
        "signatures": [asdict(row) for row in copies], "saved_at": int(time.time()),
    }  # fmt: skip
    return results, bundle


def verify_bundle(hub: Hub, bundle: Any) -> list[Result]:
    """Verify what was saved, without a network: bytes are those in the cache.

    Raises `InvalidRequest` for what is no bundle.
    """
    try:
        url, label = str(bundle["hub"]), str(bundle["label"]) or None
        resolved = Resolved.from_json(bundle["resolution"])
        proof = VersionProof.read(bundle["proof"])
        # Bundles of an earlier release have none.
        stored = bundle.get("attestations")
        signed = None if stored is None else AttestationProof.read(stored)
        copies = signatures.read(bundle.get("signatures", []))
    except (KeyError, TypeError, ValueError) as error:
        raise problems.InvalidRequest(
            f"This is no bundle of `hub verify --save` ({error})."
        ) from None
    try:
        verified = proofs.verify(proof, None)
    except ProofError as error:
        return [Result("history", False, str(error))]
    own = log_heads.find(hub.cache, url)
    history = f"the head of {plural(verified.head.size, 'record')} is {_signed(verified)}"
    if own is None:
        history += "; you have no head of this hub to compare the key with"
    elif own.key != verified.trusted.key:
        history += f", which is not the key {own.key} of the head that you have"
    else:
        history += ", the key of the head that you have"
    is_known = own is None or own.key == verified.trusted.key
    return [
        Result("history", verified.is_signed and is_known, f"{history}."),
        *_records(resolved, proof, verified, label),
        *([] if signed is None else _attestations_saved(signed, verified, proof)),
        _bytes(hub, resolved),
        *_signatures(copies, resolved, hub.config.sigstore_root),
    ]


def witness(hub: Hub, key: Path, *, seconds: int | None = None) -> Note:
    """Cosign the newest head of a hub, once it continues the one that was cosigned before.

    The key is made where there is none. Raises `RecordMismatch`.
    """
    hub.config.require_network(hub.config.url, "hub witness")
    signer = witness_key(key)
    verified = log_heads.follow(hub.transport, hub.cache, hub.config.url)
    if not verified.is_signed:
        raise problems.LibraryMissing(
            "A witness verifies signatures: pip install 'onnx-hub[federated]'."
        )
    note = Note.parse(verified.trusted.checkpoint)
    return note.cosigned_by(signer, int(time.time()) if seconds is None else seconds)


def witness_key(path: Path) -> Signer:
    """The key of a witness, made for its owner alone where there is none."""
    import os  # noqa: PLC0415
    import secrets  # noqa: PLC0415
    import socket  # noqa: PLC0415

    try:
        if not path.exists():
            signer = Signer(socket.gethostname(), notes.COSIGNATURE, secrets.token_bytes(32))
            text = f"{signer}\n"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
        signer = Signer.parse(path.read_text().strip())
    except (OSError, NoteError) as error:
        raise problems.InvalidRequest(f"{path} cannot be used as a key: {error}") from None
    if signer.kind != notes.COSIGNATURE:
        raise problems.InvalidRequest(f"{path} is the key of a log, not of a witness.")
    return signer


def verify_cosigned(hub: Hub, content: str, witnessed_by: str) -> int:
    """Verify that the hub's log continues a head that a witness cosigned.

    Returns the time of the cosignature in seconds since 1970. Raises `RecordMismatch`.
    """
    try:
        note = Note.parse(content)
        seconds = note.verify(Verifier.parse(witnessed_by))
        Checkpoint.parse(note.text)
    except NoteError as error:
        raise problems.RecordMismatch(f"The cosigned head cannot be trusted: {error}") from None
    log_heads.follow_from(hub.transport, hub.config.url, content)
    return seconds


def _signed(verified: Verified) -> str:
    if not verified.is_signed:
        return "whose signature was not verified, since 'cryptography' is not installed"
    return f"signed by {verified.trusted.key}"


def _records(
    resolved: Resolved, proof: VersionProof, verified: Verified, label: str | None
) -> list[Result]:
    faults = log_heads.disagreements(resolved, proof, verified, label)
    if faults:
        return [Result("record", False, fault) for fault in faults]
    return [
        Result("record", True, f"the log recorded {record.kind} of {record.model}@{record.number} "
               f"at {record.at}{f': {record.digest}' if record.digest else ''}.")
        for record in verified.records
        if record.number == proof.number
    ]  # fmt: skip


def _attestations_online(
    hub: Hub, resolved: Resolved, url: str, answer: Answer, proof: VersionProof
) -> tuple[AttestationProof | None, list[Result]]:
    """What the hub signed of the version, and what that proves; nothing from older hubs."""
    if attestations.STATEMENT not in answer.headers.get("Link", ""):
        return None, []
    try:
        signed, verified = log_heads.fetch_attestations(hub.reads, hub.cache, resolved, url)
    except problems.RecordMismatch as error:
        return None, [Result("attestation", False, str(error))]
    return signed, _attestations(signed, verified.head, proof)


def _attestations_saved(
    signed: AttestationProof, verified: Verified, proof: VersionProof
) -> list[Result]:
    try:
        head = proofs.verify_head(signed, verified.trusted).head
    except ProofError as error:
        return [Result("attestation", False, str(error))]
    return _attestations(signed, head, proof)


def _attestations(signed: AttestationProof, head: Checkpoint, proof: VersionProof) -> list[Result]:
    version = attestations.Expected(
        proof.model, proof.number, proof.manifest, is_withdrawn=proof.state == "withdrawn"
    )
    try:
        findings = list(attestations.verify(signed, head, version))
    except ProofError as error:
        return [Result("attestation", False, str(error))]
    return [Result("attestation", finding.is_verified, finding.text) for finding in findings]


def _bytes(hub: Hub, resolved: Resolved) -> Result:
    """Read every file, from the cache or the hub, and hash it."""
    name = str(resolved.ref)
    try:
        paths = hub.bring(name, list(resolved.files), progress=False)
    except problems.HubError as error:
        return Result("bytes", False, str(error))
    for file in resolved.files:
        with paths[file.sha256].open("rb") as reader:
            actual, _ = digests.copy_and_hash(reader, None)
        if actual != file.sha256:
            return Result(
                "bytes", False, f"{file.path} of {name} has other bytes than its digest says."
            )
    count = plural(len(resolved.files), "file")
    return Result("bytes", True, f"{count} of {name} have the digests in the answer of the hub.")


def _signatures(
    copies: list[SignatureCopy], resolved: Resolved, sigstore_root: Path | None
) -> list[Result]:
    """Verify the signatures of publishers, each by its own bundle."""
    lines = signatures.lines(copies, resolved, sigstore_root)
    return [Result("signature", *line) for line in lines]


def read_bundle(path: Path) -> Any:
    """The JSON of a bundle; raises `InvalidRequest`."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise problems.InvalidRequest(f"{path} cannot be read: {error}") from None
