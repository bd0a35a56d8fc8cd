"""Normalisation operators and Softmax, whose parameters changed their meaning or shape."""

from __future__ import annotations

from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule


@rule("mvn-axes", "MeanVarianceNormalization", source=8, target=9, accepts=1)
def mean_variance(case: Case) -> None:
    axes = [0, 1, 2, 3] if case.attribute("across_channels", 0) else [0, 2, 3]
    if case.attribute("normalize_variance", 1):
        case.again("across_channels", "normalize_variance", axes=axes)
        return
    mean = case.add("ReduceMean", [case.input(0)], axes=axes, keepdims=1)
    case.add("Sub", [case.input(0), mean], case.output(0))


@rule("group-scale-per-channel", "GroupNormalization", source=20, target=21, accepts=18)
def group_normalization(case: Case) -> None:
    groups = int(case.attribute("num_groups"))
    if groups == 1:
        shape = case.shape(case.input(0))
        if shape is not None and len(shape) > 1 and shape[1] == 1:
            case.again()
            return
    all_groups = case.value([groups])
    channels = case.add("Shape", [case.input(0)], start=1, end=2)
    spread = case.add("Concat", [all_groups, case.add("Div", [channels, all_groups])], axis=0)
    column, flat = case.value([groups, 1]), case.value([-1])

    def widened(name: str) -> str:
        wide = case.add("Expand", [case.add("Reshape", [name, column]), spread])
        return case.add("Reshape", [wide, flat])

    inputs = [case.input(0), widened(case.input(1)), widened(case.input(2))]
    case.again(inputs=inputs)


def _flatten(case: Case, allowzero: int | None) -> None:
    # Up to opset 12 over all axes from `axis` on, then over one axis.
    axis = case.attribute("axis", 1)
    shape = case.shape(case.input(0))
    if axis == -1 or (shape is not None and axis == len(shape) - 1):
        case.again(axis=-1)
        return
    flat = case.add("Flatten", [case.input(0)], axis=axis)
    soft = case.add(case.node.op_type, [flat], axis=-1)
    whole = case.add("Shape", [case.input(0)])
    case.add("Reshape", [soft, whole], case.output(0), allowzero=allowzero)


_SOFTMAX = ("Softmax", "LogSoftmax", "Hardmax")


@rule("softmax-flattened", *_SOFTMAX, source=12, target=14, accepts=1)
def flatten(case: Case) -> None:
    # Without `allowzero`, a size of 0 is that of the flattened tensor, which has other axes.
    _flatten(case, allowzero=1)


@rule("softmax-flattened", *_SOFTMAX, source=12, target=13, accepts=1)
def flatten_for_opset_13(case: Case) -> None:
    # Reshape has `allowzero` from opset 14 on: empty inputs have no equal before.
    _flatten(case, allowzero=None)
