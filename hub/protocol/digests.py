"""SHA-256 names of bytes: `sha256:<64 hex>` on the wire, 64 lower-case hex digits in code.

Hashing always happens while bytes pass through one reused buffer, never by loading a file.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Protocol

from hub.protocol import problems

PREFIX = "sha256:"
BUFFER_BYTES = 1 << 20
_HEX = re.compile(r"[0-9a-f]{64}")


class Reader(Protocol):
    """A binary source that fills a buffer, such as an open file."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


class Writer(Protocol):
    """A binary sink, such as an open file."""

    def write(self, data: memoryview, /) -> object: ...


def is_hex(text: str) -> bool:
    """Say whether the text is 64 lower-case hex digits."""
    return _HEX.fullmatch(text) is not None


def parse(text: str) -> str:
    """Return the 64 hex digits of `sha256:<64 hex>`; raise `InvalidRequest` for anything else."""
    if not isinstance(text, str) or not text.startswith(PREFIX) or not is_hex(text[len(PREFIX) :]):
        raise problems.InvalidRequest(
            f"{str(text)[:80]!r} is not a digest: write 'sha256:' and 64 lower-case hex digits."
        )
    return text[len(PREFIX) :]


def format(hex_digits: str) -> str:  # noqa: A001  (read as digests.format)
    """Return `sha256:<64 hex>`; raise `InvalidRequest` when the digits are not a digest."""
    text = PREFIX + hex_digits
    parse(text)
    return text


def hash_bytes(content: bytes) -> str:
    """Return the 64 hex digits of some bytes."""
    return hashlib.sha256(content).hexdigest()


def hash_file(path: str | os.PathLike[str]) -> str:
    """Return the 64 hex digits of a file's bytes; raise `OSError` when it cannot be read."""
    with Path(path).open("rb", buffering=0) as reader:
        return copy_and_hash(reader, None)[0]


def copy_and_hash(reader: Reader, writer: Writer | None) -> tuple[str, int]:
    """Copy until the end and return (64 hex digits, bytes copied); `None` only hashes."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(BUFFER_BYTES))
    total = 0
    while count := reader.readinto(buffer):
        part = buffer[:count]
        digest.update(part)
        if writer is not None:
            _write_all(writer, part)
        total += count
    return digest.hexdigest(), total


def _write_all(writer: Writer, part: memoryview) -> None:
    # A raw (unbuffered) file may take fewer bytes than it was given.
    while part.nbytes:
        count = writer.write(part)
        if not isinstance(count, int):
            return
        part = part[count:]
