"""What the engine read in a graph, as the pages show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frontend.parts.svg.barcode import CATEGORIES
from runners.engine.onnx_files.vocabulary import CATEGORIES as FAMILIES
from runners.engine.onnx_files.vocabulary import CATEGORY_OF, OTHER

if TYPE_CHECKING:
    from hub.protocol import facts as protocol
    from hub.protocol.facts import Facts


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


def read(facts: Facts) -> Graph:
    """The facts of one variant as pages show them."""
    operators = ((one.title, one.count) for one in facts.operators if one.count)
    return Graph(
        inputs=tuple(map(_port, facts.inputs)),
        outputs=tuple(map(_port, facts.outputs)),
        nodes=facts.nodes,
        operators=tuple(sorted(operators, key=lambda pair: (-pair[1], pair[0]))),
        barcode=facts.barcode,
        producer=str(facts.producer),
    )


def _port(of: protocol.Port) -> Port:
    shape = of.type.shape
    dims = None if shape is None else tuple(map(_dim, shape))
    return Port(of.name, str(of.type), dims)


def _dim(size: int | str | None) -> Dim:
    return Dim("?" if size is None else str(size), free=not isinstance(size, int))
