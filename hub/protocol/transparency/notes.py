"""Signed notes and the heads of logs as C2SP defines them, with Ed25519.

https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint, https://c2sp.org/tlog-cosignature
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from hub.protocol import problems
from hub.protocol.transparency import merkle

# Types of signatures in C2SP's registry: of a log, and of a witness with its time.
ED25519, COSIGNATURE = 1, 4
_KEY_BYTES, _SIGNATURE_BYTES, _TIME_BYTES = 32, 64, 8
_SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)")
_NAME = re.compile(r"[^\s+]{1,200}")
_PRIVATE = "PRIVATE+KEY"
_LONGEST_NOTE = 64_000
_MOST_SIZE = 1 << 53


class NoteError(ValueError):
    """A note, a key or a head is malformed, or its signature is not right."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """The public key of a signer: its name, its kind of signatures and its 32 bytes."""

    name: str
    kind: int
    key: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `<name>+<hash>+<base64>`; raises NoteError."""
        name, _, rest = text.partition("+")
        digits, _, encoded = rest.partition("+")
        content = _decode(encoded)
        if len(content) != 1 + _KEY_BYTES or content[0] not in {ED25519, COSIGNATURE}:
            raise NoteError(f"{text!r} is not an Ed25519 key of a signed note.")
        verifier = cls(_checked_name(name), content[0], content[1:])
        if verifier.hash.hex() != digits:
            raise NoteError(f"The hash in the key {text!r} is not that of its content.")
        return verifier

    @property
    def hash(self) -> bytes:
        """The four bytes that name the key in signatures."""
        content = self.name.encode() + b"\n" + bytes([self.kind]) + self.key
        return hashlib.sha256(content).digest()[:4]

    def __str__(self) -> str:
        content = base64.b64encode(bytes([self.kind]) + self.key).decode()
        return f"{self.name}+{self.hash.hex()}+{content}"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line of a note: who signed by name and hash of the key, and the signature."""

    name: str
    hash: bytes
    content: bytes

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.hash + self.content).decode()}\n"


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key: ``seed`` has 32 bytes."""

    name: str
    kind: int
    seed: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `PRIVATE+KEY+<name>+<hash>+<base64>`; raises NoteError."""
        kind, digits, content = "", "", b""
        if text.startswith(f"{_PRIVATE}+"):
            kind, _, rest = text.removeprefix(f"{_PRIVATE}+").partition("+")
            digits, _, encoded = rest.partition("+")
            content = _decode(encoded)
        if len(content) != 1 + _KEY_BYTES or content[0] not in {ED25519, COSIGNATURE}:
            raise NoteError("It is not a private Ed25519 key of signed notes.")
        signer = cls(_checked_name(kind), content[0], content[1:])
        if signer.verifier.hash.hex() != digits:
            raise NoteError("The hash in the private key is not that of its content.")
        return signer

    @property
    def verifier(self) -> Verifier:
        """The public key."""
        key = _ed25519().Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return Verifier(self.name, self.kind, key.public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Sign bytes."""
        key = _ed25519().Ed25519PrivateKey.from_private_bytes(self.seed)
        return bytes(key.sign(message))

    def __str__(self) -> str:
        content = base64.b64encode(bytes([self.kind]) + self.seed).decode()
        return f"{_PRIVATE}+{self.name}+{self.verifier.hash.hex()}+{content}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends with a newline, and its signatures."""

    text: str
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def parse(cls, content: str) -> Self:
        """Read a note; raises NoteError. Nothing is verified yet."""
        text, separator, lines = content.rpartition("\n\n")
        if not separator or not lines.endswith("\n") or len(content) > _LONGEST_NOTE:
            raise NoteError("It is not a signed note.")
        return cls(f"{text}\n", tuple(map(_signature, lines[:-1].split("\n"))))

    def signed_by(self, signer: Signer) -> Note:
        """The note with one more signature."""
        verifier = signer.verifier
        signature = Signature(verifier.name, verifier.hash, signer.sign(self.text.encode()))
        return Note(self.text, (*self.signatures, signature))

    def cosigned_by(self, witness: Signer, seconds: int) -> Note:
        """The note with the cosignature of a witness, at a time in seconds since 1970."""
        verifier = witness.verifier
        content = seconds.to_bytes(_TIME_BYTES, "big") + witness.sign(self._dated(seconds))
        return Note(self.text, (*self.signatures, Signature(verifier.name, verifier.hash, content)))

    def verify(self, verifier: Verifier) -> int:
        """The time of a cosignature, or 0; raises NoteError unless the key signed the note."""
        for signature in self.signatures:
            if (signature.name, signature.hash) != (verifier.name, verifier.hash):
                continue
            if verifier.kind == ED25519:
                _verify(verifier.key, signature.content, self.text.encode())
                return 0
            seconds = int.from_bytes(signature.content[:_TIME_BYTES], "big")
            _verify(verifier.key, signature.content[_TIME_BYTES:], self._dated(seconds))
            return seconds
        raise NoteError(f"It is not signed by {verifier}.")

    def _dated(self, seconds: int) -> bytes:
        return f"cosignature/v1\ntime {seconds}\n{self.text}".encode()

    def __str__(self) -> str:
        return f"{self.text}\n{''.join(map(str, self.signatures))}"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a log: the log's name, how many leaves it has, and the root of its tree."""

    origin: str
    size: int
    root: bytes

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a note; raises NoteError."""
        origin, size, root, *_ = [*text.split("\n"), "", "", ""]
        if not origin or not re.fullmatch(r"0|[1-9][0-9]{0,15}", size) or int(size) > _MOST_SIZE:
            raise NoteError("It is not the head of a log.")
        content = _decode(root)
        if len(content) != merkle.HASH_BYTES:
            raise NoteError("The head of the log has no root.")
        return cls(origin, int(size), content)

    def __str__(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def verify_bytes(key: bytes, signature: bytes, message: bytes) -> None:
    """Raise NoteError unless the signature of the message is right."""
    _verify(key, signature, message)


def any_of(note: Note, verifiers: Iterable[Verifier]) -> Verifier:
    """The first of these keys that signed the note; raises NoteError."""
    for verifier in verifiers:
        if any((at.name, at.hash) == (verifier.name, verifier.hash) for at in note.signatures):
            note.verify(verifier)
            return verifier
    raise NoteError("None of the log's keys signed its head.")


def _signature(line: str) -> Signature:
    match = _SIGNATURE_LINE.fullmatch(line)
    content = _decode(match[2]) if match else b""
    if match is None or len(content) <= 4:
        raise NoteError("A signature line of the note is malformed.")
    return Signature(match[1], content[:4], content[4:])


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise NoteError(f"{name!r} is not a name of a key.")
    return name


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _verify(key: bytes, signature: bytes, message: bytes) -> None:
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  (optional)

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        raise NoteError("A signature is not right.") from None


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  (optional)
    except ImportError:
        raise problems.LibraryMissing(
            "Signatures need 'cryptography': pip install 'onnx-hub[federated]'."
        ) from None
    return ed25519
