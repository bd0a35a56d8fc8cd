"""Functions: local ones, which are kept or inlined, and those that define operators."""

from __future__ import annotations

import onnx
from onnx import inliner

from runners.engine.onnx_files import bodies
from runners.engine.opsets import normal, schemas
from runners.engine.opsets.names import Names
from runners.engine.opsets.outcome import InvalidModelError
from runners.engine.opsets.scopes import Scope

INLINED = "local-functions-inlined"
WRITTEN_OUT = "function-written-out"
_IR_VERSION = 10


def settle(
    model: onnx.ModelProto, source: int, target: int
) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """Make local functions valid at the target; returns the model and the names of rules used."""
    if not model.functions:
        return model, ()
    if all(_unchanged(function, source, target) for function in model.functions):
        return model, ()
    for function in model.functions:
        version = _version(function)
        if version not in {None, source} and _unchanged(function, source, source):
            for opset in function.opset_import:
                opset.version = source if opset.domain == "" else opset.version
    other = any(_version(function) not in {None, source} for function in model.functions)
    try:
        inlined = inliner.inline_local_functions(model, convert_version=other)
    except RuntimeError as error:
        raise InvalidModelError(f"its local functions cannot be inlined: {error}") from None
    normal.normalise(inlined)
    return inlined, (INLINED,)


def untouched(model: onnx.ModelProto, source: int, target: int) -> bool:
    """Whether no operator inside the functions changed, according to the operator schemas."""
    return all(
        node.domain != "" or schemas.same(node.op_type, _version(function) or source, target)
        for function in model.functions
        for node in bodies.nodes_of(function)
    )


def _version(function: onnx.FunctionProto) -> int | None:
    return next((opset.version for opset in function.opset_import if opset.domain == ""), None)


def _unchanged(function: onnx.FunctionProto, source: int, target: int) -> bool:
    version = _version(function) or source
    return all(
        node.domain != ""
        or schemas.same(node.op_type, version, target)
        or schemas.widened(node.op_type, version, target)
        for node in bodies.nodes_of(function)
    )


def expand(node: onnx.NodeProto, version: int, scope: Scope, names: Names) -> list[onnx.NodeProto]:
    """The nodes of the function that defines an operator; none if it has no function."""
    schema = schemas.schema(node.op_type, version)
    if schema is None or not (schema.has_function or schema.has_context_dependent_function):
        return []
    graph = onnx.GraphProto(name="fragment")
    graph.node.append(node)
    for side, ports in ((node.input, graph.input), (node.output, graph.output)):
        for name in dict.fromkeys(name for name in side if name):
            kind = scope.type(name)
            ports.append(onnx.ValueInfoProto(name=name, type=kind))
    model = onnx.helper.make_model(
        graph, ir_version=_IR_VERSION, opset_imports=[onnx.helper.make_opsetid("", version)]
    )
    try:
        inlined = inliner.inline_selected_functions(
            model, [("", node.op_type)], exclude=False, inline_schema_functions=True
        )
    except RuntimeError:  # some definitions cannot be built from what is known of the node
        return []
    nodes = list(inlined.graph.node)
    if [new.op_type for new in nodes] == [node.op_type]:
        return []
    _rename(nodes, node, names)
    return nodes


def _rename(nodes: list[onnx.NodeProto], node: onnx.NodeProto, names: Names) -> None:
    """Rename the values between the new nodes to names that are unused in the model."""
    new_names = {name: name for name in ("", *node.input, *node.output)}
    base = next((name for name in node.output if name), node.op_type)
    for new in nodes:
        for side in (new.input, new.output):
            for place, name in enumerate(side):
                if name not in new_names:
                    new_names[name] = names.fresh(f"{base}_{new.op_type.lower()}")
                side[place] = new_names[name]
