"""Shards: how files are made of ranges of chunks. Read one record of 48 bytes at a time.

    header      magic 32 | version u64 = 2 | footer bytes u64
    each file   hash 32 | flags u32 | terms u32 | unused 8
      terms     xorb hash 32 | flags u32 | plain bytes u32 | first chunk u32 | chunk after u32
      if flags bit 31: as many records that verify ranges, which the file's SHA-256 makes needless
      if flags bit 30: sha256 32 | unused 16
    an end record, 32 bytes of 0xFF first; then what xorbs hold, which their own bytes state better

Numbers are little-endian. The SHA-256 is stored as hashes are: each 8-byte group reversed in text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from registry.storage.xet import hashes

LONGEST_BYTES = 72 * 2**20
MAGIC = (
    b"HFRepoMetaData\x00"
    + bytes(
        [
            0x55,
            0x69,
            0x67,
            0x45,
            0x6A,
            0x7B,
            0x81,
            0x57,
            0x83,
            0xA5,
            0xBD,
            0xD9,
            0x5C,
            0xCD,
            0xD1,
            0x4A,
        ]
    )
    + b"\xa9"
)
VERSION = 2
_RECORD_BYTES = 48
_END = b"\xff" * hashes.HASH_BYTES
_HEADER = struct.Struct("<32sQQ")
_FILE = struct.Struct("<32sIIQ")
_TERM = struct.Struct("<32sIIII")
_VERIFIED = 1 << 31
_DESCRIBED = 1 << 30


class BadShard(ValueError):  # noqa: N818 - read as `raise BadShard`
    """Bytes that are not a shard that can be taken in."""


@dataclass(frozen=True, slots=True)
class Term:
    """A range of chunks of one xorb: from ``start`` up to but not ``end``; ``size`` plain bytes."""

    xorb: str
    start: int
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class File:
    """A file: its SHA-256 in hex and what it is made of."""

    sha256: str
    terms: tuple[Term, ...]

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return sum(term.size for term in self.terms)


def read(stream: IO[bytes]) -> Iterator[File]:
    """The files that a shard describes; raises BadShard."""
    magic, version, _ = _HEADER.unpack(_record(stream))
    if magic != MAGIC:
        raise BadShard("it does not start like a shard")
    if version != VERSION:
        raise BadShard(f"it has the version {version}, and only {VERSION} is known")
    while (record := _record(stream))[: hashes.HASH_BYTES] != _END:
        yield _file(stream, record)


def _file(stream: IO[bytes], record: bytes) -> File:
    _, flags, count, _ = _FILE.unpack(record)
    terms = tuple(_term(_record(stream)) for _ in range(count))
    if not terms:
        raise BadShard("a file has no content; empty files are sent with their commit")
    if flags & _VERIFIED:
        for _ in range(count):
            _record(stream)
    if not flags & _DESCRIBED:
        raise BadShard("a file has no SHA-256, which this hub requires")
    return File(hashes.to_text(_record(stream)[: hashes.HASH_BYTES]), terms)


def _term(record: bytes) -> Term:
    xorb, _, size, start, end = _TERM.unpack(record)
    if end <= start or size == 0:
        raise BadShard("a file names an empty range of chunks")
    return Term(hashes.to_text(xorb), start, end, size)


def _record(stream: IO[bytes]) -> bytes:
    record = stream.read(_RECORD_BYTES)
    if len(record) != _RECORD_BYTES:
        raise BadShard("it is truncated")
    return record
