"""Generated inputs of a model: seeded data sets of several sizes and kinds of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnx import numpy_helper

from hub.protocol.inputs import DeclaredInput
from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import DataSet, Value, required_inputs
from runners.engine.runs import specification
from runners.engine.runs.input_sizes import has_free_sizes, is_mask
from runners.engine.runs.input_values import (
    LIMIT_BYTES,
    UNBOUNDED,
    CannotGenerateError,
    InputMaker,
    Kind,
    Plan,
)

if TYPE_CHECKING:
    import onnx


__all__ = ["CannotGenerateError", "datasets", "generate", "thresholds"]

GENERATED = "generated"
# For upgrades: other kinds of values, and a search for inputs that enter untested branches.
VARIED, SEARCHED = "varied", "searched"
# For upgrades of models that run fast: more sizes, and magnitudes that the card does not bound.
SWEPT = "swept"

# Sizes of free dimensions: usual ones, then larger ones for models that run on none of those, such
# as models of sound, whose windows are longer.
SIZE_GROUPS = ((1, 2, 3), (16, 32, 64), (576, 1024, 1600))
SIZES = SIZE_GROUPS[0]
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
# Values that resemble pictures, counts, masks and range ends, besides normal and extreme ones.
_OTHER_KINDS: tuple[Kind, ...] = ("uniform", "pixels", "sparse", "negative", "zeros", "large")
# Scales of inputs in the search for untested branches.
_SCALES = (-1.0, 10.0, -10.0, 1e3, -1e3, 1e6, -1e6)
_SIDES = (5, 7, 16, 31, 64, 97)
_FACTORS = (1e-30, 1e-9, 1e9, 1e30)
_MOST_THRESHOLDS = 6
_SEARCH_SEEDS = 4


def generate(
    model: onnx.ModelProto,
    *,
    seed: int,
    size: int,
    limit_bytes: int = LIMIT_BYTES,
    declared: Sequence[DeclaredInput] = (),
) -> dict[str, Value]:
    """One value for each required input, with free dimensions of about `size`.

    Inputs that the card declares get declared values and sizes. Raises CannotGenerateError, also if
    all values would exceed `limit_bytes`.
    """
    return InputMaker(model, Plan("", seed, size), declared, limit_bytes=limit_bytes).make()


def datasets(
    model: onnx.ModelProto,
    *,
    seed: int = 0,
    sizes: Sequence[int] = SIZES,
    declared: Sequence[DeclaredInput] = (),
    origin: str = GENERATED,
) -> list[DataSet]:
    """The data sets of an origin.

    `sizes` can be raised for a model that does not run on small ones. Inputs that the card declares
    get declared values; the extreme set gets the ends of their ranges. Raises CannotGenerateError.
    """
    plans = _PLANS[origin](model, seed, sizes)
    if declared:
        plans = [plan for plan in plans if plan.kind not in UNBOUNDED]
    return [
        DataSet(f"generated-{plan.name}", "generated", InputMaker(model, plan, declared).make())
        for plan in plans
    ]


def _usual(model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    """Normal values for each size, then zeros, large and denormal ones.

    A model that takes a mask gets one that hides whole rows, and a model with floats of 8 bits gets
    values for which the definition of casts has a rule of its own.
    """
    plans = [Plan(str(size), seed + size, size) for size in sizes]
    last, middle = seed + max(sizes) + 1, sizes[len(sizes) // 2]
    if any(is_mask(port.name) for port in required_inputs(model)):
        plans.append(Plan("masked", last + 1, middle, "masked"))
    if specification.has_narrow_floats(model):
        plans.append(Plan("special", last + 2, middle, "special"))
    return [*plans, Plan("extreme", last, middle, "extreme")]


def _varied(_model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    size = sizes[len(sizes) // 2]
    kinds = enumerate(_OTHER_KINDS)
    return [Plan(kind, seed + 100 + place, size, kind) for place, kind in kinds]


def _searching(model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    """Values that may enter untested branches: scaled ones, and those around constants compared."""
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


def _swept(model: onnx.ModelProto, seed: int, sizes: Sequence[int]) -> list[Plan]:
    """Exact sizes of free dimensions, if there are some, and all magnitudes."""
    size = sizes[len(sizes) // 2]
    sides = _SIDES if has_free_sizes(model) else ()
    return [
        *(Plan(f"side-{side}", seed + 500 + side, side, is_exact=True) for side in sides),
        *(
            Plan(f"magnitude-{place}", seed + 600 + place, size, "magnified", factor)
            for place, factor in enumerate(_FACTORS)
        ),
        Plan("magnitudes", seed + 700, size, "magnitudes"),
    ]


_PLANS = {GENERATED: _usual, VARIED: _varied, SWEPT: _swept, SEARCHED: _searching}


def thresholds(model: onnx.ModelProto) -> list[float]:
    """The finite constants with which comparisons in any graph of the model compare."""
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
