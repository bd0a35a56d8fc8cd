"""Writes a node out as the function that its own operator set defines it by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import inliner

from runners.engine.opsets import schemas

if TYPE_CHECKING:
    from runners.engine.opsets.names import Names
    from runners.engine.opsets.scopes import Scope

WRITTEN_OUT = "function-written-out"
_IR_VERSION = 10


def expand(node: onnx.NodeProto, version: int, scope: Scope, names: Names) -> list[onnx.NodeProto]:
    """Give the function's nodes at the same version; none when the operator is no function."""
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
    made = list(inlined.graph.node)
    if [one.op_type for one in made] == [node.op_type]:
        return []
    _rename(made, node, names)
    return made


def _rename(made: list[onnx.NodeProto], node: onnx.NodeProto, names: Names) -> None:
    """Give the values between the new nodes names that nothing else in the model has."""
    known = {name: name for name in ("", *node.input, *node.output)}
    base = next((name for name in node.output if name), node.op_type)
    for one in made:
        for side in (one.input, one.output):
            for place, name in enumerate(side):
                if name not in known:
                    known[name] = names.fresh(f"{base}_{one.op_type.lower()}")
                side[place] = known[name]
