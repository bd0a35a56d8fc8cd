"""The tree of the log as the database has it, read by tiles."""

from __future__ import annotations

from hub.protocol.transparency import merkle
from hub.protocol.transparency.merkle import TILE_HEIGHT, TILE_WIDTH
from registry.provenance.models import LogLeaf, LogNode


class StoredTree:
    """Nodes of the tree; each tile is read once."""

    def __init__(self) -> None:
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def tile(self, level: int, number: int) -> list[bytes]:
        """The hashes of a tile, as many as there are; level 0 are hashes of leaves."""
        if (level, number) not in self._tiles:
            low = number * TILE_WIDTH
            between = {"position__gte": low, "position__lt": low + TILE_WIDTH}
            if level:
                rows = LogNode.objects.filter(level=level, **between)
            else:
                rows = LogLeaf.objects.filter(**between)  # type: ignore[assignment]
            hashes = rows.order_by("position").values_list("hash", flat=True)
            self._tiles[level, number] = [bytes(value) for value in hashes]
        return self._tiles[level, number]

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree; raises ProofError where the database lacks it."""
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
