"""What the check of a package must know of a graph, from one walk over its bytes, in a child."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hub.protocol import strict
from hub.protocol.facts import read_ports
from runners.engine.jobs import JobError
from runners.engine.onnx_files import text
from runners.engine.onnx_files.scan import scan
from runners.engine.onnx_files.walk import NodeUse, Walk

# Inputs whose values are indices of tokens, by the names that exporters give them.
_TOKEN_INPUTS = (b"input_ids", b"decoder_input_ids", b"y", b"targets")
_LOOKUPS = frozenset({"Gather", "GatherBlockQuantized"})
# Operators that keep the values of indices, and those that keep the last dimension of scores.
_KEEP_INDICES = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
_KEEP_WIDTH = frozenset({"Add", "Cast", "Div", "Identity", "LogSoftmax", "Mul", "Softmax", "Tanh"})
_MOST_STEPS = 8
_MOST_PORTS = 2000

Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """The heads of a GroupQueryAttention node."""

    heads: int
    key_value_heads: int


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the graph: None for dynamic sizes, and for a shape of unknown rank."""

    name: str
    shape: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """One ONNX file of a version.

    ``attention`` are the distinct heads of its GroupQueryAttention nodes, ``embedding_rows`` the
    fewest rows of a table that token ids look up, and ``problem`` says why it could not be read.
    """

    path: str
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    external: tuple[str, ...] = ()
    attention: tuple[Attention, ...] = ()
    embedding_rows: int | None = None
    problem: str = ""

    @classmethod
    def from_json(cls, data: object) -> Graph:
        """Read what a child answers; raises JobError."""
        try:
            return strict.Reader().read(cls, data)
        except strict.UnreadableError as error:
            words = f"The response of a child process has no readable graph: {error}."
            raise JobError("engine-error", words) from None

    @property
    def input_shapes(self) -> dict[str, Shape | None]:
        """The shape of each input."""
        return {port.name: port.shape for port in self.inputs}

    @property
    def output_shapes(self) -> dict[str, Shape | None]:
        """The shape of each output."""
        return {port.name: port.shape for port in self.outputs}

    def width(self, output: str) -> int | None:
        """The last dimension of an output; None where it is dynamic or there is none."""
        shape = self.output_shapes.get(output)
        return shape[-1] if shape else None


def read(
    handle: int, entry: str, files: dict[str, int], pointers: frozenset[str] = frozenset()
) -> Graph:
    """Walk an open model file; arguments are those of `scan`."""
    state = scan(handle, entry, files, pointers)
    graph: Mapping[str, Any] = state.facts.get("graph") or {}
    if state.notes.refused or not graph:
        problem = next(
            (row.message for row in state.notes.findings() if row.severity == "error"), ""
        )
        return Graph(entry, problem=problem or "The file has no graph.")
    makers = {name: node for node in state.flow if node.sees == (0,) for name in node.outputs}
    return Graph(
        entry,
        tuple(
            Port(port.name, port.type.sizes) for port in read_ports(graph["inputs"][:_MOST_PORTS])
        ),
        tuple(
            _with_width(state, makers, Port(port.name, port.type.sizes))
            for port in read_ports(graph["outputs"][:_MOST_PORTS])
        ),
        tuple(sorted(state.external)),
        _attention(state),
        _embedding_rows(state),
    )


def _with_width(state: Walk, makers: Mapping[bytes, NodeUse], port: Port) -> Port:
    """An output with its last dimension from the weights, where it is not declared."""
    if not port.shape or port.shape[-1] is not None:
        return port
    name = port.name.encode()
    for _ in range(_MOST_STEPS):
        node = makers.get(name)
        if node is None or len(node.inputs) < 1:
            break
        if width := _product_width(state, node):
            return Port(port.name, (*port.shape[:-1], width))
        if node.operator not in _KEEP_WIDTH:
            break
        name = next((source for source in node.inputs if source in makers), b"")
    return port


def _product_width(state: Walk, node: NodeUse) -> int | None:
    if node.operator == "MatMulNBits":
        return node.integers.get(b"N") or None
    if node.operator != "MatMul" or len(node.inputs) < 2:
        return None
    weight = state.weight(node.sees, node.inputs[1])
    return weight.dimensions[-1] if weight is not None and len(weight.dimensions) > 1 else None


def _attention(state: Walk) -> tuple[Attention, ...]:
    heads = (
        Attention(node.integers.get(b"num_heads", 0), node.integers.get(b"kv_num_heads", 0))
        for node in state.flow
        if node.operator == "GroupQueryAttention"
    )
    return tuple(dict.fromkeys(row for row in heads if min(row.heads, row.key_value_heads) > 0))


def _embedding_rows(state: Walk) -> int | None:
    indices, rows = set(_TOKEN_INPUTS), []
    for node in state.flow:
        sources = node.inputs
        if node.operator in _KEEP_INDICES and sources and sources[0] in indices:
            indices.update(node.outputs)
        elif node.operator in _LOOKUPS and len(sources) > 1 and sources[1] in indices:
            table = state.weight(node.sees, sources[0])
            if table is not None and len(table.dimensions) > 1:
                rows.append(table.dimensions[0])
    return min(rows, default=None)


def unreadable(path: str, problem: str) -> Graph:
    """A graph whose walk ended without an answer."""
    return Graph(path, problem=text.clip(problem, text.MESSAGE_LIMIT))
