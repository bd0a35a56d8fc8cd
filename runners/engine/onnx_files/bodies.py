"""Walks over a ModelProto that reach every body: branches, loops and local functions.

Only for children, which hold the parsed model; the wire scan has walks of its own.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_FLOAT16, _BFLOAT16 = 10, 16
_HALF = frozenset({_FLOAT16, _BFLOAT16})
# How a model may spell the domain of the standard operators.
DEFAULT_DOMAINS = frozenset({"", "ai.onnx"})
RANDOM = frozenset(
    {
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Bernoulli",
        "Multinomial",
    }
)


def nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Give every node: of the graph, of bodies at any depth, and of local functions."""
    for holder in (model.graph, *model.functions):
        yield from nodes_of(holder)


def running(
    model: onnx.ModelProto, starts: Iterable[onnx.NodeProto] | None = None
) -> list[onnx.NodeProto]:
    """List the nodes that a run may reach: those of local functions only where one is called.

    `starts` are some nodes of the graph (default: all).
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    reachable = list(_inside(model.graph.node if starts is None else starts))
    for node in reachable:
        called = functions.pop((node.domain, node.op_type), None)
        if called is not None:
            # Grows while it is walked, so that functions inside functions are reached too.
            reachable.extend(nodes_of(called))
    return reachable


def nodes_of(holder: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Give every node of a graph or function, and of the bodies in it."""
    yield from _inside(holder.node)


def _inside(sequence: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in sequence:
        yield node
        for body in bodies(node):
            yield from nodes_of(body)


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Give a graph, and the bodies in it."""
    yield graph
    for node in nodes_of(graph):
        yield from bodies(node)


def bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """List the graphs that a node holds as attributes."""
    graphs = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            graphs.append(attribute.g)
        graphs.extend(attribute.graphs)
    return graphs


def reads(node: onnx.NodeProto) -> list[str]:
    """Name what a node reads, values of the graphs around that its bodies use included."""
    names = [name for name in node.input if name]
    names += [name for body in bodies(node) for name in captured(body)]
    return list(dict.fromkeys(names))


def ordered(sequence: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Sort nodes so that each follows the makers of what it reads, else as they are.

    ONNX asks files for this order, but runtimes also load others. Nodes on a cycle come last.
    """
    makers = {name: place for place, node in enumerate(sequence) for name in node.output if name}
    needs = [{makers[name] for name in reads(node) if name in makers} for node in sequence]
    users: dict[int, list[int]] = defaultdict(list)
    for place, earlier in enumerate(needs):
        for maker in earlier:
            users[maker].append(place)
    ready = [place for place, earlier in enumerate(needs) if not earlier]
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            needs[user].discard(order[-1])
            if not needs[user]:
                heapq.heappush(ready, user)
    order += [place for place, earlier in enumerate(needs) if earlier]
    return [sequence[place] for place in order]


def captured(body: onnx.GraphProto) -> list[str]:
    """Name the values of the graphs around a body that it uses, at any depth."""
    own = {port.name for port in body.input} | {tensor.name for tensor in body.initializer}
    own |= {sparse.values.name for sparse in body.sparse_initializer}
    own |= {name for node in body.node for name in node.output}
    used = [name for node in body.node for name in node.input if name]
    used += [name for node in body.node for inner in bodies(node) for name in captured(inner)]
    used += [port.name for port in body.output]
    return [name for name in dict.fromkeys(used) if name not in own]


def opset(model: onnx.ModelProto) -> int | None:
    """Give the version of the default operator set, if the model names one."""
    versions = (opset.version for opset in model.opset_import if opset.domain in DEFAULT_DOMAINS)
    return next(versions, None)


def dense(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    """Write a sparse tensor out; its indices are flat or one for each dimension."""
    import numpy as np  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    values, places = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    array = np.zeros(tuple(sparse.dims), values.dtype)
    array[tuple(places.T) if places.ndim > 1 else np.unravel_index(places, array.shape)] = values
    return numpy_helper.from_array(array, sparse.values.name)


def operators(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """Give (domain, operator) of every node, the default domain as ""."""
    return {
        ("" if node.domain in DEFAULT_DOMAINS else node.domain, node.op_type)
        for node in nodes(model)
    }


def random_operators(model: onnx.ModelProto) -> list[str]:
    """Name the operators that draw random numbers, training Dropout among them."""
    names = set()
    for node in nodes(model):
        training = node.op_type == "Dropout" and len(node.input) > 2 and bool(node.input[2])
        if node.domain in DEFAULT_DOMAINS and (node.op_type in RANDOM or training):
            names.add(node.op_type)
    return sorted(names)


def uses_half(model: onnx.ModelProto) -> bool:
    """Tell whether 16-bit floats take part: as inputs, outputs, weights, constants or casts."""
    graph = model.graph
    kinds = {port.type.tensor_type.elem_type for port in (*graph.input, *graph.output)}
    kinds |= {tensor.data_type for tensor in graph.initializer}
    if kinds & _HALF:
        return True
    return any(_makes_half(node) for node in nodes(model))


def _makes_half(node: onnx.NodeProto) -> bool:
    for attribute in node.attribute:
        if attribute.name in {"to", "dtype", "output_dtype"} and attribute.i in _HALF:
            return True
        if attribute.HasField("t") and attribute.t.data_type in _HALF:
            return True
    bodies_of = bodies(node)
    return any(tensor.data_type in _HALF for body in bodies_of for tensor in body.initializer)
