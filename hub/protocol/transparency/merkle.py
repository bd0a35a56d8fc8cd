"""The Merkle tree of RFC 6962, section 2: roots, and proofs of inclusion and of consistency.

Nothing here knows where hashes lie: ``node(level, index)`` gives the hash of the complete subtree
over the leaves ``index * 2**level`` to ``(index + 1) * 2**level - 1``. Proofs are verified as RFC
9162 writes it, sections 2.1.3.2 and 2.1.4.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

HASH_BYTES = 32
EMPTY = hashlib.sha256().digest()
# The height of a tile of C2SP's tlog-tiles, and how many hashes it has.
TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT

Node = Callable[[int, int], bytes]


class ProofError(ValueError):
    """A proof does not lead to the root."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\0" + entry).digest()


def parent_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node above two."""
    return hashlib.sha256(b"\1" + left + right).digest()


def root(node: Node, size: int) -> bytes:
    """The root of the tree of the first ``size`` leaves."""
    return _range(node, 0, size) if size else EMPTY


def inclusion(node: Node, index: int, size: int) -> list[bytes]:
    """The audit path of a leaf in the tree of the first ``size`` leaves, from the leaf upwards."""
    if not 0 <= index < size:
        raise ProofError(f"A tree of {size} leaves has no leaf {index}.")
    path = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(_range(node, middle, high))
            high = middle
        else:
            path.append(_range(node, low, middle))
            low = middle
    return path[::-1]


def consistency(node: Node, old: int, new: int) -> list[bytes]:
    """The proof that the tree of ``new`` leaves begins with that of ``old``."""
    if not 0 <= old <= new:
        raise ProofError(f"A tree of {new} leaves does not begin with one of {old}.")
    if old in {0, new}:
        return []
    path = []
    low, high = 0, new
    # SUBPROOF of RFC 6962, section 2.1.2, downwards; the last subtree is what both trees share.
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            path.append(_range(node, middle, high))
            high = middle
        else:
            path.append(_range(node, low, middle))
            low = middle
    if low:
        path.append(_range(node, low, high))
    return path[::-1]


def verify_inclusion(
    leaf: bytes, index: int, size: int, path: Sequence[bytes], expected: bytes
) -> None:
    """Raise ProofError unless the leaf with this hash is at ``index`` of the tree."""
    if not 0 <= index < size:
        raise ProofError(f"A tree of {size} leaves has no leaf {index}.")
    place, last, value = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise ProofError("The proof is too long.")
        if place & 1 or place == last:
            value = parent_hash(sibling, value)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            value = parent_hash(value, sibling)
        place, last = place >> 1, last >> 1
    if last or value != expected:
        raise ProofError(f"The leaf {index} is not in the tree.")


def verify_consistency(  # noqa: C901 - as RFC 9162 writes it
    old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> None:
    """Raise ProofError unless the tree of ``new`` leaves begins with that of ``old``."""
    if not 0 <= old <= new:
        raise ProofError(f"A tree of {new} leaves does not begin with one of {old}.")
    if old in {0, new}:
        if path or (old and old_root != new_root):
            raise ProofError("Two trees of one size differ.")
        return
    nodes = list(path)
    if old & (old - 1) == 0:
        nodes.insert(0, old_root)
    if not nodes:
        raise ProofError("The proof is too short.")
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = nodes[0]
    for sibling in nodes[1:]:
        if last == 0:
            raise ProofError("The proof is too long.")
        if place & 1 or place == last:
            first, second = parent_hash(sibling, first), parent_hash(sibling, second)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            second = parent_hash(second, sibling)
        place, last = place >> 1, last >> 1
    if last or first != old_root or second != new_root:
        raise ProofError("The later tree does not begin with the earlier one.")


def fold(hashes: Sequence[bytes]) -> bytes:
    """The root above hashes of equal height, whose number is a power of two."""
    row = list(hashes)
    while len(row) > 1:
        row = [parent_hash(*row[at : at + 2]) for at in range(0, len(row), 2)]
    return row[0]


def _split(width: int) -> int:
    """The largest power of two below ``width``."""
    return 1 << (width - 1).bit_length() - 1


def _range(node: Node, low: int, high: int) -> bytes:
    width = high - low
    if width & (width - 1) == 0:
        return node(width.bit_length() - 1, low // width)
    middle = low + _split(width)
    return parent_hash(_range(node, low, middle), _range(node, middle, high))
