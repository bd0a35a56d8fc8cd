"""Conversion of a whole model between opsets, graph by graph."""

from __future__ import annotations

import onnx

from runners.engine.onnx_files.bodies import bodies
from runners.engine.opsets import functions, names, normal, schemas, weights
from runners.engine.opsets.names import Names
from runners.engine.opsets.node_conversion import NodeConversion, NodeConverter
from runners.engine.opsets.outcome import Blocking, Conversion, InvalidModelError
from runners.engine.opsets.scopes import Scope, names_read, of_graph

_FIRST_WITH_INFERENCE = 7


def convert(model: onnx.ModelProto, target: int) -> Conversion:
    """Convert to the opset `target`, newer or older; the given model stays unchanged.

    Does not run the model and reads no external data. For children only, since the libraries may
    crash.
    """
    if not 1 <= target <= schemas.NEWEST:
        return _refused(target, f"the installed onnx knows operator sets 1 to {schemas.NEWEST}")
    converted = weights.detach(model)
    used: set[str] = set()
    inlined: tuple[str, ...] = ()
    untouched = True
    try:
        source = normal.normalise(converted)
        if source not in {0, target}:
            converted, inlined = functions.settle(converted, source, target)
    except InvalidModelError as error:
        return _refused(target, str(error))
    if source not in {0, target}:
        converter = NodeConverter(source, target, Names(converted), used)
        used.update(inlined)
        _convert_graphs(converted, converter)
        untouched = converter.untouched and functions.untouched(converted, source, target)
        untouched &= not used
        if converter.blocking:
            rules = tuple(sorted(used))
            return Conversion(None, source, target, rules, tuple(converter.blocking))
        normal.stamp(converted, target, up=target > source)
    weights.attach(converted, model)
    return Conversion(converted, source, target, tuple(sorted(used)), untouched=untouched)


def _refused(target: int, reason: str) -> Conversion:
    return Conversion(None, 0, target, (), (Blocking("", "", 0, target, reason),))


def _convert_graphs(model: onnx.ModelProto, converter: NodeConverter) -> None:
    """Convert the innermost graphs first, so that rules see converted graphs inside their nodes."""
    fixed = model.ir_version < normal.FREE_INITIALIZERS
    levels: list[list[tuple[onnx.GraphProto, list[NodeConversion]]]] = []

    def gather(
        graph: onnx.GraphProto, inferred_graph: onnx.GraphProto, around: Scope | None, depth: int
    ) -> None:
        scope = of_graph(inferred_graph, around, fixed_inputs=fixed)
        mine = [NodeConversion(node, converter.source, scope, node) for node in graph.node]
        while len(levels) <= depth:
            levels.append([])
        levels[depth].append((graph, mine))
        for node, inferred in zip(graph.node, inferred_graph.node, strict=True):
            for inner, known_inner in zip(bodies(node), bodies(inferred), strict=True):
                gather(inner, known_inner, scope, depth + 1)

    gather(model.graph, with_types(model, converter.source), None, 0)
    for training in names.training_graphs(model):
        gather(training, training, None, 0)
    for level in reversed(levels):
        converter.convert(conversion for _, mine in level for conversion in mine)
        for graph, mine in level:
            _put_together(graph, mine)


def _put_together(graph: onnx.GraphProto, conversions: list[NodeConversion]) -> None:
    if all(conversion.parts is None for conversion in conversions):
        return
    before = names_read(graph)
    nodes = [node for conversion in conversions for node in conversion.nodes()]
    # Copied before the old nodes are deleted, since some of them are kept.
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    _drop_orphans(graph, before - names_read(graph))


def with_types(model: onnx.ModelProto, source: int) -> onnx.GraphProto:
    """The graph of a model with the types of its values, as far as they can be inferred."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
        if source < _FIRST_WITH_INFERENCE:
            # Many operators have no inference before opset 7; their outputs have the same type and
            # shape.
            for opset in inferred.opset_import:
                opset.version = _FIRST_WITH_INFERENCE if opset.domain == "" else opset.version
            inferred = onnx.shape_inference.infer_shapes(inferred)
    except Exception:  # noqa: BLE001 - what the file itself declares may be enough
        return model.graph
    return inferred.graph


def _drop_orphans(graph: onnx.GraphProto, orphans: set[str]) -> None:
    """Remove constants that only a replaced node read, since they are attributes now."""
    ports = {value.name for value in (*graph.input, *graph.output)}
    orphans -= ports
    tensors = [tensor for tensor in graph.initializer if tensor.name not in orphans]
    if len(tensors) < len(graph.initializer):
        copies = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in tensors]
        del graph.initializer[:]
        graph.initializer.extend(copies)
    nodes = [
        node
        for node in graph.node
        if node.op_type != "Constant" or not orphans.issuperset(node.output)
    ]
    if len(nodes) < len(graph.node):
        copies_of_nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies_of_nodes)
