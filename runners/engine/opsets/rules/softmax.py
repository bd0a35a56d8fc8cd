"""Softmax, LogSoftmax and Hardmax: up to opset 12 over all axes from one on, then over one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runners.engine.opsets.rules.rule import rule

if TYPE_CHECKING:
    from runners.engine.opsets.rules.case import Case


@rule("softmax-flattened", "Softmax", "LogSoftmax", "Hardmax", source=12, target=13, accepts=1)
def flatten(case: Case) -> None:
    axis = case.attribute("axis", 1)
    shape = case.shape(case.input(0))
    if axis == -1 or (shape is not None and axis == len(shape) - 1):
        case.again(axis=-1)
        return
    flat = case.add("Flatten", [case.input(0)], axis=axis)
    soft = case.add(case.node.op_type, [flat], axis=-1)
    case.add("Reshape", [soft, case.add("Shape", [case.input(0)])], case.output(0))
