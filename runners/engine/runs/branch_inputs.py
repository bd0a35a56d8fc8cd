"""Inputs that enter the branches of `If` nodes whose condition depends on an input of the model.

A condition such as "the sampling rate is 16000" has a branch that no input enters whose rate is as
the card declares it. The branch is part of the model all the same. So one data set that ran is
varied: the inputs that decide get the constants that they are compared with, and values beside
them. A branch may need other sizes than its sibling (half the samples at half the rate, for
example), so sizes are tried as they are, halved and doubled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper, numpy_helper

from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import DataSet, Value, required_inputs
from runners.engine.runs import agreement

if TYPE_CHECKING:
    import onnx


Array = np.ndarray[Any, Any]

_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
# Operators between an input and a condition that leave its elements or combine truth values.
_CARRIED = frozenset(
    {
        *("Cast", "Flatten", "Gather", "Identity", "Reshape", "Squeeze", "Unsqueeze"),
        *("And", "Not", "Or", "Xor", "ReduceMax", "ReduceMin"),
    }
)
_TIMES = (1.0, 0.5, 2.0)
_MOST_CONSTANTS = 6
_MOST_SETS = 24
_FIXED_SIZE = "dim_value"


def constants(model: onnx.ModelProto) -> dict[str, float]:
    """The finite stored numbers of one element, by name, in any graph of the model."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in bodies.nodes(model):
        if node.op_type == "Constant":
            values = (each.t for each in node.attribute if each.name == "value")
            tensors.update((name, value) for value in values for name in node.output)
    numbers = {}
    for name, tensor in tensors.items():
        if tensor.external_data or math.prod(tensor.dims) != 1:
            continue
        array = numpy_helper.to_array(tensor).reshape(-1)
        if array.dtype.kind in "biuf" and math.isfinite(value := float(array[0])):
            numbers[name] = value
    return numbers


def thresholds(model: onnx.ModelProto) -> list[float]:
    """The finite constants with which comparisons in any graph of the model compare."""
    numbers = constants(model)
    nodes = (node for node in bodies.nodes(model) if node.op_type in _COMPARISONS)
    names = (name for node in nodes for name in node.input if name in numbers)
    return list(dict.fromkeys(numbers[name] for name in names))


def around(threshold: float) -> tuple[float, float, float]:
    """Values on both sides of a threshold, and the threshold itself."""
    step = max(abs(threshold) * 0.01, 1e-3)
    return threshold - step, threshold + step, threshold


def varied(model: onnx.ModelProto, base: Mapping[str, Value]) -> list[DataSet]:
    """Data sets that may enter branches that an input decides, from inputs that ran.

    They do not stay within what a card declares.
    """
    plans = [
        (name, value, times)
        for name, values in _deciding_values(model).items()
        for value in values
        for times in _TIMES
    ]
    arrays = {name: value for name, value in base.items() if isinstance(value, np.ndarray)}
    sets: list[DataSet] = []
    for name, value, times in plans:
        resized = _resized(model, arrays, times, decider=name)
        if resized is None or name not in arrays:
            continue
        decided = np.full_like(arrays[name], value)
        inputs = {**base, **resized, name: decided}
        sets.append(DataSet(f"generated-branch-{len(sets)}", "generated", inputs))
    return sets[:_MOST_SETS]


def _deciding_values(model: onnx.ModelProto) -> dict[str, list[Any]]:
    """Values of the inputs on which conditions of `If` depend, which take either branch."""
    makers = {name: node for node in bodies.nodes(model) for name in node.output}
    numbers = constants(model)
    ports = {port.name: port.type.tensor_type.elem_type for port in required_inputs(model)}
    decided: dict[str, list[Any]] = {}
    for node in bodies.nodes(model):
        if node.op_type != "If":
            continue
        behind = list(_behind(node.input[0], makers))
        compared = [numbers[name] for name in behind if name in numbers][:_MOST_CONSTANTS]
        for name in behind:
            if ports.get(name):
                dtype = np.dtype(helper.tensor_dtype_to_np_dtype(ports[name]))
                decided.setdefault(name, []).extend(_values(dtype, compared))
    return {name: list(dict.fromkeys(values)) for name, values in decided.items()}


def _values(dtype: np.dtype[Any], compared: list[float]) -> Iterator[Any]:
    if dtype.kind == "b":
        yield from (False, True)
    elif agreement.is_whole(dtype):
        info = np.iinfo(dtype)
        near = (int(value) + step for value in compared for step in (-1, 1, 0))
        yield from (value for value in near if info.min <= value <= info.max)
    elif dtype.kind == "f":
        yield from (value for threshold in compared for value in around(threshold))


def _behind(condition: str, makers: Mapping[str, onnx.NodeProto]) -> Iterator[str]:
    """The condition, and the values that it is carried or compared from."""
    waiting, followed = [condition], {condition}
    while waiting:
        name = waiting.pop()
        yield name
        node = makers.get(name)
        if node is None or node.op_type not in _COMPARISONS | _CARRIED:
            continue
        waiting += [other for other in node.input if other and other not in followed]
        followed.update(node.input)


def _resized(
    model: onnx.ModelProto, arrays: Mapping[str, Array], times: float, *, decider: str
) -> dict[str, Array] | None:
    """Arrays with their largest free size multiplied; None if there is none to multiply.

    Free dimensions of the same size are taken for the same.
    """
    free = [
        (port.name, place)
        for port in required_inputs(model)
        for place, dim in enumerate(port.type.tensor_type.shape.dim)
        if port.name in arrays and port.name != decider and not dim.HasField(_FIXED_SIZE)
    ]
    if times == 1:
        return {}
    largest = max((arrays[name].shape[place] for name, place in free), default=0)
    if not int(largest * times):
        return None
    resized = {}
    for name in {name for name, _ in free}:
        shape = [
            int(size * times) if (name, place) in free and size == largest else size
            for place, size in enumerate(arrays[name].shape)
        ]
        resized[name] = np.resize(arrays[name], shape)
    return resized
