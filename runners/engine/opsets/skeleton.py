"""Models without their weights: taken off before a conversion, and put back by name afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from runners.engine.opsets.scopes import is_small

if TYPE_CHECKING:
    from collections.abc import Sequence

_DETACHED = "\0detached"
_GRAPH, _INITIALIZER = "graph", "initializer"


def detach(model: onnx.ModelProto) -> onnx.ModelProto:
    """Copy a model, leaving out the values of all but small initializers of its graph."""
    made = onnx.ModelProto()
    _copy(model, made, _GRAPH)
    _copy(model.graph, made.graph, _INITIALIZER)
    for tensor in model.graph.initializer:
        stub = made.graph.initializer.add()
        if is_small(tensor) or tensor.data_location == onnx.TensorProto.EXTERNAL:
            stub.CopyFrom(tensor)
            continue
        stub.name, stub.data_type = tensor.name, tensor.data_type
        stub.dims.extend(tensor.dims)
        stub.data_location = onnx.TensorProto.EXTERNAL
        stub.external_data.add(key="location", value=_DETACHED)
    return made


def attach(made: onnx.ModelProto, origin: onnx.ModelProto) -> None:
    """Put the values that `detach` left out back where their tensors still are."""
    values = {tensor.name: tensor for tensor in origin.graph.initializer}
    for tensor in made.graph.initializer:
        if any(entry.value == _DETACHED for entry in tensor.external_data):
            tensor.CopyFrom(values[tensor.name])


def _copy(source: Any, into: Any, left_out: str) -> None:
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if isinstance(value, (int, float, str, bytes)):
            setattr(into, field.name, value)
        elif hasattr(value, "CopyFrom"):
            getattr(into, field.name).CopyFrom(value)
        else:
            getattr(into, field.name).extend(_items(value))


def _items(value: Sequence[Any]) -> list[Any]:
    return list(value)
