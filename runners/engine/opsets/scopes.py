"""Known types and constants of the values that a node may read, through nested graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

from runners.engine.onnx_files.bodies import graphs_of

_CONSTANT_BYTES = 4096
_TENSOR_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data")


@dataclass(slots=True)
class Scope:
    """The values of a graph and of the graphs around it."""

    parent: Scope | None = None
    types: dict[str, onnx.TypeProto] = field(default_factory=dict)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    names_read: set[str] | None = None

    def is_read(self, name: str) -> bool:
        """Whether a node or an output of the graph reads a value; True if that is not known."""
        return self.names_read is None or name in self.names_read

    def type(self, name: str) -> onnx.TypeProto | None:
        """A value's type; None if it is unknown."""
        type_here = self.types.get(name)
        return type_here if type_here is not None or self.parent is None else self.parent.type(name)

    def constant(self, name: str) -> onnx.TensorProto | None:
        """The tensor of a small constant; None for other values."""
        if name in self.constants:
            return self.constants[name]
        # A value of the inner graph shadows one of the outer graph.
        return None if self.parent is None or name in self.types else self.parent.constant(name)

    def add(self, values: Iterable[onnx.ValueInfoProto]) -> None:
        for value in values:
            if value.type.WhichOneof("value") and value.name not in self.types:
                self.types[value.name] = value.type


def of_graph(graph: onnx.GraphProto, parent: Scope | None, *, fixed_inputs: bool) -> Scope:
    """The scope of an inferred graph; with `fixed_inputs`, all its initializers are constant."""
    scope = Scope(parent, names_read=names_read(graph))
    scope.add(graph.input)
    scope.add(graph.output)
    scope.add(graph.value_info)
    inputs = set() if fixed_inputs else {value.name for value in graph.input}
    for tensor in graph.initializer:
        scope.types.setdefault(tensor.name, _type_of(tensor))
        if tensor.name not in inputs and is_small(tensor):
            scope.constants[tensor.name] = tensor
    for sparse in graph.sparse_initializer:
        scope.types.setdefault(
            sparse.values.name,
            onnx.helper.make_tensor_type_proto(sparse.values.data_type, sparse.dims),
        )
    for node in graph.node:
        if node.op_type == "Constant" and len(node.output) == 1:
            tensor = _constant_of(node)
            if tensor is not None:
                scope.types.setdefault(node.output[0], _type_of(tensor))
                if is_small(tensor):
                    scope.constants[node.output[0]] = tensor
    return scope


def names_read(graph: onnx.GraphProto) -> set[str]:
    """Names that a graph reads, including those of graphs inside, and its outputs."""
    return {
        name
        for inner in graphs_of(graph)
        for node in inner.node
        for name in (*node.input, *(value.name for value in inner.output))
    } | {value.name for value in graph.output}


def is_small(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor's values are stored in the model and few."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return False
    entries = sum(len(getattr(tensor, name)) for name in _TENSOR_FIELDS)
    return entries <= _CONSTANT_BYTES and tensor.ByteSize() <= 3 * _CONSTANT_BYTES


def _type_of(tensor: onnx.TensorProto) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _constant_of(node: onnx.NodeProto) -> onnx.TensorProto | None:
    for attribute in node.attribute:
        if attribute.name == "value":
            tensor: onnx.TensorProto = attribute.t
            return tensor
        if attribute.name in {"value_int", "value_ints"}:
            values = attribute.i if attribute.name == "value_int" else list(attribute.ints)
            return numpy_helper.from_array(np.array(values, np.int64))
        if attribute.name in {"value_float", "value_floats"}:
            values = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            return numpy_helper.from_array(np.array(values, np.float32))
    return None
