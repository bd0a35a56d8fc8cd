"""The last head of each hub's transparency log, and whether what a hub serves agrees with it.

    heads/<hub>.json               the last verified head of the hub's log, and the log's key

A head is kept from the first answer on that links to a log. From then on the hub must show that its
log only grew, and that each version is what the log recorded.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hub.client.answers import Answer
from hub.client.cache import Cache, Resolved, hub_key
from hub.client.transport import API, Transport
from hub.counting import plural
from hub.protocol import digests, manifests, problems, refs
from hub.protocol.transparency import proofs
from hub.protocol.transparency.attestations import AttestationProof
from hub.protocol.transparency.merkle import ProofError
from hub.protocol.transparency.notes import Checkpoint, Note, NoteError
from hub.protocol.transparency.proofs import TrustedHead, Verified, VerifiedHead
from hub.protocol.transparency.records import HeadProof, VersionProof

_Proof = TypeVar("_Proof", bound=HeadProof)
_Head = TypeVar("_Head", bound=VerifiedHead)

# W3C's PROV-AQ, section 3.1: the relation by which an answer links to a log.
HAS_PROVENANCE = "http://www.w3.org/ns/prov#has_provenance"
_CURE = (
    "Nothing was loaded. Compare the head that you have (`hub verify --head`) with that of "
    "another user or of a witness, and ask the operator of the hub what happened. If the hub was "
    "restored from a backup, `hub verify --forget` accepts its present log."
)


def check(
    transport: Transport, cache: Cache, resolved: Resolved, answer: Answer, label: str | None
) -> None:
    """Raise `RecordMismatch` where the hub's log does not show what the hub answered.

    A hub without a log, of which no head is kept, is taken as it is.
    """
    url = hub_of(answer.url)
    if not resolved.is_lasting:
        return
    if HAS_PROVENANCE in answer.headers.get("Link", "") or find(cache, url) is not None:
        proof, verified = fetch(transport, cache, resolved, url)
        if faults := disagreements(resolved, proof, verified, label):
            raise mismatch(url, faults[0])


def fetch(
    transport: Transport, cache: Cache, resolved: Resolved, url: str
) -> tuple[VersionProof, Verified]:
    """The proof of a version, verified against the head that was kept, which it replaces.

    Raises `RecordMismatch`.
    """
    address = f"{_address(resolved)}/log"
    return _continued(transport, cache, url, address, VersionProof.read, proofs.verify)


def fetch_attestations(
    transport: Transport, cache: Cache, resolved: Resolved, url: str
) -> tuple[AttestationProof, VerifiedHead]:
    """What a hub signed of a version, in a head that is verified and kept as that of `fetch` is.

    Raises `RecordMismatch`.
    """
    address = f"{_address(resolved)}/attestations"
    return _continued(transport, cache, url, address, AttestationProof.read, proofs.verify_head)


def follow(transport: Transport, cache: Cache, url: str) -> VerifiedHead:
    """The newest head of a hub, verified against the one that was kept, which it replaces.

    Raises `RecordMismatch`.
    """
    address = "/api/v1/log/head"
    return _continued(transport, cache, url, address, HeadProof.read, proofs.verify_head)[1]


def _continued(
    transport: Transport,
    cache: Cache,
    url: str,
    address: str,
    read: Callable[[Any], _Proof],
    verify: Callable[[_Proof, TrustedHead | None], _Head],
) -> tuple[_Proof, _Head]:
    """A proof, and its head that continues the one that was kept, which it replaces."""
    url, earlier, answer = _ask(transport, cache, url, address)
    try:
        proof = read(answer)
        verified = verify(proof, earlier)
    except ProofError as error:
        raise mismatch(url, str(error)) from None
    keep(cache, url, verified.trusted)
    return proof, verified


def follow_from(transport: Transport, url: str, checkpoint: str) -> VerifiedHead:
    """The newest head of a hub, which must continue one that a witness cosigned.

    Raises `RecordMismatch`.
    """
    size = size_of(TrustedHead("", checkpoint))
    answer = transport.request("GET", "/api/v1/log/head", query={"since": size})
    try:
        proof = HeadProof.read(answer.json())
        # The keys of the log are verified from its first one on, the head from that of the other.
        verified = proofs.verify_head(proof, None)
        return proofs.verify_head(proof, TrustedHead(verified.trusted.key, checkpoint))
    except ProofError as error:
        raise mismatch(url, str(error)) from None


def _address(resolved: Resolved) -> str:
    return f"/api/v1/models/{resolved.ref.name}/versions/{resolved.number}"


def label_of(ref: str) -> str | None:
    """The tag or other label in a reference."""
    return refs.parse(ref).label


def _ask(
    transport: Transport, cache: Cache, url: str, address: str
) -> tuple[str, TrustedHead | None, Any]:
    """What a hub answers to a reader of its log, the hub, and the head that was kept of it."""
    while True:
        earlier = find(cache, url)
        try:
            answer = transport.request("GET", address, query={"since": size_of(earlier)})
        except problems.NotFound:
            if earlier is None:
                raise
            raise mismatch(
                url, f"The hub shows no log, which had {plural(size_of(earlier), 'record')}."
            ) from None
        if hub_of(answer.url) == url:
            return url, earlier, answer.json()
        url = hub_of(answer.url)  # a mirror answered meanwhile


def disagreements(
    resolved: Resolved, proof: VersionProof, verified: Verified, label: str | None
) -> list[str]:
    """What the hub answered otherwise than its log has it, each in a sentence."""
    faults = list(proofs.differences(proof, verified))
    if (proof.model, proof.number) != (resolved.ref.name, resolved.number):
        faults.append(f"The proof is of {proof.model}@{proof.number}, not of {resolved.ref}.")
    if proof.manifest != digests.format(resolved.manifest or ""):
        faults.append(
            f"The hub resolved {resolved.ref} to sha256:{resolved.manifest}; its log's page says "
            f"{proof.manifest}."
        )
    named = proofs.tags_of(verified.records).get(label or "")
    if named and named != resolved.number:
        faults.append(
            f"The tag {label} names version {resolved.number} here; the log recorded "
            f"version {named}."
        )
    files = digests.format(
        manifests.digest((file.path, file.sha256, file.size) for file in resolved.files)
    )
    own = [record for record in verified.records if record.number == proof.number]
    if files not in {proof.manifest, proofs.variants_of(own).get(resolved.variant or "")}:
        faults.append(
            f"The files of {resolved.ref}:{resolved.variant} are not those that the log recorded."
        )
    return faults


def find(cache: Cache, url: str) -> TrustedHead | None:
    """The head that was kept of a hub; raises `CacheUnusable` for a damaged file."""
    path = _path(cache, url)
    try:
        row = json.loads(path.read_bytes())
        return TrustedHead(str(row["key"]), str(row["checkpoint"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise problems.CacheUnusable(
            f"The head of the log of {url} in {path} cannot be read ({error}). Remove the file to "
            "accept the log that the hub has now."
        ) from None


def forget(cache: Cache, url: str) -> bool:
    """Accept whatever log a hub has the next time; returns whether a head was kept."""
    path = _path(cache, url)
    exists = path.exists()
    path.unlink(missing_ok=True)
    return exists


def size_of(head: TrustedHead | None) -> int:
    """How many records a head has; 0 for none."""
    if head is None:
        return 0
    try:
        return Checkpoint.parse(Note.parse(head.checkpoint).text).size
    except NoteError as error:
        raise problems.CacheUnusable(
            f"The head of a log in the cache is damaged: {error}"
        ) from None


def mismatch(url: str, fault: str) -> problems.RecordMismatch:
    """The error for what a log does not show."""
    return problems.RecordMismatch(f"{url} does not agree with its log: {fault} {_CURE}")


def keep(cache: Cache, url: str, head: TrustedHead) -> None:
    """Keep a head, unless another process has kept a later one."""
    if size_of(find(cache, url)) <= size_of(head):
        # Without a place for it, every head counts as the first.
        with contextlib.suppress(problems.CacheUnusable):
            cache.write_json(
                _path(cache, url), {"key": head.key, "checkpoint": head.checkpoint, "hub": url}
            )


def _path(cache: Cache, url: str) -> Path:
    return cache.folder / "heads" / f"{hub_key(url)}.json"


def hub_of(address: str) -> str:
    """The address of the hub that an address of its API belongs to."""
    return address.partition(API)[0]
