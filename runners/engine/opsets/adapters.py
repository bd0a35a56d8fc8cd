"""Conversion of single nodes by the C++ converter of onnx, together with the types around them.

The converter loses metadata, functions, annotations and graphs inside nodes, so it never sees them,
and each of its errors belongs to one node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import onnx
from onnx import version_converter

from runners.engine.opsets.names import Names
from runners.engine.opsets.scopes import Scope

_HIDDEN = "hub.hidden"
_TOGETHER = 500
# After this many failures of one operator, its other nodes are not tried one by one.
_ENOUGH = 32
# IR 10 does not require initializers among the inputs, and every current converter reads it.
_IR_VERSION = 10


@dataclass(slots=True)
class LooseNode:
    """A node with its scope, and the nodes that replace it after conversion."""

    node: onnx.NodeProto
    scope: Scope
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    error: str = ""


def adapt(loose_nodes: Sequence[LooseNode], source: int, target: int, names: Names) -> None:
    """Convert each node between two opsets; a node that cannot be converted gets its error.

    A call of the converter takes longer than the nodes in it, so all are tried together first.
    """
    for first in range(0, len(loose_nodes), _TOGETHER):
        _adapt_together(loose_nodes[first : first + _TOGETHER], source, target, names, [])


def _adapt_together(
    loose_nodes: Sequence[LooseNode], source: int, target: int, names: Names, failures: list[str]
) -> None:
    """Convert nodes in one call; where that fails, each operator alone, then half of its nodes.

    `failures` are errors of single nodes of one operator.
    """
    if len(failures) >= _ENOUGH:
        for loose_node in loose_nodes:
            loose_node.error = failures[-1]
        return
    bag = _Bag(loose_nodes, source)
    try:
        converted = version_converter.convert_version(bag.model(), target)
        bag.take_out(converted, names)
    except Exception as error:  # noqa: BLE001 - any complaint of the library is about these nodes
        if len(loose_nodes) == 1:
            loose_nodes[0].error = _reason(str(error))
            failures.append(loose_nodes[0].error)
            return
        kinds: dict[str, list[LooseNode]] = defaultdict(list)
        for loose_node in loose_nodes:
            kinds[loose_node.node.op_type].append(loose_node)
        if len(kinds) > 1:
            for alike in kinds.values():
                _adapt_together(alike, source, target, names, [])
            return
        half = len(loose_nodes) // 2
        for part in (loose_nodes[:half], loose_nodes[half:]):
            _adapt_together(part, source, target, names, failures)


def _reason(message: str) -> str:
    if "No Adapter" in message:
        return "no adapter"
    # File and line of the library are useless to readers.
    _, mark, rest = message.partition("Assertion ")
    words = (mark + rest if mark else message).strip().splitlines()
    return (words[0] if words else "no reason given")[:300]


class _Bag:
    """A model of unconnected nodes, each with its own inputs and outputs."""

    def __init__(self, loose_nodes: Sequence[LooseNode], source: int) -> None:
        self._loose = loose_nodes
        self._source = source
        self._names: list[dict[str, str]] = []

    def model(self) -> onnx.ModelProto:
        graph = onnx.GraphProto(name="bag")
        for place, loose_node in enumerate(self._loose):
            self._put(graph, place, loose_node)
        imports = [onnx.helper.make_opsetid("", self._source), onnx.helper.make_opsetid(_HIDDEN, 1)]
        return onnx.helper.make_model(graph, ir_version=_IR_VERSION, opset_imports=imports)

    def _put(self, graph: onnx.GraphProto, place: int, loose_node: LooseNode) -> None:
        node = onnx.NodeProto()
        node.CopyFrom(loose_node.node)
        inner_names: dict[str, str] = {}
        for index, name in enumerate(loose_node.node.input):
            if name and name not in inner_names:
                inner_names[name] = f"b{place}_i{index}"
                _provide(graph, inner_names[name], name, loose_node.scope)
            node.input[index] = inner_names.get(name, "")
        for index, name in enumerate(loose_node.node.output):
            if name:
                inner = f"b{place}_o{index}"
                inner_names[name] = node.output[index] = inner
                graph.output.append(_value(inner, loose_node.scope.type(name)))
        graph.node.append(node)
        self._names.append({inner: outer for outer, inner in inner_names.items()})

    def take_out(self, converted: onnx.ModelProto, names: Names) -> None:
        graph = converted.graph
        maker = {name: node for node in graph.node for name in node.output if name}
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        order = {id(node): place for place, node in enumerate(graph.node)}
        nodes_of = []
        for place, loose_node in enumerate(self._loose):
            ends = [
                f"b{place}_o{index}" for index, name in enumerate(loose_node.node.output) if name
            ]
            if any(end not in maker for end in ends):
                raise ValueError("the converter lost an output of the node")
            behind = _behind(ends, maker)
            nodes_of.append(sorted(behind, key=lambda node: order[id(node)]))
        for place, loose_node in enumerate(self._loose):
            loose_node.nodes = _renamed(
                nodes_of[place], self._names[place], tensors, loose_node.node, names
            )


def _provide(graph: onnx.GraphProto, inner: str, name: str, scope: Scope) -> None:
    constant = scope.constant(name)
    kind = scope.type(name)
    if constant is not None:
        tensor = onnx.TensorProto()
        tensor.CopyFrom(constant)
        tensor.name = inner
        graph.initializer.append(tensor)
    elif _is_tensor(kind):
        graph.input.append(_value(inner, kind))
    else:
        # The converter reads tensor types only; a value of unknown type gets a custom source node.
        source = onnx.helper.make_node("Source", [], [inner], domain=_HIDDEN)
        graph.node.append(source)


def _value(name: str, kind: onnx.TypeProto | None) -> onnx.ValueInfoProto:
    value = onnx.ValueInfoProto(name=name)
    if _is_tensor(kind):
        value.type.CopyFrom(kind)
    return value


def _is_tensor(kind: onnx.TypeProto | None) -> bool:
    return kind is not None and bool(kind.tensor_type.elem_type)


def _behind(ends: list[str], maker: dict[str, onnx.NodeProto]) -> list[onnx.NodeProto]:
    reached: dict[int, onnx.NodeProto] = {}
    waiting = list(ends)
    while waiting:
        node = maker.get(waiting.pop())
        if node is not None and id(node) not in reached and node.domain != _HIDDEN:
            reached[id(node)] = node
            waiting.extend(node.input)
    return list(reached.values())


def _renamed(
    nodes: list[onnx.NodeProto],
    outer: dict[str, str],
    tensors: dict[str, onnx.TensorProto],
    original: onnx.NodeProto,
    names: Names,
) -> list[onnx.NodeProto]:
    new_names = dict(outer)
    base = next((name for name in original.output if name), original.op_type)
    result = []
    for node in nodes:
        fresh = onnx.NodeProto()
        fresh.CopyFrom(node)
        for index, name in enumerate(node.input):
            if name and name not in new_names and name in tensors:
                new_names[name] = names.fresh(f"{base}_constant")
                result.append(_constant(tensors[name], new_names[name]))
            fresh.input[index] = new_names[name] if name else ""
        for index, name in enumerate(node.output):
            if name and name not in new_names:
                new_names[name] = names.fresh(f"{base}_{node.op_type.lower()}")
            fresh.output[index] = new_names[name] if name else ""
        result.append(fresh)
    return result


def _constant(tensor: onnx.TensorProto, name: str) -> onnx.NodeProto:
    value = onnx.TensorProto()
    value.CopyFrom(tensor)
    value.ClearField("name")
    return onnx.helper.make_node("Constant", [], [name], value=value)
