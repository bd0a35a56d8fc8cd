"""Elementwise operators: up to opset 6 the second input was laid along an axis by an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runners.engine.opsets.rules.rule import rule

if TYPE_CHECKING:
    from runners.engine.opsets.rules.case import Case

_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")
_LOGIC = ("And", "Or", "Xor", "Less", "Greater", "Equal")


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


@rule("slope-per-channel", "PRelu", source=6, target=7, accepts=1)
def lay_the_slope_along_channels(case: Case) -> None:
    values, slope = case.input(0), case.input(1)
    rank, shape = case.rank(values), case.shape(slope)
    if shape is None or (len(shape) == 1 and shape[0] != 1 and rank > 2):
        case.rank(slope)
        slope = case.add("Unsqueeze", [slope], axes=list(range(1, rank - 1)))
    case.again("consumed_inputs", inputs=[values, slope])
