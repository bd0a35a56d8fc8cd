"""Signatures of publishers, verified on this machine over the digests of what is loaded.

    signatures/<manifest>.json     bundles of a version, with the public keys that made them

Who signed is decided by the bundles alone, never by what a hub says of them. A file is loaded only
with the digest in `Resolved.files`, so a signature over these digests is one over its bytes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hub.client import config as settings
from hub.client.cache import Cache, Resolved
from hub.client.rest import answers
from hub.client.transport import Transport
from hub.counting import plural
from hub.protocol import digests, problems, publishers
from hub.protocol.publishers import Bundle, Signer, TrustedSigner
from hub.protocol.signed_statements import SignatureError

# Between an identity and who vouches for it.
_VIA = " via "
_CURE = (
    "Nothing was loaded. Ask the publisher for a signature (`hub sign`), or accept the signer with "
    "signed_by, --signed-by or HUB_REQUIRE_SIGNATURE."
)


@dataclass(frozen=True, slots=True)
class SignatureCopy:
    """A signature of a hub: its bundle, the PEM of its key, and the title of its signer there."""

    sha256: str
    bundle: str
    public_key: str
    declared_as: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is used of a signature in the hub's list."""

    sha256: str
    public_key: str
    declared_as: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a bundle is worth: who made it over the files, or why it is no signature of them."""

    signature: SignatureCopy
    signer: Signer | None
    fault: str = ""


def trusted(signed_by: Iterable[str], authorities: Path | None) -> tuple[TrustedSigner, ...]:
    """The signers that a reader names; raises `InvalidRequest`, `LibraryMissing`.

    Each is a fingerprint (`sha256:…`), a file with a public key or with certificate authorities
    (PEM), a name in certificates that ``authorities``, a PEM file, vouch for, or an identity and
    its issuer (`ada@zoo.example via https://accounts.example`).
    """
    require_library()
    try:
        return tuple(_trusted(each.strip(), authorities) for each in signed_by)
    except (OSError, UnicodeDecodeError, SignatureError) as error:
        raise problems.InvalidRequest(f"A signer cannot be read: {error}") from None


def demand(
    transport: Transport,
    cache: Cache,
    resolved: Resolved,
    signed_by: str | Sequence[str] | None = None,
) -> None:
    """Raise `SignatureMissing` unless all files of a reference are signed as the reader demands.

    That is by one of ``signed_by``, and by one of those whom the settings demand. Bundles in the
    cache are tried first.
    """
    config = transport.config
    demands = [config.signed_by] if config.signed_by else []
    if signed_by is not None:
        demands.append(settings.signers_in(signed_by))
    for names in demands:
        signers = trusted(names, config.signature_authorities)
        findings = inspect(stored(cache, resolved), resolved, config.sigstore_root)
        if not _has_one(findings, signers) and not config.offline:
            findings = inspect(fetch(transport, cache, resolved), resolved, config.sigstore_root)
        if not _has_one(findings, signers):
            raise problems.SignatureMissing(_refusal(resolved, findings, signers))


def fetch(transport: Transport, cache: Cache, resolved: Resolved) -> list[SignatureCopy]:
    """The signatures that a hub has of a version, kept in the cache; none where it offers none."""
    address = f"/api/v1/models/{resolved.ref.name}/versions/{resolved.number}/signatures"
    try:
        rows = transport.get(address)["items"]
    except problems.NotFound:
        return []
    had = {row.sha256: row.bundle for row in stored(cache, resolved)}
    signatures = []
    for row in (answers.read(_Row, row) for row in rows):
        sha256 = digests.parse(row.sha256)
        bundle = had.get(sha256) or _bundle(transport, f"{address}/{sha256}")
        signatures.append(SignatureCopy(sha256, bundle, row.public_key, row.declared_as))
    if resolved.manifest:
        with contextlib.suppress(problems.CacheUnusable):
            content = {"signatures": [asdict(row) for row in signatures]}
            cache.write_json(cache.signatures_path(resolved.manifest), content)
    return signatures


def stored(cache: Cache, resolved: Resolved) -> list[SignatureCopy]:
    """The signatures of a version in the cache; a damaged file counts as none."""
    for each in (cache, *cache.shared):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(each.signatures_path(resolved.manifest or "").read_bytes())
            return read(content["signatures"])
    return []


def read(rows: Any) -> list[SignatureCopy]:
    """Signatures from JSON; raises TypeError, KeyError."""
    names = SignatureCopy.__dataclass_fields__
    return [SignatureCopy(**{name: str(row[name]) for name in names}) for row in rows]


def inspect(
    signatures: Iterable[SignatureCopy], resolved: Resolved, sigstore_root: Path | None
) -> list[Finding]:
    """Verify each bundle over the files that a reference means."""
    files = {file.path: file.sha256 for file in resolved.files}
    findings = []
    for signature in signatures:
        try:
            bundle = Bundle.read(signature.bundle)
            public_key = "" if bundle.certificates else signature.public_key
            signer = bundle.verify(public_key, sigstore_root)
        except SignatureError as error:
            findings.append(Finding(signature, None, str(error)))
        else:
            findings.append(Finding(signature, signer, bundle.difference(files)))
    return findings


def lines(
    signatures: Sequence[SignatureCopy], resolved: Resolved, sigstore_root: Path | None
) -> list[tuple[bool, str]]:
    """Whether each signature is one of the files that a reference means, and a sentence."""
    if not signatures:
        return []
    try:
        require_library()
    except problems.LibraryMissing as error:
        return [(False, str(error))]
    space, count = resolved.ref.namespace, plural(len(resolved.files), "file")
    rows = []
    for finding in inspect(signatures, resolved, sigstore_root):
        title = finding.signature.declared_as
        declared = f"declares the signer as {title!r}" if title else "does not declare the signer"
        if finding.signer is None:
            rows.append((False, finding.fault))
        elif finding.fault:
            text = f"that of {finding.signer} is not one of {resolved.ref}: {finding.fault}."
            rows.append((False, text))
        else:
            text = f"{finding.signer} signed the {count}; by the hub's word, {space} {declared}."
            rows.append((True, text))
    return rows


def require_library() -> None:
    """Raise `LibraryMissing` where signatures cannot be verified."""
    try:
        import cryptography  # noqa: F401, PLC0415  (optional)
    except ImportError:
        raise problems.LibraryMissing(
            "Signatures are verified with 'cryptography': pip install 'onnx-hub[signing]'."
        ) from None


def _bundle(transport: Transport, address: str) -> str:
    answer = transport.request("GET", address)
    try:
        return answer.body.decode()
    except UnicodeDecodeError:
        raise problems.Unreachable("The hub's response is no Sigstore bundle.") from None


def _trusted(text: str, authorities: Path | None) -> TrustedSigner:
    if text.startswith(digests.PREFIX):
        return TrustedSigner(key=digests.format(digests.parse(text)))
    name, via, issuer = text.partition(_VIA)
    if via:
        return TrustedSigner(name=name.strip(), identity_issuer=issuer.strip())
    path = Path(text)
    if path.is_file():
        pem = path.read_text("ascii")
        if "PUBLIC KEY" in pem:
            return TrustedSigner(key=publishers.fingerprint_of(publishers.read_public_key(pem)))
        publishers.read_certificates(pem)
        return TrustedSigner(authorities=pem)
    if authorities is None or not text:
        raise problems.InvalidRequest(
            f"{text!r} is no fingerprint of a key (sha256:…) and no file. If it is a name in a "
            "certificate, set HUB_SIGNATURE_AUTHORITIES to a PEM file of the certificate "
            "authorities that vouch for it."
        )
    pem = authorities.read_text("ascii")
    publishers.read_certificates(pem)
    return TrustedSigner(authorities=pem, name=text)


def _has_one(findings: Iterable[Finding], signed_by: Sequence[TrustedSigner]) -> bool:
    now = datetime.now(UTC)
    return any(
        not each.refusal(finding.signer, now)
        for finding in findings
        if finding.signer is not None and not finding.fault
        for each in signed_by
    )


def _refusal(
    resolved: Resolved, findings: list[Finding], signed_by: Sequence[TrustedSigner]
) -> str:
    """What is signers, what there is, and what to do."""
    signers = " or ".join(map(str, signed_by))
    now = datetime.now(UTC)
    reasons = []
    for finding in findings:
        if finding.signer is None:
            reasons.append(f"a bundle is no signature ({finding.fault})")
        elif finding.fault:
            reasons.append(f"the signature of {finding.signer} is not one of these files: "
                         f"{finding.fault}")  # fmt: skip
        else:
            refusals = dict.fromkeys(each.refusal(finding.signer, now) for each in signed_by)
            reasons.append(f"it is signed by {finding.signer}: {', '.join(refusals)}")
    name = f"{resolved.ref}:{resolved.variant}" if resolved.variant else str(resolved.ref)
    return (
        f"{name} is not signed by {signers}: {'; '.join(reasons) or 'it has no signature'}. {_CURE}"
    )
