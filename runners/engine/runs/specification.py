"""Whether the ONNX reference follows the specification of a model's operator set.

The reference implements most operators as their newest definition says. Its word on a model of an
older operator set counts only where the definitions agree.
"""

from __future__ import annotations

import onnx

from runners.engine.onnx_files import bodies, special_values
from runners.engine.opsets import schemas
from runners.engine.runs.answers import Name
from runners.engine.runtimes import onnx_reference

# Operators whose definition states by a table what becomes of special values, and the attributes
# that name the type of their output. The tables are about 8 bits and fewer alone.
_CASTS = frozenset({"Cast", "CastLike", "QuantizeLinear"})
_NARROW = frozenset(
    value
    for name, value in onnx.TensorProto.DataType.items()
    if name.startswith(("FLOAT8", "FLOAT4"))
)


def unjudged(original: onnx.ModelProto, model: onnx.ModelProto) -> list[Name]:
    """Operators that the reference computes otherwise than the original's operator set defines.

    `model` is what it runs: the original, or the model converted to another operator set.
    """
    source = bodies.opset(original)
    target = bodies.opset(model)
    if source is None or target is None:
        return []
    operators = {
        name for domain, name in bodies.operators(model) if domain in bodies.DEFAULT_DOMAINS
    }
    if not has_narrow_floats(model):
        operators -= _CASTS
    return [Name(name) for name in sorted(operators) if not _follows(name, source, target)]


def has_narrow_floats(model: onnx.ModelProto) -> bool:
    """Whether a model casts to, takes, or stores floats of 8 bits or fewer."""
    attributes = {
        attribute.i
        for node in bodies.nodes(model)
        for attribute in node.attribute
        if attribute.type == onnx.AttributeProto.INT
    }
    stored = {tensor.data_type for tensor in model.graph.initializer}
    ports = {port.type.tensor_type.elem_type for port in (*model.graph.input, *model.graph.output)}
    return not _NARROW.isdisjoint(attributes | stored | ports)


def _follows(operator: str, source: int, target: int) -> bool:
    implemented = onnx_reference.implemented_opset(operator, target)
    while implemented > target and not schemas.usable(operator, implemented):
        implemented -= 1
    if not schemas.extends(operator, target, implemented):
        return False
    # A conversion leaves an operator as it is where only its table of special values changed.
    values = set(special_values.rows(operator, source))
    return values <= set(special_values.rows(operator, implemented))
