"""Xorbs and shards as a client makes them, and as a hostile one might."""

from __future__ import annotations

import struct

import lz4.frame

from registry.storage.xet import hashes, shards


def grouped(content):
    """The bytes in four groups, as scheme 2 has them before it compresses."""
    return b"".join(content[offset::4] for offset in range(4))


def chunk(content, scheme=0, *, plain_bytes=None, stored=None, version=0):
    """One chunk with its header; the keywords say something else than is true."""
    if stored is None:
        stored = content
        if scheme == 1:
            stored = lz4.frame.compress(content)
        elif scheme == 2:
            stored = lz4.frame.compress(grouped(content))
    length = len(content) if plain_bytes is None else plain_bytes
    return (
        bytes([version])
        + len(stored).to_bytes(3, "little")
        + bytes([scheme])
        + length.to_bytes(3, "little")
        + stored
    )


def xorb(*contents, scheme=0):
    """A xorb of chunks: its name and its bytes."""
    told = [(hashes.chunk_hash(content), len(content)) for content in contents]
    name = hashes.to_text(hashes.xorb_hash(told))
    return name, b"".join(chunk(content, scheme) for content in contents)


def shard(*files, version=2, magic=shards.MAGIC, end=True, flags=1 << 30):
    """A shard of files, each ``(sha256, [(xorb, start, end, size), …])``."""
    body = struct.pack("<32sQQ", magic, version, 0)
    for sha256, terms in files:
        body += struct.pack("<32sIIQ", b"\x01" * 32, flags, len(terms), 0)
        for name, start, stop, size in terms:
            body += struct.pack("<32sIIII", hashes.from_text(name), 0, size, start, stop)
        if flags & (1 << 31):
            body += bytes(48) * len(terms)
        if flags & (1 << 30):
            body += hashes.from_text(sha256) + bytes(16)
    return body + (b"\xff" * 32 + bytes(16) if end else b"")
