"""Xorbs: up to 64 MiB of chunks, each with a header of 8 bytes and perhaps compressed.

    version u8 = 0 | stored length u24 | scheme u8 | plain length u24 | stored bytes

Lengths are little-endian. A footer may follow the chunks; it says nothing that they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import lz4.frame

from registry.storage.xet import hashes

LONGEST_BYTES = 72 * 2**20
LONGEST_CHUNK_BYTES = 128 * 2**10
MOST_PLAIN_BYTES = 72 * 2**20
# An LZ4 frame of bytes that do not compress is a little longer than they are.
_LONGEST_STORED_BYTES = LONGEST_CHUNK_BYTES + 2**10
_MOST_CHUNKS = 2**16
_HEADER_BYTES = 8
_FOOTER = b"XETBLOB"
_PLAIN, _LZ4, _GROUPED = 0, 1, 2


class BadXorb(ValueError):  # noqa: N818 - read as `raise BadXorb`
    """Bytes that are not a xorb, or not the one that its name says."""


@dataclass(frozen=True, slots=True)
class Header:
    """Where a chunk lies in a xorb and how it is stored; lengths in bytes."""

    scheme: int
    stored_bytes: int
    plain_bytes: int


def headers(file: IO[bytes]) -> Iterator[Header]:
    """The chunks' headers from where ``file`` is, which is moved past each chunk in turn.

    After each header ``file`` stands at the chunk's stored bytes; where the caller reads them is
    its own affair. Raises BadXorb.
    """
    count = 0
    at = file.tell()
    while (header := _read_header(file)) is not None:
        count += 1
        if count > _MOST_CHUNKS:
            raise BadXorb(f"it has more than {_MOST_CHUNKS} chunks")
        at += _HEADER_BYTES
        yield header
        at += header.stored_bytes
        file.seek(at)


def plain(stored: bytes, header: Header) -> bytes:
    """A chunk's plain bytes; raises BadXorb, and never makes more of it than the header says."""
    if len(stored) != header.stored_bytes:
        raise BadXorb("it ends in the middle of a chunk")
    content = stored if header.scheme == _PLAIN else _unpacked(stored, header.plain_bytes)
    if len(content) != header.plain_bytes:
        raise BadXorb("a chunk has another length than its header says")
    return _ungrouped(content) if header.scheme == _GROUPED else content


def check(file: IO[bytes], name: str) -> list[int]:
    """Read a xorb through and give its chunks' plain lengths; raises BadXorb.

    ``name`` is its hash as addresses have it, which its bytes must have.
    """
    chunks: list[tuple[bytes, int]] = []
    total = 0
    for header in headers(file):
        total += header.plain_bytes
        if total > MOST_PLAIN_BYTES:
            raise BadXorb(f"its chunks have more than {MOST_PLAIN_BYTES} bytes")
        content = plain(file.read(header.stored_bytes), header)
        chunks.append((hashes.chunk_hash(content), header.plain_bytes))
    if not chunks:
        raise BadXorb("it contains no chunks")
    digest = hashes.to_text(hashes.xorb_hash(chunks))
    if digest != name:
        raise BadXorb(f"its bytes have the hash {digest}, not {name}")
    return [length for _, length in chunks]


def read(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    """The plain bytes of the chunks from ``start`` up to but not ``end``, one after another."""
    for index, header in enumerate(headers(file)):
        if index >= end:
            return
        if index >= start:
            yield plain(file.read(header.stored_bytes), header)


def _read_header(file: IO[bytes]) -> Header | None:
    """The next chunk's header, or None where the chunks end."""
    raw = file.read(_HEADER_BYTES)
    if not raw or raw.startswith(_FOOTER):
        return None
    if len(raw) < _HEADER_BYTES:
        raise BadXorb("it ends in the middle of a chunk's header")
    if raw[0] != 0:
        raise BadXorb(f"a chunk has the version {raw[0]}, and only 0 is known")
    header = Header(
        scheme=raw[4],
        stored_bytes=int.from_bytes(raw[1:4], "little"),
        plain_bytes=int.from_bytes(raw[5:8], "little"),
    )
    if header.scheme not in (_PLAIN, _LZ4, _GROUPED):
        raise BadXorb(f"a chunk is compressed by the scheme {header.scheme}; known are 0, 1 and 2")
    if not 0 < header.plain_bytes <= LONGEST_CHUNK_BYTES:
        raise BadXorb(
            f"a chunk has {header.plain_bytes} bytes instead of 1 to {LONGEST_CHUNK_BYTES}"
        )
    if not 0 < header.stored_bytes <= _LONGEST_STORED_BYTES:
        raise BadXorb(f"a chunk is stored in {header.stored_bytes} bytes")
    return header


def _unpacked(stored: bytes, length: int) -> bytes:
    """An LZ4 frame's content, of which one byte more than ``length`` is made at most."""
    unpacker = lz4.frame.LZ4FrameDecompressor()
    try:
        content: bytes = unpacker.decompress(stored, max_length=length + 1)
    except RuntimeError as error:
        raise BadXorb(f"a chunk is not an LZ4 frame ({error})") from error
    return content


def _ungrouped(grouped: bytes) -> bytes:
    """Undo the grouping by 4: first every byte 0, 4, 8…, then every byte 1, 5, 9…, and so on."""
    content = bytearray(len(grouped))
    at = 0
    for offset in range(4):
        length = len(range(offset, len(grouped), 4))
        content[offset::4] = grouped[at : at + length]
        at += length
    return bytes(content)
