"""The hashes of Xet: keyed BLAKE3 for chunks, and a tree of them for a xorb."""

from __future__ import annotations

from collections.abc import Sequence

from blake3 import blake3

HASH_BYTES = 32
_CHUNK_KEY = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
_NODE_KEY = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
_BRANCHES = 4


class BadHash(ValueError):  # noqa: N818 - read as `raise BadHash`
    """A hash that is not 64 hex digits."""


def chunk_hash(content: bytes) -> bytes:
    """The hash of a chunk's plain bytes."""
    return blake3(content, key=_CHUNK_KEY).digest()


def xorb_hash(chunks: Sequence[tuple[bytes, int]]) -> bytes:
    """The hash of a xorb: the root over its chunks' ``(hash, plain length)`` in order."""
    if not chunks:
        return bytes(HASH_BYTES)
    level = list(chunks)
    while len(level) > 1:
        above = []
        start = 0
        while start < len(level):
            end = start + _children(level, start)
            above.append(_node(level[start:end]))
            start = end
        level = above
    return level[0][0]


def to_text(value: bytes) -> str:
    """A hash as it is written in addresses: each group of 8 bytes reversed, in hex."""
    return b"".join(value[at : at + 8][::-1] for at in range(0, HASH_BYTES, 8)).hex()


def from_text(text: str) -> bytes:
    """The hash that an address names; raises BadHash."""
    if len(text) != 2 * HASH_BYTES or not set(text) <= set("0123456789abcdef"):
        raise BadHash(f"{text[:80]!r} is not 64 lower-case hex digits")
    return bytes.fromhex(to_text(bytes.fromhex(text)))


def _children(level: Sequence[tuple[bytes, int]], start: int) -> int:
    """How many nodes from ``start`` on have one parent: 2 to 9, cut where a hash says so."""
    left = len(level) - start
    if left <= 2:
        return left
    most = min(2 * _BRANCHES + 1, left)
    for count in range(2, most):
        if int.from_bytes(level[start + count][0][24:], "little") % _BRANCHES == 0:
            return count + 1
    return most


def _node(children: Sequence[tuple[bytes, int]]) -> tuple[bytes, int]:
    lines = "".join(f"{to_text(value)} : {length}\n" for value, length in children)
    return blake3(lines.encode(), key=_NODE_KEY).digest(), sum(length for _, length in children)
