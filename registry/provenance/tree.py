"""The tree of the log as the database has it, read by tiles."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import QuerySet, Value

from hub.protocol.transparency import merkle
from hub.protocol.transparency.merkle import TILE_HEIGHT, TILE_WIDTH
from registry.core.prepared_queries import Prepared
from registry.provenance.models import LogLeaf, LogNode


def _tile(level: int, low: int, high: int) -> QuerySet[Any, Any]:
    """The level, the positions and the hashes of nodes from one position to before another."""
    rows: QuerySet[Any, Any] = LogNode.objects.all() if level else LogLeaf.objects.all()
    if level:
        rows = rows.filter(level=level)
    rows = rows.filter(position__gte=low, position__lt=high).order_by()
    # A text, since Django converts each number of a row.
    return rows.values_list(Value(str(level)), "position", "hash")


@cache
def _tiles(levels: tuple[int, ...]) -> Prepared:
    """One tile of each of these levels, by where it begins and ends."""

    def make(*bounds: int) -> QuerySet[Any, Any]:
        pairs = zip(levels, bounds[::2], bounds[1::2], strict=True)
        first, *others = [_tile(level, low, high) for level, low, high in pairs]
        return first.union(*others, all=True) if others else first

    return Prepared(make)


class StoredTree:
    """Nodes of the tree; each tile is read once, and each node computed once."""

    def __init__(self) -> None:
        self._tiles: dict[tuple[int, int], list[bytes]] = {}
        self._nodes: dict[tuple[int, int], bytes] = {}

    def tile(self, level: int, number: int) -> list[bytes]:
        """The hashes of a tile, as many as there are; level 0 are hashes of leaves."""
        if (level, number) not in self._tiles:
            self._read({level: number})
        return self._tiles[level, number]

    def root(self, size: int) -> bytes:
        """The root of the first ``size`` leaves; raises ProofError where hashes are missing."""
        last = {level: size >> TILE_HEIGHT * (level + 1) for level in range(_levels(size))}
        self._read(
            {level: number for level, number in last.items() if (level, number) not in self._tiles}
        )
        return merkle.root(self.node, size)

    def _read(self, numbers: dict[int, int]) -> None:
        """Read a tile of each level, in one statement."""
        if not numbers:
            return
        for level, number in numbers.items():
            self._tiles[level, number] = []
        bounds = [
            number * TILE_WIDTH + end for number in numbers.values() for end in (0, TILE_WIDTH)
        ]
        rows = _tiles(tuple(numbers)).rows(*bounds)
        for level, _, value in sorted(rows):
            self._tiles[int(level), numbers[int(level)]].append(bytes(value))

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree; raises ProofError where the database lacks it."""
        if (level, index) not in self._nodes:
            self._nodes[level, index] = self._computed(level, index)
        return self._nodes[level, index]

    def _computed(self, level: int, index: int) -> bytes:
        stored, height = divmod(level, TILE_HEIGHT)
        first = index << height
        number, offset = divmod(first, TILE_WIDTH)
        hashes = self.tile(stored, number)[offset : offset + (1 << height)]
        if len(hashes) != 1 << height:
            raise merkle.ProofError(f"The tile {number} of level {stored} has lost hashes.")
        return merkle.fold(hashes)

    def add(self, size: int, hashes: list[bytes]) -> None:
        """Follow leaves that were stored after the first ``size``; store nodes that are complete.

        What was read before is not read again.
        """
        level = 0
        while hashes:
            tiles = self._extend(level, size, hashes)
            size, level = size // TILE_WIDTH, level + 1
            hashes = [merkle.fold(tile) for tile in tiles]
            LogNode.objects.bulk_create(
                LogNode(level=level, position=position, hash=value)
                for position, value in enumerate(hashes, size)
            )

    def _extend(self, level: int, size: int, hashes: list[bytes]) -> list[list[bytes]]:
        """Add hashes to the tiles of a level; returns the tiles that are complete now."""
        tiles = []
        while hashes:
            number, offset = divmod(size, TILE_WIDTH)
            # Rows of the new hashes may be among those that are read now.
            tile = self.tile(level, number)[:offset] + hashes[: TILE_WIDTH - offset]
            self._tiles[level, number] = tile
            size, hashes = size + len(tile) - offset, hashes[len(tile) - offset :]
            if len(tile) == TILE_WIDTH:
                tiles.append(tile)
        return tiles


def _levels(size: int) -> int:
    """How many levels of tiles a tree of this size has."""
    return max(1, -(-size.bit_length() // TILE_HEIGHT))
