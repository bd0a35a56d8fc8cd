"""Operators that broadcast, move, slice, fill or cast, in their oldest versions."""

from __future__ import annotations

import numpy as np
import onnx

from runners.engine.opsets.outcome import CannotConvertError
from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule

# Up to opset 6, an attribute aligned their second input with an axis.
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")
_LOGIC = ("And", "Or", "Xor", "Less", "Greater", "Equal")


@rule("cast-by-number", "Cast", source=5, target=6, accepts=1)
def cast(case: Case) -> None:
    word = str(case.attribute("to", "")).upper()
    if word not in onnx.TensorProto.DataType.keys():  # noqa: SIM118 - a protobuf enum, not a dict
        raise CannotConvertError(f"it casts to {word!r}, which is no type")
    case.again(to=onnx.TensorProto.DataType.Value(word))


@rule("reshape-by-input", "Reshape", source=4, target=5, accepts=1)
def reshape(case: Case) -> None:
    shape = case.attribute("shape")
    if shape is None:
        raise CannotConvertError("it names no shape")
    case.add("Reshape", [case.input(0), case.value(list(shape))], case.output(0))


@rule("tile-by-repeats", "Tile", source=5, target=6, accepts=1)
def tile(case: Case) -> None:
    times, axis = int(case.values(case.input(1)).item()), int(case.values(case.input(2)).item())
    repeats = np.ones(case.rank(case.input(0)), np.int64)
    repeats[axis] = times
    case.again(inputs=[case.input(0), case.value(repeats)])


@rule("pads-renamed", "Pad", source=1, target=2)
def pad(case: Case) -> None:
    case.again("paddings", pads=list(case.attribute("paddings", [])))


@rule("split-axis", "Split", source=1, target=2)
def split(case: Case) -> None:
    axis, sizes = case.attribute("axis"), case.attribute("split")
    if axis is None:
        raise CannotConvertError("Split-1 without an axis: its definition names no default")
    if case.input(1):
        sizes = [int(size) for size in case.values(case.input(1))]
    case.again(inputs=[case.input(0)], axis=axis, split=list(sizes) if sizes else None)


@rule("lp-as-integer", "LpPool", "GlobalLpPool", source=1, target=2)
def lp_pool(case: Case) -> None:
    power = float(case.attribute("p", 2.0))
    if not power.is_integer():
        raise CannotConvertError(f"p is {power}; from opset 2 on it is a whole number")
    case.again(p=int(power))


@rule("broadcast-axis", *_ARITHMETIC, *_LOGIC, source=6, target=7, accepts=1)
def lay_along_the_last_axes(case: Case) -> None:
    first, second = case.input(0), case.input(1)
    axis = case.attribute("axis")
    if case.attribute("broadcast", 0) and axis is not None:
        rank, inner = case.rank(first), case.rank(second)
        behind = rank - (axis % rank if rank else 0) - inner
        if behind > 0:
            axes = list(range(inner, inner + behind))
            second = case.add("Unsqueeze", [second], axes=axes)
    case.again("broadcast", "axis", "consumed_inputs", inputs=[first, second])


@rule("gemm-broadcast", "Gemm", source=6, target=7, accepts=1)
def gemm(case: Case) -> None:
    # Without `broadcast`, the third input has the shape of the product, which opset 7 takes, too.
    case.again("broadcast")


@rule("slope-per-channel", "PRelu", source=6, target=7, accepts=1)
def lay_the_slope_along_channels(case: Case) -> None:
    values, slope = case.input(0), case.input(1)
    rank, shape = case.rank(values), case.shape(slope)
    if shape is None or (len(shape) == 1 and shape[0] != 1 and rank > 2):
        case.rank(slope)
        slope = case.add("Unsqueeze", [slope], axes=list(range(1, rank - 1)))
    case.again("consumed_inputs", inputs=[values, slope])
