"""Signatures of publishers: Sigstore bundles over every file of a version.

A bundle is what OpenSSF Model Signing writes: a DSSE envelope with one ECDSA signature over an
in-toto statement, which lists each file with its SHA-256. It is read as the words of a stranger:
in time linear in its length, which is bounded, and nothing of it is believed before its signature
is verified. Hub and client verify with the same functions.

Sources: Sigstore bundle 0.3, DSSE 1.0.2, in-toto Statement 1, and the predicate
`https://model_signing/signature/v1.0` of model-signing 1.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.counting import plural
from hub.protocol import digests, keyless, problems, strict
from hub.protocol.signed_statements import (
    SignatureError,
    bytes_of,
    expect,
    files_of,
    json_of,
    member,
    members,
)

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

MOST_BYTES = 4 << 20
MOST_CERTIFICATES = 8
MOST_CERTIFICATE_BYTES = 32 << 10
MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
_HASHES = {"secp256r1": "SHA256", "secp384r1": "SHA384", "secp521r1": "SHA512"}
_NAMED = 5


class SignerKind(StrEnum):
    """What names a signer."""

    KEY = "key"
    CERTIFICATE = "certificate"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Signer:
    """Who made a signature that verified.

    ``key`` is the fingerprint of the public key, ``public_key`` that key as PEM. ``certificates``
    are DER, the signer's first; without any, the names are empty. ``identity_issuer`` vouched for
    the first name of a keyless signature when it was made; it is empty for others.
    """

    key: str
    public_key: str
    certificates: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()
    issuer: str = ""
    identity_issuer: str = ""

    @property
    def kind(self) -> SignerKind:
        """Whether a key alone names the signer, a certificate too, or an identity."""
        if self.identity_issuer:
            return SignerKind.IDENTITY
        return SignerKind.CERTIFICATE if self.certificates else SignerKind.KEY

    @property
    def expires_at(self) -> datetime | None:
        """When the certificate expires; None without one."""
        leaf = next(map(_certificate, self.certificates), None)
        return leaf.not_valid_after_utc if leaf else None

    def __str__(self) -> str:
        """The first name in the certificate with its issuer, or the key's fingerprint."""
        if not self.names:
            return f"the key {self.key}"
        if self.identity_issuer:
            return f"{self.names[0]} (identity of {self.identity_issuer})"
        return f"{self.names[0]} (certificate issued by {self.issuer}, key {self.key})"


@dataclass(frozen=True)
class TrustedSigner:
    """Whose signatures count: a key, a name in certificates of an authority, or an identity.

    ``key`` is a fingerprint. ``authorities`` are certificates as PEM; ``name`` is a name in a
    certificate that one of them vouches for, and every name if it is empty. With
    ``identity_issuer``, ``name`` is the identity that it vouches for.
    """

    key: str = ""
    authorities: str = ""
    name: str = ""
    identity_issuer: str = ""

    def __str__(self) -> str:
        if self.key:
            return f"the key {self.key}"
        if self.identity_issuer:
            return f"{self.name}, identity of {self.identity_issuer}"
        if not self.authorities:
            return f"{self.name} of any authority"
        issuers = ", ".join(_subject(row) for row in self._authorities)
        return f"{self.name or 'any name'} certified by {issuers}"

    @cached_property
    def _authorities(self) -> list[x509.Certificate]:
        return read_certificates(self.authorities)

    def refusal(self, signer: Signer, at: datetime) -> str:
        """Why the signature of ``signer`` does not count at a time; empty where it does."""
        if self.key:
            return "" if signer.key == self.key else "it is another key"
        if self.identity_issuer or signer.identity_issuer:
            is_meant = self.identity_issuer == signer.identity_issuer
            return "" if is_meant and self.name in signer.names else "it is another identity"
        if not signer.certificates:
            return "it has no certificate"
        if self.name and self.name not in signer.names:
            return f"its certificate names {', '.join(signer.names)}"
        if not self.authorities:
            return "no certificate authority is set that could vouch for a name"
        return _chain_fault(signer, self._authorities, at)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A signature that was not verified yet: what it is over, and by whom it says it is.

    ``files`` are the SHA-256 (hex) of each path in the statement, ``key`` the fingerprint of its
    key if it has no certificates (DER). ``keyless`` is the text of a bundle with a certificate of
    Fulcio, and empty for others.
    """

    payload: bytes
    signature: bytes
    files: Mapping[str, str]
    key: str = ""
    certificates: tuple[bytes, ...] = ()
    keyless: str = ""

    @classmethod
    def read(cls, text: str | bytes) -> Bundle:
        """The bundle in a file; raises SignatureError."""
        if len(text) > MOST_BYTES:
            raise SignatureError(
                f"The bundle has more than {MOST_BYTES:,} bytes. Sign fewer files."
            )
        document = json_of(text, "the bundle")
        try:
            return cls._of(document, text if isinstance(text, str) else text.decode())
        except strict.UnreadableError as error:
            raise SignatureError(
                f"This is no Sigstore bundle of model-signing: {error}. "
                "Make one with `hub sign` or `model_signing sign`."
            ) from None

    @classmethod
    def _of(cls, document: dict[str, Any], text: str) -> Bundle:
        expect(document, "mediaType", MEDIA_TYPE)
        material = member(document, "verificationMaterial")
        envelope = member(document, "dsseEnvelope")
        expect(envelope, "payloadType", PAYLOAD_TYPE)
        signatures = strict.check(envelope.get("signatures"), list, "signatures")
        if len(signatures) != 1:
            raise strict.UnreadableError(f"it has {plural(len(signatures), 'signature')}, not one")
        payload = bytes_of(envelope, "payload")
        chain = material.get("x509CertificateChain")
        is_keyless = "certificate" in material
        if is_keyless:
            rows = [material["certificate"]]
        else:
            rows = members(chain, "certificates") if chain is not None else []
        if len(rows) > MOST_CERTIFICATES:
            raise strict.UnreadableError(f"it has more than {MOST_CERTIFICATES} certificates")
        key = {} if rows else member(material, "publicKey")
        hint = strict.check(key.get("hint") or "", str, "hint")
        certificates = tuple(
            bytes_of(strict.check(row, dict, "certificates"), "rawBytes") for row in rows
        )
        if sum(map(len, certificates)) > MOST_CERTIFICATE_BYTES:
            raise strict.UnreadableError(
                f"its certificates have more than {MOST_CERTIFICATE_BYTES:,} bytes"
            )
        return cls(
            payload=payload,
            signature=bytes_of(strict.check(signatures[0], dict, "signatures[0]"), "sig"),
            files=files_of(payload),
            key=digests.format(hint) if digests.is_hex(hint) else "",
            certificates=certificates,
            keyless=text if is_keyless else "",
        )

    def verify(self, public_key: str = "", trust_root: Path | None = None) -> Signer:
        """Verify the signature and return who made it; raises SignatureError.

        ``public_key`` is the PEM of the key of a bundle without certificates, ``trust_root`` the
        trust root of a Sigstore instance, without which keyless bundles are refused.
        """
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  (optional in clients)
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        if self.keyless and trust_root is None:
            raise SignatureError(
                "The bundle was signed without a key (Fulcio), and no Sigstore instance is trusted "
                "here. Set HUB_SIGSTORE_ROOT to the trusted_root.json of one, or sign with a key "
                "or a certificate of your own."
            )
        certificates = [_certificate(row) for row in self.certificates]
        if certificates:
            key = _signing_key(certificates[0])
        elif public_key:
            key = read_public_key(public_key)
        else:
            raise SignatureError(
                f"The bundle does not hold the key that made it ({self.key or 'unknown'}). Give "
                "the public key too (`hub sign --bundle FILE --public-key FILE`)."
            )
        fingerprint = fingerprint_of(key)
        if self.key and self.key != fingerprint:
            raise SignatureError(
                f"The bundle was signed by the key {self.key}; the public key given is "
                f"{fingerprint}. Give the key that made the bundle."
            )
        algorithm = getattr(hashes, _HASHES[key.curve.name])()
        try:
            key.verify(self.signature, _encoded(self.payload), ec.ECDSA(algorithm))
        except InvalidSignature:
            raise SignatureError(
                f"The signature was not made by the key {fingerprint}, or the bundle was changed. "
                "Sign again."
            ) from None
        return Signer(
            key=fingerprint,
            public_key=pem_of(key),
            certificates=self.certificates,
            names=_names(certificates[0]) if certificates else (),
            issuer=certificates[0].issuer.rfc4514_string() if certificates else "",
            identity_issuer=self._identity_issuer(trust_root)
            if trust_root and self.keyless
            else "",
        )

    def _identity_issuer(self, trust_root: Path) -> str:
        """Who vouched for the identity of a keyless signature; raises SignatureError."""
        payload, issuer = keyless.verify(self.keyless, trust_root)
        if payload != self.payload:
            raise SignatureError("The bundle can be read in two ways. Sign again.")
        return issuer

    def difference(self, files: Mapping[str, str]) -> str:
        """How files (path -> SHA-256 in hex) differ from the signed ones; empty for no way."""
        unsigned = sorted(files.keys() - self.files.keys())
        if unsigned:
            return f"it does not cover {_list_of(unsigned)}"
        changed = sorted(path for path in files if files[path] != self.files[path])
        if changed:
            return f"it signs other bytes of {_list_of(changed)}"
        absent = sorted(self.files.keys() - files.keys())
        return f"it also signs {_list_of(absent)}, which is not there" if absent else ""


def read_public_key(pem: str) -> ec.EllipticCurvePublicKey:
    """The public key in a PEM; raises SignatureError for what model-signing does not use."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  (optional in clients)
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    try:
        return _elliptic(serialization.load_pem_public_key(pem.encode()))
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError(
            "This is no public key of an elliptic curve in PEM. Write it with "
            "`openssl pkey -in key.pem -pubout`."
        ) from None


def read_certificates(pem: str) -> list[x509.Certificate]:
    """The certificates in a PEM, one at least; raises SignatureError."""
    from cryptography import x509  # noqa: PLC0415  (optional in clients)

    try:
        rows = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise SignatureError("This is no certificate in PEM.") from None
    if len(rows) > MOST_CERTIFICATES:
        raise SignatureError(f"More than {MOST_CERTIFICATES} certificates were given.")
    return rows


def fingerprint_of(key: ec.EllipticCurvePublicKey) -> str:
    """The fingerprint by which bundles name a key: `sha256:` and the SHA-256 of its PEM."""
    return digests.format(hashlib.sha256(pem_of(key).encode()).hexdigest())


def validity_fault(signer: Signer, at: datetime) -> str:
    """Why a certificate is not valid at a time; empty where it is, or there is none.

    That of an identity was valid when it signed, and is never used again.
    """
    if signer.identity_issuer:
        return ""
    for leaf in map(_certificate, signer.certificates[:1]):
        if not leaf.not_valid_before_utc <= at <= leaf.not_valid_after_utc:
            return (
                f"its certificate is valid from {leaf.not_valid_before_utc:%Y-%m-%d} to "
                f"{leaf.not_valid_after_utc:%Y-%m-%d} alone"
            )
    return ""


def _encoded(payload: bytes) -> bytes:
    """What DSSE signs: the pre-authentication encoding of type and payload."""
    return b"DSSEv1 %d %b %d %b" % (
        len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload,
    )  # fmt: skip


def _certificate(der: bytes) -> x509.Certificate:
    from cryptography import x509  # noqa: PLC0415  (optional in clients)

    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise SignatureError("A certificate in the bundle cannot be read.") from None


def _signing_key(of: x509.Certificate) -> ec.EllipticCurvePublicKey:
    """The key of a certificate that may sign; raises SignatureError."""
    from cryptography import x509  # noqa: PLC0415  (optional in clients)
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    extensions = _extensions(of)
    usage = next((row.value for row in extensions if isinstance(row.value, x509.KeyUsage)), None)
    purposes = [row.value for row in extensions if isinstance(row.value, x509.ExtendedKeyUsage)]
    signs_code = any(ExtendedKeyUsageOID.CODE_SIGNING in row for row in purposes)
    if not ((usage is not None and usage.digital_signature) or signs_code):
        raise SignatureError(
            f"The certificate of {_subject(of)} may not sign: it has neither the key usage "
            "digitalSignature nor codeSigning. Ask its authority for another."
        )
    try:
        return _elliptic(of.public_key())
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureError(
            f"The certificate of {_subject(of)} has no key of the curves P-256, P-384 or P-521. "
            "Model signatures use these."
        ) from None


def _elliptic(key: Any) -> ec.EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (optional in clients)

    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name not in _HASHES:
        raise ValueError("another kind of key")
    return key


def _extensions(of: x509.Certificate) -> list[Any]:
    try:
        return list(of.extensions)
    except ValueError:
        raise SignatureError("A certificate in the bundle has damaged extensions.") from None


def pem_of(key: ec.EllipticCurvePublicKey) -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    content = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return content.decode("ascii")


def _subject(of: x509.Certificate) -> str:
    return of.subject.rfc4514_string() or "an empty subject"


def _names(of: x509.Certificate) -> tuple[str, ...]:
    """The names in a certificate: mail addresses, URIs and host names first, then the subject."""
    from cryptography import x509  # noqa: PLC0415  (optional in clients)

    names = [
        str(name.value)
        for row in _extensions(of)
        if isinstance(row.value, x509.SubjectAlternativeName)
        for name in row.value
        if isinstance(name, x509.RFC822Name | x509.UniformResourceIdentifier | x509.DNSName)
    ]
    subject = of.subject.rfc4514_string()
    return (*names, subject) if subject or not names else tuple(names)


def _chain_fault(signer: Signer, authorities: list[x509.Certificate], at: datetime) -> str:
    """Why no authority vouches for a certificate at a time; empty where one does.

    Path validation (RFC 5280, section 6) is that of `cryptography`: authorities must be marked as
    such, with at most two between them and the signer.
    """
    from cryptography.x509 import verification  # noqa: PLC0415  (optional in clients)

    if fault := validity_fault(signer, at):
        return fault
    policy = (
        verification.PolicyBuilder()
        .store(verification.Store(authorities))
        .time(at)
        .extension_policies(
            ca_policy=verification.ExtensionPolicy.webpki_defaults_ca(),
            ee_policy=verification.ExtensionPolicy.permit_all(),
        )
    )
    leaf, *others = [_certificate(row) for row in signer.certificates]
    try:
        policy.build_client_verifier().verify(leaf, others)
    except verification.VerificationError as error:
        return f"its certificate does not lead to the authority ({problems.one_line(str(error))})"
    return ""


def _list_of(paths: list[str]) -> str:
    rest = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {plural(rest, 'file')} more" if rest > 0 else "")
