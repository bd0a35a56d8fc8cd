"""Resize and Upsample: how a position in the output maps to the input became explicit late."""

from __future__ import annotations

import numpy as np
import onnx

from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule


@rule("upsample-as-resize", "Upsample", source=9, target=10)
def upsample(case: Case) -> None:
    mode = case.attribute("mode", "nearest")
    case.add(
        "Resize",
        list(case.node.input),
        case.output(0),
        mode="linear" if mode == "bilinear" else mode,
    )


@rule("resize-asymmetric", "Resize", source=10, target=11)
def asymmetric(case: Case) -> None:
    """Make the defaults of Resize-10 and Upsample explicit.

    The rounding of nearest is floor if growing, else ceil. A node has one rounding mode, so a node
    that grows one axis and shrinks another becomes two. Runtimes return the input of a Resize whose
    output has the same shape, also if a scale such as 1.04 moves positions. The part that grows
    alone might fall under this where the whole did not, so it gets another axis, which is doubled
    if anything shrinks, and of which one half is taken.
    """
    mode = case.attribute("mode", "nearest")
    if mode != "nearest":
        _resize(case, case.input(0), case.input(1), case.output(0), mode=mode)
        return
    ways = _roundings(case)
    if len(ways) == 1:
        [(rounding, scales)] = ways
        _resize(case, case.input(0), scales, case.output(0), mode=mode, nearest_mode=rounding)
        return
    (_, shrinking), (_, growing) = ways
    first, all_axes = case.value([0]), case.fresh("doubled")
    small = case.fresh("shrunk")
    _resize(case, case.input(0), shrinking, small, mode=mode, nearest_mode="ceil")
    scales = case.add("Concat", [_of_another_axis(case), growing], axis=0)
    whole = case.add("Unsqueeze", [small], axes=[0])
    _resize(case, whole, scales, all_axes, mode=mode, nearest_mode="floor")
    half = case.add("Gather", [all_axes, first], axis=0)
    case.add("Squeeze", [half], case.output(0), axes=[0])


def _of_another_axis(case: Case) -> str:
    """A scale of 2 if a scale of the node is below 1, else of 1."""
    kind = onnx.TensorProto.FLOAT
    if case.constant(case.input(1)) is not None:
        return case.value([2.0], kind)
    least = case.add("ReduceMin", [case.input(1)], axes=[0], keepdims=1)
    shrinks = case.add("Less", [least, case.value([1.0], kind)])
    return case.add("Add", [case.add("Cast", [shrinks], to=kind), case.value([1.0], kind)])


def _resize(case: Case, name: str, scales: str, output: str, **attributes: str) -> None:
    inputs = [name, case.value([], onnx.TensorProto.FLOAT), scales]
    case.put("Resize", inputs, [output], coordinate_transformation_mode="asymmetric", **attributes)


def _roundings(case: Case) -> list[tuple[str, str]]:
    name, kind = case.input(1), onnx.TensorProto.FLOAT
    scales = case.constant(name)
    if scales is None:
        unit = case.value([1.0], kind)
        return [("ceil", case.add("Min", [name, unit])), ("floor", case.add("Max", [name, unit]))]
    growing, shrinking = np.maximum(scales, 1), np.minimum(scales, 1)
    if (growing == scales).all():
        return [("floor", name)]
    if (shrinking == scales).all():
        return [("ceil", name)]
    return [("ceil", case.value(shrinking, kind)), ("floor", case.value(growing, kind))]


@rule("resize-one-measure", "Resize", source=12, target=13, accepts=11)
def sizes_alone(case: Case) -> None:
    inputs = list(case.node.input)
    if case.input(3):
        inputs[2] = ""
    case.again(inputs=inputs)
