"""Signing the files of a version, with model-signing and a key of the publisher.

The key is a PEM file or lies in a token behind PKCS #11; it never leaves this process. What is
signed are the digests that this machine computed, or had to verify before.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hub.client.local_files import CARD, LocalFile
from hub.client.transport import Transport
from hub.protocol import digests, problems, publishers
from hub.protocol.publishers import Bundle
from hub.protocol.signed_statements import SignatureError

if TYPE_CHECKING:
    from model_signing.manifest import Manifest

PKCS11 = "pkcs11:"
KEYLESS = "keyless"


@dataclass(frozen=True, slots=True)
class NewSignature:
    """The text of a Sigstore bundle, and the PEM of its key where it has no certificate."""

    bundle: str
    public_key: str = ""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key: a PEM file or a PKCS #11 URI (RFC 7512), perhaps with its certificate.

    The place `keyless` means none: a Sigstore instance certifies the identity of the user for this
    signature. It is that of the ClientTrustConfig in HUB_SIGSTORE_CONFIG, or the public one. The
    identity token comes from SIGSTORE_ID_TOKEN, from the CI that this runs in, or from a browser.

    ``chain`` are files of certificates that lead from it to an authority, with that of the
    authority or without; ``password`` is that of the PEM file.
    """

    place: str
    certificate: Path | None = None
    chain: Sequence[Path] = ()
    password: str | None = None

    def sign(self, files: Mapping[str, str], name: str) -> NewSignature:
        """Sign files (path -> SHA-256 in hex) of a model of this name.

        Raises `InvalidRequest`, `LibraryMissing`.
        """
        config = self._config()
        config.set_hashing_config(_Digests(files))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bundle"
            if self.place == KEYLESS:
                _sign_keyless(config, name, path)
            else:
                config.sign(name, path)
            text = path.read_text("utf-8")
        has_key = self.certificate is None and self.place != KEYLESS
        return NewSignature(text, self._public_key(config) if has_key else "")

    def _config(self) -> Any:
        """What model-signing needs to sign with the key."""
        if self.certificate is not None and not self.chain:
            raise problems.InvalidRequest(
                "A certificate needs the chain that leads to its authority: give the certificate "
                "of the authority at least (chain, --chain)."
            )
        try:
            from model_signing import signing  # noqa: PLC0415  (optional)
        except ImportError:
            raise problems.LibraryMissing(
                "Signing needs model-signing: pip install 'onnx-hub[signing]'."
            ) from None
        config: Any = cast("Any", signing).Config()
        if self.place == KEYLESS:
            return config
        try:
            if not self.place.startswith(PKCS11):
                return self._with_file(config)
            if self.certificate is None:
                return config.use_pkcs11_signer(pkcs11_uri=self.place)
            return config.use_pkcs11_certificate_signer(
                pkcs11_uri=self.place,
                signing_certificate=self.certificate,
                certificate_chain=list(self.chain),
            )
        # model-signing and the module of a token have no class of errors of their own.
        except Exception as error:  # noqa: BLE001
            words = problems.one_line(str(error))
            raise problems.InvalidRequest(
                f"The key {self._place_without_pin()} cannot be used to sign ({words}). Give a "
                "private key of the curve P-256, P-384 or P-521: a PEM file, or a PKCS #11 URI "
                "with the PIN."
            ) from None

    def _with_file(self, config: Any) -> Any:
        password = self.password.encode() if self.password else None
        if self.certificate is None:
            return config.use_elliptic_key_signer(private_key=self.place, password=password)
        return config.use_certificate_signer(
            private_key=self.place,
            signing_certificate=self.certificate,
            certificate_chain=list(self.chain),
        )

    def _public_key(self, config: Any) -> str:
        """The PEM of the public key, which a bundle does not hold."""
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

        if self.place.startswith(PKCS11):
            key = config._signer.public_key()  # noqa: SLF001 - the token is open once alone
        else:
            password = self.password.encode() if self.password else None
            content = Path(self.place).read_bytes()
            key = serialization.load_pem_private_key(content, password).public_key()
        return publishers.pem_of(key)

    def _place_without_pin(self) -> str:
        """The place of the key without what may be a PIN."""
        return self.place.partition("?")[0]


def key_of(key: SigningKey | str | os.PathLike[str] | None) -> SigningKey:
    """A key to sign with, from its place."""
    return key if isinstance(key, SigningKey) else SigningKey(os.fspath(key or ""))


def _sign_keyless(config: Any, name: str, path: Path) -> None:
    """Sign by an identity, which a Sigstore instance certifies; raises InvalidRequest."""
    trust = os.environ.get("HUB_SIGSTORE_CONFIG")
    try:
        config.use_sigstore_signer(
            use_ambient_credentials=True,
            identity_token=os.environ.get("SIGSTORE_ID_TOKEN"),
            trust_config=Path(trust) if trust else None,
        ).sign(name, path)
    # model-signing and sigstore let errors of several libraries through.
    except Exception as error:  # noqa: BLE001
        raise problems.InvalidRequest(
            f"The Sigstore instance did not sign ({problems.one_line(str(error))}). Set "
            "HUB_SIGSTORE_CONFIG to its ClientTrustConfig and SIGSTORE_ID_TOKEN to an identity "
            "token, or sign with a key."
        ) from None


def digests_of(files: Iterable[LocalFile], card: str | None) -> dict[str, str]:
    """The SHA-256 of each file that a push of these makes a version of."""
    own = {file.path: file.sha256 for file in files}
    return own | ({CARD: digests.hash_bytes(card.encode())} if card is not None else {})


def add(transport: Transport, name: str, number: int, signature: NewSignature) -> dict[str, Any]:
    """Send a signature to a version, unless its signer has signed it already; return it."""
    address = f"/api/v1/models/{name}/versions/{number}/signatures"
    content = {"bundle": signature.bundle, "public_key": signature.public_key}
    try:
        bundle = Bundle.read(signature.bundle)
        if bundle.keyless:  # its certificate is new; the hub verifies it
            return dict(transport.request("POST", address, content=content, repeatable=True).json())
        signer = bundle.verify(signature.public_key)
    except SignatureError as error:
        raise problems.SignatureInvalid(str(error)) from None
    end = signer.expires_at
    for row in transport.get(address)["items"]:
        if (row["key"], row["expires_at"]) == (signer.key, end and end.strftime("%Y-%m-%dT%XZ")):
            return dict(row)
    return dict(transport.request("POST", address, content=content, repeatable=True).json())


class _Digest(NamedTuple):
    """A digest as model-signing reads it."""

    algorithm: str
    digest_value: bytes

    @property
    def digest_hex(self) -> str:
        """In hex."""
        return self.digest_value.hex()


class _Digests:
    """What model-signing asks for hashes: those that are known already."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def hash(self, name: str, **_: Any) -> Manifest:
        """The manifest of the files, whatever the folder."""
        from model_signing import manifest  # noqa: PLC0415  (optional)

        kind = manifest.SerializationType.from_args(
            {"method": "files", "hash_type": "sha256", "allow_symlinks": False}
        )
        items = [
            kind.new_item(path, cast("Any", _Digest("sha256", bytes.fromhex(sha256))))
            for path, sha256 in self._files.items()
        ]
        return manifest.Manifest(name, items, kind)
