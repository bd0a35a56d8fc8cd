"""Keyless signatures: an identity signed, certified by Fulcio for some minutes.

That the certificate was valid when the signature was made follows from the entry of a Rekor log, or
from a timestamp (RFC 3161). `sigstore` verifies all of it against a trust root, without a network:
the file `trusted_root.json` of a Sigstore instance, with the keys of its services.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hub.protocol import problems
from hub.protocol.signed_statements import SignatureError

if TYPE_CHECKING:
    from cryptography import x509
    from sigstore.verify import Verifier

# https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md
_IDENTITY_ISSUER = "1.3.6.1.4.1.57264.1.8"
_UTF8_STRING = 0x0C


@dataclass
class _Identity:
    """A policy of `sigstore` that accepts every identity, and notes who vouched for it."""

    issuer: str = ""

    def verify(self, certificate: x509.Certificate) -> None:
        """Read the issuer of the identity; raises SignatureError where there is none."""
        from cryptography import x509  # noqa: PLC0415  (optional in clients)

        for row in certificate.extensions:
            value = row.value
            if row.oid.dotted_string == _IDENTITY_ISSUER and isinstance(
                value, x509.UnrecognizedExtension
            ):
                self.issuer = _text(value.value)
        if not self.issuer:
            raise SignatureError("its certificate names no issuer of an identity")


def verify(bundle: str, trust_root: Path) -> tuple[bytes, str]:
    """The payload that a keyless bundle signs, and the issuer of the identity that signed.

    Raises SignatureError, and LibraryMissing without `sigstore`.
    """
    identity = _Identity()
    verifier = _verifier(trust_root)
    from sigstore.models import Bundle  # noqa: PLC0415  (optional)

    try:
        _, payload = verifier.verify_dsse(Bundle.from_json(bundle), identity)
    # What a stranger wrote; `sigstore` lets errors of several libraries through.
    except Exception as error:  # noqa: BLE001
        raise SignatureError(
            f"The bundle does not verify against the Sigstore instance that is trusted here "
            f"({problems.one_line(str(error))}). Sign with that instance, or with a key."
        ) from None
    return payload, identity.issuer


def _verifier(trust_root: Path) -> Verifier:
    try:
        from sigstore.models import TrustedRoot  # noqa: PLC0415  (optional)
        from sigstore.verify import Verifier  # noqa: PLC0415  (optional)
    except ImportError:
        raise problems.LibraryMissing(
            "Keyless signatures are verified with sigstore: pip install 'onnx-hub[keyless]'."
        ) from None
    try:
        return Verifier(trusted_root=TrustedRoot.from_file(str(trust_root)))
    except Exception as error:  # noqa: BLE001 - its errors have no class of their own
        raise SignatureError(
            f"The trust root {trust_root} cannot be read ({problems.one_line(str(error))}). Give "
            "the trusted_root.json of a Sigstore instance in HUB_SIGSTORE_ROOT."
        ) from None


def _text(der: bytes) -> str:
    """The text of a UTF8String in DER; empty for anything else."""
    if len(der) < 2 or der[0] != _UTF8_STRING:
        return ""
    size, start = der[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[2:start], "big")
    content = der[start:]
    return content.decode("utf-8", "replace") if len(content) == size else ""
