"""Values of a graph for given sizes: types with concrete shapes, and small contents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from runners.engine.costs.operators import Shape
from runners.engine.onnx_files.vocabulary import DATA_TYPES

# Larger values determine no shapes.
MOST_FOLDED = 1024
# Names that exporters write for unknown dimensions.
_NAMELESS = re.compile(r"|\?|None|unk__\d+|-1")


@dataclass(frozen=True, slots=True)
class Value:
    """A value: its type as ONNX writes it, and the content of a small constant.

    ``parameters`` is the number of parameters that a stored value holds. A bound has the largest
    shape that it may get, where data decide; of a value from branches, ``largest_branches`` has the
    branch with the greatest size for each axis, None where all have the same.
    """

    type: onnx.TypeProto
    content: np.ndarray[Any, Any] | None = None
    parameters: int = 0
    is_bound: bool = False
    largest_branches: tuple[int | None, ...] = ()

    @property
    def shape(self) -> Shape | None:
        """Sizes of a tensor; None if one is unknown, and for other types."""
        tensor = self.type.tensor_type
        if not self.type.HasField("tensor_type") or not tensor.HasField("shape"):
            return None
        if not all(dimension.HasField("dim_value") for dimension in tensor.shape.dim):
            return None
        return tuple(dimension.dim_value for dimension in tensor.shape.dim)

    @property
    def elements(self) -> int | None:
        return None if self.shape is None else math.prod(self.shape)

    @property
    def bytes(self) -> int | None:
        """Bytes of a tensor whose elements have a size; strings count none."""
        if self.elements is None:
            return None
        bits = DATA_TYPES.get(self.type.tensor_type.elem_type, ("", 0))[1]
        return -(-self.elements * bits // 8)

    def at(self, sizes: Mapping[str, int]) -> Value:
        """The same value with numbers for free dimensions, by the names of `free_dimensions`."""
        if not self.type.HasField("tensor_type") or not self.type.tensor_type.HasField("shape"):
            return self
        sized = onnx.TypeProto()
        sized.CopyFrom(self.type)
        for dimension in sized.tensor_type.shape.dim:
            if not dimension.HasField("dim_value") and dimension.dim_param in sizes:
                dimension.dim_value = sizes[dimension.dim_param]
        return replace(self, type=sized)


def named(value: onnx.ValueInfoProto) -> onnx.TypeProto:
    """The type of an input with a name for each free dimension: its own, `batch`, or its index."""
    kind = onnx.TypeProto()
    kind.CopyFrom(value.type)
    if not kind.HasField("tensor_type"):
        return kind
    for axis, dimension in enumerate(kind.tensor_type.shape.dim):
        if dimension.HasField("dim_value") and dimension.dim_value > 0:
            continue
        name = dimension.dim_param.strip()
        if _NAMELESS.fullmatch(name):
            name = "batch" if axis == 0 else f"{value.name}[{axis}]"
        dimension.Clear()
        dimension.dim_param = name
    return kind


def stored_value(tensor: onnx.TensorProto, parameters: int = 0) -> Value:
    """A weight, with its content if it is small and stored."""
    kind = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    content = None
    if math.prod(tensor.dims) <= MOST_FOLDED and tensor.data_type != onnx.TensorProto.STRING:
        try:
            content = numpy_helper.to_array(tensor)
        except (ValueError, TypeError):  # a skeleton may lack it
            content = None
    return Value(kind, content, parameters)


def content_value(content: np.ndarray[Any, Any]) -> Value:
    """A value with known content, if that is small."""
    kind = onnx.helper.make_tensor_type_proto(
        onnx.helper.np_dtype_to_tensor_dtype(content.dtype), list(content.shape)
    )
    return Value(kind, content if content.size <= MOST_FOLDED else None)


def shape_content(node: onnx.NodeProto, value: Value | None) -> list[Value] | None:
    """The output of Shape or Size; None if the shape is unknown."""
    if value is None or value.shape is None or value.is_bound:
        return None
    if node.op_type == "Size":
        return [content_value(np.array(value.elements, np.int64))]
    options = {attribute.name: attribute.i for attribute in node.attribute}
    shape = value.shape[options.get("start", 0) : options.get("end")]
    return [content_value(np.array(shape, np.int64))]


def range_length(contents: Sequence[np.ndarray[Any, Any]]) -> float:
    start, limit, step = (each.item() for each in contents)
    return (limit - start) / step if step else math.inf


def constant(node: onnx.NodeProto, parameters: int) -> list[Value] | None:
    for attribute in node.attribute:
        if attribute.name == "value":
            return [stored_value(attribute.t, parameters)]
        if attribute.name in ("value_int", "value_ints"):
            return [content_value(np.array(onnx.helper.get_attribute_value(attribute), np.int64))]
        if attribute.name in ("value_float", "value_floats"):
            value = content_value(np.array(onnx.helper.get_attribute_value(attribute), np.float32))
            return [replace(value, parameters=parameters)]
    return None


def scan_slices(values: Sequence[Value | None], axes: Any) -> tuple[list[Value | None], int | None]:
    """The inputs of one step of a scan, and the number of steps."""
    slices: list[Value | None] = []
    count = None
    for value, axis in zip(values, axes, strict=False):
        shape = value.shape if value else None
        if value is None or not shape:
            slices.append(None)
            continue
        count = shape[axis]
        rest = [size for place, size in enumerate(shape) if place != axis % len(shape)]
        kind = value.type.tensor_type.elem_type
        slices.append(Value(onnx.helper.make_tensor_type_proto(kind, rest)))
    return slices, count


def largest(values: Sequence[Value | None]) -> Value:
    """A value that is one of these: with the greatest size of each axis, and then a bound."""
    first = values[0]
    if first is None or None in values:
        return Value(onnx.TypeProto())
    if len({value.type.SerializeToString() for value in values if value}) == 1:
        return replace(first, content=None)
    shapes = [value.shape or () for value in values if value]
    kinds = {value.type.tensor_type.elem_type for value in values if value}
    if len(kinds) > 1 or len(set(map(len, shapes))) > 1 or not all(shapes):
        return Value(onnx.TypeProto())
    columns = list(zip(*shapes, strict=True))
    kind = onnx.helper.make_tensor_type_proto(kinds.pop(), [max(column) for column in columns])
    branches = [None if len(set(column)) == 1 else column.index(max(column)) for column in columns]
    return Value(kind, is_bound=True, largest_branches=tuple(branches))


def without_shape(value: Value | None) -> Value:
    """The value of a state whose shape changes from one iteration to the next."""
    kind = value.type.tensor_type.elem_type if value else onnx.TensorProto.UNDEFINED
    return Value(onnx.helper.make_tensor_type_proto(kind, None))


def stacked(value: Value | None, count: int | None, axis: int) -> Value | None:
    if value is None or value.shape is None or count is None:
        return None
    shape = list(value.shape)
    shape.insert(axis % (len(shape) + 1), count)
    return Value(onnx.helper.make_tensor_type_proto(value.type.tensor_type.elem_type, shape))
