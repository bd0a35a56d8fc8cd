"""Normalisation of equivalent notations: domains, opset imports, IR version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from runners.engine.onnx_files import bodies
from runners.engine.opsets import names, schemas
from runners.engine.opsets.outcome import InvalidModelError

# The first IR version in which initializers need not be among the inputs.
FREE_INITIALIZERS = 4
_FIRST_WITH_OPSETS = 3
_FLOORS = {
    onnx.TensorProto.FLOAT8E4M3FN: 9,
    onnx.TensorProto.FLOAT8E4M3FNUZ: 9,
    onnx.TensorProto.FLOAT8E5M2: 9,
    onnx.TensorProto.FLOAT8E5M2FNUZ: 9,
    onnx.TensorProto.UINT4: 10,
    onnx.TensorProto.INT4: 10,
    onnx.TensorProto.FLOAT4E2M1: 11,
    onnx.TensorProto.FLOAT8E8M0: 12,
    onnx.TensorProto.UINT2: 13,
    onnx.TensorProto.INT2: 13,
}


def normalise(model: onnx.ModelProto) -> int:
    """Use one name for each domain and import it once; returns the default opset.

    Returns 0 if the model uses no operator of the default domain. Raises InvalidModelError.
    """
    for node in every_node(model):
        if node.domain == "ai.onnx":
            node.domain = ""
    version = _merge(model.opset_import)
    for function in model.functions:
        _merge(function.opset_import)
    if all(node.domain for node in every_node(model)):
        return 0
    if version is None:
        version = _unwritten(model)
        model.opset_import.append(onnx.helper.make_opsetid("", version))
    if not 1 <= version <= schemas.NEWEST:
        raise InvalidModelError(
            f"The model imports operator set {version}; the installed onnx knows 1 to "
            f"{schemas.NEWEST}."
        )
    return version


def _unwritten(model: onnx.ModelProto) -> int:
    if model.ir_version >= _FIRST_WITH_OPSETS or model.opset_import:
        raise InvalidModelError(
            "The model uses operators of the default domain but imports no version of it. "
            "Export it again, or write the import."
        )
    # Before IR 3 there were no imports, which means opset 1.
    model.ir_version = _FIRST_WITH_OPSETS
    return 1


def _merge(imports: list[onnx.OperatorSetIdProto]) -> int | None:
    versions: dict[str, int] = {}
    for opset in imports:
        domain = "" if opset.domain in bodies.DEFAULT_DOMAINS else opset.domain
        if versions.setdefault(domain, opset.version) != opset.version:
            raise InvalidModelError(
                f"Operator set {domain or 'ai.onnx'!r} is imported in versions "
                f"{versions[domain]} and {opset.version}; it is ambiguous which one applies. Keep "
                "one."
            )
    del imports[:]
    imports.extend(
        onnx.helper.make_opsetid(domain, version) for domain, version in versions.items()
    )
    return versions.get("")


def every_node(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes: of the graph, of training, of functions, and inside nodes."""
    for graph in names.every_graph(model):
        yield from graph.node
    for function in model.functions:
        yield from bodies.nodes_of(function)


def stamp(model: onnx.ModelProto, target: int, *, up: bool) -> None:
    """Set the new opset, and an IR version that it requires."""
    for holder in (model, *model.functions):
        for opset in holder.opset_import:
            if opset.domain == "":
                opset.version = target
    lowest = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", target)])
    if up:
        _raise_ir(model, max(model.ir_version, lowest))
    else:
        model.ir_version = min(model.ir_version, max(lowest, _floor(model)))


def _raise_ir(model: onnx.ModelProto, version: int) -> None:
    if model.ir_version < FREE_INITIALIZERS <= version:
        # Before IR 4 they were constants; from IR 4 on, a caller could override an initializer that
        # is an input.
        for graph in names.every_graph(model):
            stored = {tensor.name for tensor in graph.initializer}
            inputs = [value for value in graph.input if value.name not in stored]
            _keep_types(graph, stored)
            del graph.input[:]
            graph.input.extend(inputs)
    model.ir_version = version


def _keep_types(graph: onnx.GraphProto, stored: Iterable[str]) -> None:
    """Keep denotations and documentation of an input as those of the initializer's value."""
    described = {value.name for value in graph.value_info}
    graph.value_info.extend(
        value
        for value in graph.input
        if value.name in stored and value.name not in described and _says_more(value)
    )


def _says_more(value: onnx.ValueInfoProto) -> bool:
    return bool(
        value.doc_string
        or value.metadata_props
        or value.type.denotation
        or any(dim.denotation for dim in value.type.tensor_type.shape.dim)
    )


def _floor(model: onnx.ModelProto) -> int:
    """The lowest IR version that supports all features of the model."""
    floor = FREE_INITIALIZERS
    if model.functions:
        floor = 10 if any(function.overload for function in model.functions) else 8
    if model.graph.metadata_props or any(node.metadata_props for node in every_node(model)):
        floor = max(floor, 10)
    if any(node.device_configurations for node in every_node(model)):
        floor = max(floor, 11)
    kinds = {tensor.data_type for graph in names.every_graph(model) for tensor in graph.initializer}
    return max([floor, *(_FLOORS.get(kind, 1) for kind in kinds)])


def lower_ir(model: onnx.ModelProto, highest: int) -> bool:
    """Lower the IR version to what a runtime reads, if the model uses no newer feature."""
    if model.ir_version <= highest or _floor(model) > highest:
        return False
    model.ir_version = highest
    return True
