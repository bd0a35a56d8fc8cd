"""Resize and Upsample: how a position in the output maps to the input became explicit late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from runners.engine.opsets.rules.rule import rule

if TYPE_CHECKING:
    from runners.engine.opsets.rules.case import Case


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
    that grows one axis and shrinks another becomes two.
    """
    mode = case.attribute("mode", "nearest")
    ways = [("floor", case.input(1))]
    if mode == "nearest":
        ways = _roundings(case)
    name = case.input(0)
    for place, (rounding, scales) in enumerate(ways):
        output = case.output(0) if place == len(ways) - 1 else case.fresh("resized")
        case.put(
            "Resize",
            [name, case.value([], onnx.TensorProto.FLOAT), scales],
            [output],
            mode=mode,
            coordinate_transformation_mode="asymmetric",
            nearest_mode=rounding if mode == "nearest" else None,
        )
        name = output


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
