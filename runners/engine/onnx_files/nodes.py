"""A table of a graph's nodes, as data: names, operators, inputs, outputs, attributes, shapes.

Made from a skeleton, so that no weight is in it. Bounded, and it says where it was cut.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from hub import counting
from runners.engine.onnx_files import text
from runners.engine.onnx_files.vocabulary import (
    CATEGORIES,
    CATEGORY_OF,
    DATA_TYPES,
    DEFAULT_DOMAIN,
    OTHER,
)

FORMAT = 1
MOST_NODES = 20_000
MOST_BYTES = 8 << 20
NAME_CHARACTERS = 160
VALUE_CHARACTERS = 80
LISTED_PORTS = 24
LISTED_ATTRIBUTES = 24
LISTED_NUMBERS = 12
# AttributeProto.AttributeType
TYPES = {
    1: "float",
    2: "int",
    3: "string",
    4: "tensor",
    5: "graph",
    6: "floats",
    7: "ints",
    8: "strings",
    9: "tensors",
    10: "graphs",
    11: "sparse tensor",
    12: "sparse tensors",
    13: "type",
    14: "types",
}


@dataclass(slots=True)
class Scope:
    """What the nodes of one graph see: types of values as text, stored tensors, and producers.

    ``producers`` belongs to the walk: it is handed on to inner graphs as it is when they begin.
    """

    types: dict[str, str] = field(default_factory=dict)
    stored: dict[str, onnx.TensorProto] = field(default_factory=dict)
    producers: dict[str, Any] = field(default_factory=dict)

    def inner(self) -> Scope:
        return Scope(dict(self.types), dict(self.stored), dict(self.producers))


def write(skeleton: Path, target: Path, *, infer: bool) -> dict[str, Any]:
    """Write the table of a skeleton's nodes as JSON; answers how many nodes it lists."""
    model = onnx.ModelProto.FromString(skeleton.read_bytes())
    model, inferred = with_shapes(model) if infer else (model, False)
    table = table_of(model, inferred=inferred)
    with target.open("x") as file:
        json.dump(table, file, ensure_ascii=True, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    counts = {key: table[key] for key in ("total", "listed", "cut", "inferred")}
    return {"nodes": counts | {"bytes": target.stat().st_size}}


def with_shapes(model: onnx.ModelProto) -> tuple[onnx.ModelProto, bool]:
    """The model with inferred shapes, and whether there are any; never raises."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True), True
    except Exception:  # noqa: BLE001 - what inference cannot do is not the table's business
        return model, False


def table_of(model: onnx.ModelProto, *, inferred: bool) -> dict[str, Any]:
    """The table: `nodes` in order of execution, functions last, as `row_of` describes them."""
    rows: list[dict[str, Any]] = []
    total = size = 0
    for path, node, scope in walk(model):
        total += 1
        if len(rows) >= MOST_NODES or size >= MOST_BYTES:
            continue
        row = row_of(path, node, scope.types)
        size += len(json.dumps(row, ensure_ascii=True, separators=(",", ":"))) + 1
        if size < MOST_BYTES:
            rows.append(row)
    return {
        "format": FORMAT,
        "categories": list(CATEGORIES),
        "total": total,
        "listed": len(rows),
        "cut": len(rows) < total,
        "inferred": inferred,
        "nodes": rows,
    }


def row_of(path: str, node: onnx.NodeProto, types: dict[str, str]) -> dict[str, Any]:
    """One node: `in` and `out` are [name, type]; `attrs` [name, type, words]; empty keys lack."""
    row: dict[str, Any] = {"op": text.clip(node.op_type, NAME_CHARACTERS), "c": category(node)}
    named = {
        "name": text.clip(node.name, NAME_CHARACTERS),
        "domain": "" if node.domain == DEFAULT_DOMAIN else text.clip(node.domain, NAME_CHARACTERS),
        "path": path,
        "in": _ports(node.input, types),
        "out": _ports(node.output, types),
        "attrs": [
            [text.clip(attribute.name, NAME_CHARACTERS), *words_of(attribute)]
            for attribute in node.attribute[:LISTED_ATTRIBUTES]
        ],
        "more_in": max(0, len(node.input) - LISTED_PORTS),
        "more_out": max(0, len(node.output) - LISTED_PORTS),
        "more_attrs": max(0, len(node.attribute) - LISTED_ATTRIBUTES),
    }
    return row | {key: value for key, value in named.items() if value}


def category(node: onnx.NodeProto) -> int:
    """The index of a node's category among `vocabulary.CATEGORIES`."""
    return CATEGORY_OF.get(node.op_type, OTHER)


def walk(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.NodeProto, Scope]]:
    """Every node with the path of its graph and what it sees there.

    The main graph has the empty path; a subgraph is named by the node that holds it,
    `If_3/then_branch`; a function is `function domain.name`.
    """
    yield from _graph("", model.graph, Scope())
    for function in model.functions:
        path = text.clip(f"function {function.domain}.{function.name}", NAME_CHARACTERS)
        scope = Scope({value.name: typed(value.type) for value in function.value_info})
        yield from _inside(path, function.node, scope)


def _graph(
    path: str, graph: onnx.GraphProto, scope: Scope
) -> Iterator[tuple[str, onnx.NodeProto, Scope]]:
    for value in (*graph.value_info, *graph.input, *graph.output):
        scope.types[value.name] = typed(value.type)
    for tensor in graph.initializer:
        scope.types[tensor.name] = of_tensor(tensor)
        scope.stored[tensor.name] = tensor
    for sparse in graph.sparse_initializer:
        kind = DATA_TYPES.get(sparse.values.data_type, ("unknown", 0))[0]
        scope.types[sparse.values.name] = f"sparse {kind}[{_joined(sparse.dims)}]"
    yield from _inside(path, graph.node, scope)


def _inside(
    path: str, sequence: Iterable[onnx.NodeProto], scope: Scope
) -> Iterator[tuple[str, onnx.NodeProto, Scope]]:
    for place, node in enumerate(sequence):
        yield path, node, scope
        for attribute in node.attribute:
            bodies = [attribute.g] if attribute.HasField("g") else []
            for number, body in enumerate((*bodies, *attribute.graphs)):
                own = node.name or f"{node.op_type}_{place}"
                last = attribute.name + (f"_{number}" if attribute.graphs else "")
                inner = "/".join(part for part in (path, own, last) if part)
                yield from _graph(text.clip(inner, NAME_CHARACTERS), body, scope.inner())


def _ports(names: Iterable[str], types: dict[str, str]) -> list[list[str]]:
    port_names = list(names)[:LISTED_PORTS]
    return [[text.clip(name, NAME_CHARACTERS), types.get(name, "")] for name in port_names]


def typed(value_type: onnx.TypeProto) -> str:
    """A type as text: `float32[N, 3]`, `sequence of float32[?]`; empty where nothing is known."""
    which = value_type.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(value_type, which)
        kind = DATA_TYPES.get(tensor.elem_type, ("unknown", 0))[0]
        shape = (
            f"[{_joined(map(_dimension, tensor.shape.dim))}]" if tensor.HasField("shape") else ""
        )
        return f"sparse {kind}{shape}" if which == "sparse_tensor_type" else kind + shape
    if which in ("sequence_type", "optional_type"):
        return f"{which.removesuffix('_type')} of {typed(getattr(value_type, which).elem_type)}"
    if which == "map_type":
        key = DATA_TYPES.get(value_type.map_type.key_type, ("unknown", 0))[0]
        return f"map of {key} to {typed(value_type.map_type.value_type)}"
    return ""


def of_tensor(tensor: onnx.TensorProto) -> str:
    """The type of a stored tensor as text."""
    kind = DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0]
    return f"{kind}[{_joined(tensor.dims)}]"


def words_of(attribute: onnx.AttributeProto) -> tuple[str, str]:
    """An attribute's type, and its value as text; of many numbers only their count."""
    kind = TYPES.get(attribute.type, "")
    if attribute.ref_attr_name:
        return kind, text.clip(f"of the function: {attribute.ref_attr_name}", VALUE_CHARACTERS)
    return kind, _WORDS[kind](attribute) if kind in _WORDS else ""


_WORDS: dict[str, Callable[[Any], str]] = {
    "float": lambda attribute: f"{attribute.f:.6g}",
    "int": lambda attribute: str(attribute.i),
    "string": lambda attribute: text.decode(attribute.s, VALUE_CHARACTERS),
    "tensor": lambda attribute: of_tensor(attribute.t),
    "floats": lambda attribute: _list("floats", list(attribute.floats)),
    "ints": lambda attribute: _list("ints", list(attribute.ints)),
    "strings": lambda attribute: _list("strings", list(attribute.strings)),
    "graph": lambda attribute: counting.plural(len(attribute.g.node), "node"),
    "graphs": lambda attribute: counting.plural(len(attribute.graphs), "graph"),
    "tensors": lambda attribute: counting.plural(len(attribute.tensors), "tensor"),
}


def _list(kind: str, values: list[Any]) -> str:
    if len(values) > LISTED_NUMBERS:
        return f"{len(values)} {kind}"
    if kind == "floats":
        words = [f"{value:.6g}" for value in values]
    elif kind == "strings":
        words = [text.decode(value, VALUE_CHARACTERS) for value in values]
    else:
        words = [str(value) for value in values]
    return text.clip(f"[{', '.join(words)}]", VALUE_CHARACTERS)


def _dimension(dimension: Any) -> str:
    if dimension.HasField("dim_value"):
        return str(dimension.dim_value)
    # What inference calls unk__7 has no name.
    named = dimension.dim_param and not dimension.dim_param.startswith("unk__")
    return text.clip(dimension.dim_param, 40) if named else "?"


def _joined(parts: Iterable[Any]) -> str:
    return ", ".join(str(part) for part in parts)
