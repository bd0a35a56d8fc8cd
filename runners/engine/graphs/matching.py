"""Matching of the nodes of two graphs: by name, by output, by structure.

A pair is final. Names count only between nodes of one operator, so that exporters that renumber
their nodes do not pair unrelated ones; remaining nodes of equal name are paired last, as replaced
operators.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.engine.onnx_files import nodes

if TYPE_CHECKING:
    from runners.engine.graphs.sides import Input, Placed, Side

# The search for longest common runs takes time quadratic in this.
MOST_LEFT_OVER = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """The index of the earlier node, and how it was matched."""

    earlier: int
    how: str


def match(old: Side, new: Side) -> dict[int, Pair]:
    """Pairs by the index of the later node."""
    pairs: dict[int, Pair] = {}
    matched: set[int] = set()

    def keep(earlier: Placed, later: Placed, how: str) -> None:
        pairs[later.index] = Pair(earlier.index, how)
        matched.add(earlier.index)

    def left() -> tuple[list[Placed], list[Placed]]:
        return (
            [node for node in old.nodes if node.index not in matched],
            [node for node in new.nodes if node.index not in pairs],
        )

    keys: tuple[tuple[str, Callable[[Placed], Hashable | None]], ...] = (
        ("name", _by_name),
        ("output", _by_output),
    )
    for how, key in keys:
        for earlier, later in _unique(*left(), lambda node, key=key: _with_kind(node, key(node))):  # type: ignore[misc]
            keep(earlier, later, how)
    _by_structure(*left(), pairs, keep)
    _by_order(*left(), keep)
    for how, key in keys:
        for earlier, later in _unique(*left(), key):
            keep(earlier, later, how)
    return pairs


def _by_name(node: Placed) -> Hashable | None:
    return (node.path, node.proto.name) if node.proto.name else None


def _by_output(node: Placed) -> Hashable | None:
    first = next((name for name in node.proto.output if name), "")
    return (node.path, first) if first else None


def _with_kind(node: Placed, key: Hashable | None) -> Hashable | None:
    return None if key is None else (node.kind, key)


def _unique(
    old: Iterable[Placed], new: Iterable[Placed], key: Callable[[Placed], Hashable | None]
) -> list[tuple[Placed, Placed]]:
    """Pairs of nodes whose key is unique on either side."""
    earlier, later = _alone(old, key), _alone(new, key)
    return [(earlier[name], node) for name, node in later.items() if name in earlier]


def _alone(
    rows: Iterable[Placed], key: Callable[[Placed], Hashable | None]
) -> dict[Hashable, Placed]:
    keyed = [(key(node), node) for node in rows]
    counts = Counter(name for name, _ in keyed)
    return {name: node for name, node in keyed if name is not None and counts[name] == 1}


def _by_structure(
    old: list[Placed],
    new: list[Placed],
    pairs: dict[int, Pair],
    keep: Callable[[Placed, Placed, str], None],
) -> None:
    """Pair nodes of equal operators and attributes whose inputs are paired already."""
    waiting: dict[Hashable, deque[Placed]] = defaultdict(deque)
    for node in old:
        sources = tuple(_source(read, lambda maker: maker) for read in node.inputs)
        waiting[(node.kind, _attributes(node), sources)].append(node)

    def earlier_of(maker: int) -> int | None:
        pair = pairs.get(maker)
        return pair.earlier if pair else None

    # Nodes are in topological order, so one pass follows a chain to its end.
    for node in new:
        sources = tuple(_source(read, earlier_of) for read in node.inputs)
        if None not in sources and (
            candidates := waiting.get((node.kind, _attributes(node), sources))
        ):
            keep(candidates.popleft(), node, "structure")


def _source(read: Input, earlier: Callable[[int], int | None]) -> Hashable | None:
    """The source of an input, by names of the earlier graph; None if it is unknown."""
    if read.maker is not None:
        maker = earlier(read.maker)
        return None if maker is None else ("node", maker, read.output)
    if read.stored is not None:
        return ("stored", read.type)
    return ("input", read.place)


def _attributes(node: Placed) -> tuple[Any, ...]:
    return tuple(sorted((it.name, *nodes.words_of(it)) for it in node.proto.attribute))


def _by_order(
    old: list[Placed], new: list[Placed], keep: Callable[[Placed, Placed, str], None]
) -> None:
    """Pair runs of the same operators with weights of the same shapes, the longest first."""
    if not old or not new or max(len(old), len(new)) > MOST_LEFT_OVER:
        return
    was, now = [_outline(node) for node in old], [_outline(node) for node in new]
    for block in difflib.SequenceMatcher(None, was, now, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            keep(old[block.a + step], new[block.b + step], "structure")


def _outline(node: Placed) -> Hashable:
    stored = tuple(read.type for read in node.inputs if read.stored is not None)
    return node.kind, len(node.inputs), stored
