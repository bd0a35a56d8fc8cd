"""Which inputs are made for a model: data sets of several sizes and kinds of values, seeded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import numpy_helper

from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs.input_values import (
    LIMIT_BYTES,
    CannotGenerateError,
    InputMaker,
    Kind,
    Plan,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from hub.protocol.inputs import DeclaredInput

__all__ = ["CannotGenerateError", "datasets", "generate", "thresholds"]

GENERATED = "generated"
# Of an upgrade: other kinds of values, and those of a search for branches that none has entered.
VARIED, SEARCHED = "varied", "searched"

SIZES = (1, 2, 3)
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
# Beside normal and extreme values: what pictures, counts, masks and ends of ranges look like.
_OTHER_KINDS: tuple[Kind, ...] = ("uniform", "pixels", "sparse", "negative", "zeros", "large")
# Of a search for branches that no input has entered.
_SCALES = (-1.0, 10.0, -10.0, 1e3, -1e3, 1e6, -1e6)
_MOST_THRESHOLDS = 6
_SEARCH_SEEDS = 4


def generate(
    model: onnx.ModelProto, *, seed: int, size: int, limit_bytes: int = LIMIT_BYTES
) -> dict[str, Value]:
    """Make one value for each required input, dynamic dimensions of about `size`.

    Raises CannotGenerateError, also when all together would take more than `limit_bytes`.
    """
    return InputMaker(model, Plan("", seed, size), limit_bytes=limit_bytes).make()


def datasets(
    model: onnx.ModelProto,
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    declared: Sequence[DeclaredInput] = (),
    origin: str = GENERATED,
) -> list[DataSet]:
    """Make the sets of an origin.

    A model that cannot work on small sizes can be given others. Inputs that the card declares get
    values as declared, the extreme set their ends. Raises CannotGenerateError.
    """
    plans = _PLANS[origin](model, seed, sizes)
    return [
        DataSet(f"generated-{plan.name}", "generated", InputMaker(model, plan, declared).make())
        for plan in plans
    ]


def _usual(_model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    """Normal values for each size, then zeros, large and denormal ones."""
    plans = [Plan(str(size), seed + size, size) for size in sizes]
    return [*plans, Plan("extreme", seed + max(sizes) + 1, sizes[len(sizes) // 2], "extreme")]


def _varied(_model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    size = sizes[len(sizes) // 2]
    kinds = enumerate(_OTHER_KINDS)
    return [Plan(kind, seed + 100 + place, size, kind) for place, kind in kinds]


def _searching(model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    """What may enter a branch that nothing else did: scaled, and around what graphs compare to."""
    size = sizes[len(sizes) // 2]
    fills = [
        fill
        for threshold in thresholds(model)[:_MOST_THRESHOLDS]
        for step in [max(abs(threshold) * 0.01, 1e-3)]
        for fill in (threshold, threshold - step, threshold + step)
    ]
    return [
        *(
            Plan(f"scaled-{place}", seed + 200 + place, size, "scaled", scale)
            for place, scale in enumerate(_SCALES)
        ),
        *(Plan(f"more-{place}", seed + 300 + place, size) for place in range(_SEARCH_SEEDS)),
        *(
            Plan(f"filled-{place}", seed + 400 + place, size, "filled", fill)
            for place, fill in enumerate(fills)
        ),
    ]


_PLANS = {GENERATED: _usual, VARIED: _varied, SEARCHED: _searching}


def thresholds(model: onnx.ModelProto) -> list[float]:
    """List the finite constants that comparisons in any graph of the model hold values against."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    compared: list[str] = []
    for node in bodies.nodes(model):
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    stored.update(dict.fromkeys(node.output, attribute.t))
        elif node.op_type in _COMPARISONS:
            compared += node.input
    values: list[float] = []
    for name in dict.fromkeys(compared):
        tensor = stored.get(name)
        if tensor is None or tensor.external_data or math.prod(tensor.dims) != 1:
            continue
        value = float(numpy_helper.to_array(tensor).reshape(-1)[0])
        if math.isfinite(value) and value not in values:
            values.append(value)
    return values
