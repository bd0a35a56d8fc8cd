"""QuantizeLinear and DequantizeLinear: later versions only add optional attributes."""

from __future__ import annotations

from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule


def carry(case: Case) -> None:
    case.again()


@rule("one-scale-is-scalar", "QuantizeLinear", "DequantizeLinear", source=12, target=13, accepts=10)
def make_scalar(case: Case) -> None:
    """Make a single scale a scalar: from opset 13 on, a list of one scale means one per channel."""
    inputs = list(case.node.input)
    for place in range(1, len(inputs)):
        if case.shape(inputs[place]) == [1]:
            inputs[place] = _scalar(case, inputs[place])
    case.again(inputs=inputs)


def _scalar(case: Case, name: str) -> str:
    constant = case.constant(name)
    if constant is not None:
        return case.value(constant.reshape(()), case.dtype(name))
    return case.add("Squeeze", [name, case.value([0])])


# The converter writes an output_dtype that contradicts a zero point of unknown type.
for changed in (19, 21, 23, 24, 25, 28):
    rule(
        "quantising-carried",
        "QuantizeLinear",
        "DequantizeLinear",
        source=changed - 1,
        target=changed,
        accepts=13,
    )(carry)
