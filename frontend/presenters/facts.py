"""What the engine read in a graph, as the pages show it.

The facts crossed a process that had opened somebody's upload: what has another shape than expected
is left out, never guessed and never an error.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from frontend.parts.svg.barcode import CATEGORIES, unpacked
from runners.engine.onnx_files.vocabulary import CATEGORIES as FAMILIES
from runners.engine.onnx_files.vocabulary import CATEGORY_OF, OTHER


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension; a free one has a symbol or nothing in place of a number."""

    text: str
    free: bool


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph."""

    name: str
    type: str
    dims: tuple[Dim, ...] | None


@dataclass(frozen=True, slots=True)
class Share:
    """How many nodes of a graph are of one category."""

    category: str
    words: str
    count: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The shown facts of one variant."""

    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    nodes: int | None = None
    operators: tuple[tuple[str, int], ...] = ()
    barcode: tuple[str, ...] = ()
    producer: str = ""

    @property
    def shares(self) -> tuple[Share, ...]:
        """Nodes by category, in the order of the legend; a cell of the barcode may be several."""
        counts: Counter[str] = Counter()
        for name, many in self.operators:
            counts[FAMILIES[CATEGORY_OF.get(name.rpartition(".")[2], OTHER)]] += many
        return tuple(
            Share(category, words, counts[category])
            for category, words in CATEGORIES.items()
            if counts[category]
        )


def read(facts: dict[str, Any]) -> Graph:
    """Facts as stored with a variant."""
    nodes = facts.get("nodes")
    total = nodes.get("total") if isinstance(nodes, dict) else None
    return Graph(
        inputs=_ports(facts.get("inputs")),
        outputs=_ports(facts.get("outputs")),
        nodes=total if isinstance(total, int) else None,
        operators=_operators(facts.get("operators")),
        barcode=unpacked(facts.get("barcode")),
        producer=_producer(facts.get("producer")),
    )


def _operators(rows: Any) -> tuple[tuple[str, int], ...]:
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and isinstance(row.get("count"), int):
            domain = str(row.get("domain", ""))
            prefix = "" if domain in ("", "ai.onnx") else f"{domain}."
            found.append((prefix + str(row.get("name", "")), int(row["count"])))
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


def _producer(said: Any) -> str:
    if isinstance(said, dict):
        return " ".join(str(part) for part in said.values() if part)
    return said if isinstance(said, str) else ""


def _ports(rows: Any) -> tuple[Port, ...]:
    if not isinstance(rows, list):
        return ()
    return tuple(
        Port(str(row.get("name", "")), _type(row), _dims(row.get("shape")))
        for row in rows
        if isinstance(row, dict)
    )


def _type(said: dict[str, Any]) -> str:
    """float32 for a tensor, sequence of map of int64 to float32 for what holds others."""
    kind = str(said.get("type", "unknown"))
    if kind == "tensor":
        return str(said.get("dtype", "unknown"))
    if kind == "sparse_tensor":
        return f"sparse {said.get('dtype', 'unknown')}"
    if kind == "map" and isinstance(said.get("value"), dict):
        return f"map of {said.get('key', 'unknown')} to {_type(said['value'])}"
    if isinstance(said.get("element"), dict):
        return f"{kind} of {_type(said['element'])}"
    return kind


def _dims(shape: Any) -> tuple[Dim, ...] | None:
    if not isinstance(shape, list):
        return None
    return tuple(
        Dim(str(size), free=False) if isinstance(size, int) else Dim(str(size or "?"), free=True)
        for size in shape
    )
