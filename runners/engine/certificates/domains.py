"""Inputs on which the conversion of a node is searched: sizes, and values over whole ranges.

Sizes come first: all equal, then each apart from 0 to 40 and at some larger ones, among them odd
and prime ones. Then values of every kind at a few sizes: special ones (±0, subnormal, infinite, not
a number, largest, smallest), ties, powers of two, all magnitudes, the whole range of integers.
All are seeded, so that a search can be repeated.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx

if TYPE_CHECKING:
    from runners.engine.certificates.keys import InputKind, NodeKey

Array = np.ndarray[Any, Any]

EQUAL_SIZES = (1, 2, 3, 5, 7, 16, 31, 0)
APART_SIZES = (*range(41), 47, 53, 64, 97, 128, 131, 257)
_BASES = (3, 2)
_VALUE_SIZES = (5, 4)
_SEEDS = 3
MOST_ELEMENTS = 60_000
# Ranks to try where the rank of an input is not known; its sizes have classes of their own.
_RANKS = (4, 3, 2, 1)
_UNKNOWN = 1000


class ValueKind(StrEnum):
    """How the values of inputs are drawn."""

    NORMAL = "normal"
    UNIT = "from 0 to 1"
    SMALL = "small whole numbers"
    TIES = "halves"
    POWERS = "powers of two"
    MAGNITUDES = "all magnitudes"
    SPECIAL = "special values"
    RANGE = "whole range"


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One run: the size of each class, how values are drawn, a seed, and the rank if unknown."""

    sizes: dict[int, int]
    values: ValueKind
    seed: int
    rank: int = 0

    def classes_of(self, kind: InputKind) -> tuple[int, ...]:
        """The size classes of an input in this run."""
        if kind.classes is not None:
            return kind.classes
        return tuple(range(_UNKNOWN, _UNKNOWN + self.rank))


def plans(key: NodeKey) -> Iterator[InputPlan]:
    """The runs of a search, in order: sizes first, then kinds of values."""
    seed = zlib.crc32(key.digest.encode())
    is_open = any(kind.classes is None for kind in key.inputs)
    for rank in _RANKS if is_open else (0,):
        classes = [*key.classes, *range(_UNKNOWN, _UNKNOWN + rank)]
        yield from _of_rank(classes, dict(key.sizes), seed, rank)


def _of_rank(
    classes: list[int], fixed: dict[int, int], seed: int, rank: int
) -> Iterator[InputPlan]:
    # A size of 1 in the model may stand for broadcasting, which other sizes would hide.
    ones = {number: 1 for number in classes if fixed.get(number) == 1}
    own = [{number: fixed.get(number, 3) for number in classes}] if fixed else []
    at = [dict.fromkeys(classes, size) for size in _VALUE_SIZES]
    at = [*own, *at, *(base | ones for base in at if ones)]
    # The first seed of each kind of values comes before the sweep of sizes, which takes long.
    values = [
        InputPlan(sizes, kind, seed + 1000 + number, rank)
        for number in range(_SEEDS)
        for sizes in at
        for kind in ValueKind
    ]
    first = len(at) * len(ValueKind)
    sweep = [
        InputPlan(sizes, ValueKind.NORMAL, seed + number, rank)
        for number, sizes in enumerate(_sizes(classes, ones, own))
    ]
    equal = len(EQUAL_SIZES)
    yield from (*sweep[:equal], *values[:first], *sweep[equal:], *values[first:])


def _sizes(
    classes: list[int], ones: dict[int, int], own: list[dict[int, int]]
) -> Iterator[dict[int, int]]:
    for size in EQUAL_SIZES:
        yield dict.fromkeys(classes, size)
    bases = [dict.fromkeys(classes, size) for size in _BASES]
    for base in [*own, *bases, *(base | ones for base in bases if ones)]:
        yield base
        for number in classes:
            for size in APART_SIZES:
                yield {**base, number: size}


def inputs(key: NodeKey, plan: InputPlan) -> dict[str, Array] | None:
    """The inputs of a plan by name; None if they have too many elements."""
    feeds: dict[str, Array] = {}
    generator = np.random.default_rng(plan.seed)
    parameters = []
    for place, kind in enumerate(key.inputs):
        if kind.constant:
            continue
        shape = tuple(plan.sizes[number] for number in plan.classes_of(kind))
        if math.prod(shape) > MOST_ELEMENTS:
            return None
        feeds[f"i{place}"] = draw(kind.dtype, shape, plan.values, generator)
        if (key.op, place) in _PARAMETERS:
            parameters.append(place)
    for place in parameters:
        name, of = f"i{place}", feeds.get("i0")
        if of is not None:
            drawn = _PARAMETERS[key.op, place](of.shape, feeds[name].size, generator)
            feeds[name] = np.asarray(drawn, feeds[name].dtype)
    return feeds


def _partition(total: int, parts: int, generator: np.random.Generator) -> list[int]:
    """Whole numbers, some of them 0, with this sum."""
    cuts = sorted(generator.integers(0, total + 1, max(parts - 1, 0)).tolist())
    return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


def _some_axes(shape: tuple[int, ...], count: int, generator: np.random.Generator) -> list[int]:
    rank = max(len(shape), 1)
    axes = generator.permutation(rank)[: min(count or 1, rank)].tolist()
    return [axis - rank * int(generator.integers(0, 2)) for axis in axes]


# Inputs that hold sizes, axes or scales: what the runtime accepts for a first input of a shape.
_PARAMETERS: dict[tuple[str, int], Callable[..., Any]] = {
    ("Reshape", 1): lambda shape, _, generator: generator.permutation(shape),
    ("Expand", 1): lambda shape, _, generator: [2, *shape] if generator.integers(2) else shape,
    ("Tile", 1): lambda shape, _, generator: generator.integers(0, 3, len(shape)),
    ("Split", 1): lambda shape, count, generator: _partition(
        shape[0] if shape else 0, count, generator
    ),
    ("Pad", 1): lambda shape, _, generator: generator.integers(0, 3, 2 * len(shape)),
    ("Squeeze", 1): lambda shape, *_: [axis for axis, size in enumerate(shape) if size == 1],
    ("Unsqueeze", 1): _some_axes,
    ("TopK", 1): lambda shape, _, generator: [generator.integers(0, (shape or (1,))[-1] + 1)],
    ("Upsample", 1): lambda shape, _, generator: 1 + generator.integers(0, 9, len(shape)) / 4,
    **{
        (f"Reduce{name}", 1): _some_axes
        for name in (
            "Sum",
            "Mean",
            "Max",
            "Min",
            "Prod",
            "L1",
            "L2",
            "LogSum",
            "LogSumExp",
            "SumSquare",
        )
    },
}


def draw(
    dtype: int, shape: tuple[int, ...], kind: ValueKind, generator: np.random.Generator
) -> Array:
    """Values of an element type (of `onnx.TensorProto`), in the given shape."""
    of = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    count = math.prod(shape)
    if dtype == onnx.TensorProto.STRING:
        return generator.choice(np.array(_TEXTS, dtype=object), count).reshape(shape)
    if dtype == onnx.TensorProto.BOOL:
        return (generator.random(count) < 0.5).reshape(shape)
    if np.dtype(of).kind in "iu" or "int" in np.dtype(of).name:
        return _integers(of, count, kind, generator).reshape(shape)
    with np.errstate(over="ignore", invalid="ignore"):
        values = _floats(np.dtype(of), count, kind, generator)
        return values.astype(of).reshape(shape)


_TEXTS = (
    "",
    "a",
    "A",
    " b ",
    "0",
    "1.5",
    "-3",
    "NaN",
    "inf",
    "é",
    "e\u0301",
    "ß",
    "\u4e2d",
    "x" * 40,
)


def _integers(of: Any, count: int, kind: ValueKind, generator: np.random.Generator) -> Array:
    info = ml_dtypes.iinfo(of)  # type: ignore[no-untyped-call]
    low, high = int(info.min), int(info.max)
    match kind:
        case ValueKind.RANGE | ValueKind.MAGNITUDES:
            values = generator.integers(low, high, count, endpoint=True, dtype=_wide(low))
        case ValueKind.SPECIAL | ValueKind.POWERS | ValueKind.TIES:
            pool = [low, low + 1, -1, 0, 1, high - 1, high, *(1 << bit for bit in range(0, 63, 7))]
            fitting = [value for value in pool if low <= value <= high]
            values = generator.choice(np.array(fitting, _wide(low)), count)
        case ValueKind.UNIT:
            values = generator.integers(0, min(high, 1), count, endpoint=True)
        case _:
            values = generator.integers(max(low, -3), min(high, 4), count)
    return values.astype(of)


def _wide(low: int) -> Any:
    return np.int64 if low < 0 else np.uint64


def _floats(
    of: np.dtype[Any], count: int, kind: ValueKind, generator: np.random.Generator
) -> Array:
    signs = generator.choice([-1.0, 1.0], count)
    info = ml_dtypes.finfo(of)  # type: ignore[no-untyped-call]
    largest, smallest = float(info.max), float(info.smallest_subnormal)
    match kind:
        case ValueKind.UNIT:
            values: Array = generator.random(count)
        case ValueKind.SMALL:
            values = generator.integers(-4, 5, count).astype(float)
        case ValueKind.TIES:
            values = generator.integers(-6, 6, count) + 0.5
        case ValueKind.POWERS:
            values = signs * 2.0 ** generator.integers(-20, 21, count)
        case ValueKind.MAGNITUDES:
            exponents = generator.uniform(math.log10(smallest), math.log10(largest), count)
            values = signs * 10.0**exponents
        case ValueKind.RANGE:
            values = signs * largest * generator.random(count)
        case ValueKind.SPECIAL:
            normal = float(info.smallest_normal)
            near = [0.0, smallest, normal / 2, normal, 0.5, 1.0, 1.5, 2.0]
            pool = [*near, largest / 2, largest, math.inf, math.nan]
            values = signs * generator.choice(np.array(pool), count)
        case _:
            values = generator.standard_normal(count)
    return values
