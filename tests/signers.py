"""Keys, certificates and bundles of publishers, made anew for each process of tests."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hub.client.signing import SigningKey
from hub.protocol import publishers

MAIL = "zoo@example.org"


def key(folder: Path, name: str = "key", curve: ec.EllipticCurve | None = None) -> Path:
    """A private key as PEM, with its public key beside it (`.pub`)."""
    made = ec.generate_private_key(curve or ec.SECP256R1())
    path = folder / f"{name}.pem"
    path.write_bytes(_private(made))
    path.with_suffix(".pub").write_bytes(_public(made))
    return path


def fingerprint(path: Path) -> str:
    """That of a private key's public key."""
    public = publishers.read_public_key(path.with_suffix(".pub").read_text())
    return publishers.fingerprint_of(public)


class Authority:
    """A certificate authority, which signs certificates of keys."""

    def __init__(self, folder: Path, name: str = "Example CA") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.folder = folder
        usages = usage(key_cert_sign=True)
        builder = self._builder(self.name, self.key.public_key(), days=30)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        self.certificate = builder.add_extension(usages, True).sign(self.key, hashes.SHA256())
        self.path = folder / f"{name.replace(' ', '-')}.pem"
        self.path.write_bytes(_pem(self.certificate))

    def certify(self, path: Path, mail: str = MAIL, *, days: int = 5, signs: bool = True) -> Path:
        """A certificate of a key for a mail address; below 0 days, one that has expired."""
        private = serialization.load_pem_private_key(path.read_bytes(), None)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Zoo")])
        names = x509.SubjectAlternativeName([x509.RFC822Name(mail)])
        builder = self._builder(subject, private.public_key(), days=days)
        builder = builder.add_extension(names, False)
        builder = builder.add_extension(usage(digital_signature=signs), True)
        made = path.with_suffix(".crt")
        made.write_bytes(_pem(builder.sign(self.key, hashes.SHA256())))
        return made

    def _builder(self, subject, public_key, *, days):
        now = datetime.now(UTC)
        own = x509.SubjectKeyIdentifier.from_public_key(public_key)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=10))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(own, False)
            .add_extension(issuer, False)
        )


def bundle(
    path: Path, files: dict[str, str], authority: Authority | None = None, **certified
) -> str:
    """The text of a bundle over files (path -> SHA-256 in hex), as `hub sign` makes it."""
    certificate = authority.certify(path, **certified) if authority else None
    chain = (authority.path,) if authority else ()
    return SigningKey(str(path), certificate, chain).sign(files, "ada/net").bundle


def digests_in(folder: Path) -> dict[str, str]:
    """The SHA-256 (hex) of each file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def model_signing(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line of model-signing."""
    command = [sys.executable, "-m", "model_signing", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def usage(**uses: bool) -> x509.KeyUsage:
    """The usages of a key that are given, and no others."""
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
        "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return functools.partial(x509.KeyUsage, **(dict.fromkeys(names, False) | uses))()


def _private(of: ec.EllipticCurvePrivateKey) -> bytes:
    return of.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _public(of: ec.EllipticCurvePrivateKey) -> bytes:
    return of.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _pem(of: x509.Certificate) -> bytes:
    return of.public_bytes(serialization.Encoding.PEM)
