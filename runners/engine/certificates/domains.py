"""Inputs on which the conversion of a node is searched: sizes, and values over whole ranges.

Sizes come first: all equal, then each apart from 0 to 40 and at some larger ones, among them odd
and prime ones. Then values of every kind at a few sizes: special ones (±0, subnormal, infinite, not
a number, largest, smallest), ties, powers of two, all magnitudes, the whole range of integers.
All are seeded, so that a search can be repeated.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
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
# The sizes of the model itself may take more, since a key may run at no others.
MOST_OWN_ELEMENTS = 4_000_000
# Sizes of all classes at once, tried where too few ran apart, for example since Reshape wants a
# product.
_JOINT_RUNS = 1500
_SMALL_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12)
_MOST_SIZE = 5_000
# Large values leave room for sums of so many elements; half precision has room for few.
_MOST_POWER = 20
LARGE_SHARE = 2.0**-16
LARGE_SHARE_OF_HALF = 2.0**-6
# Ranks to try where the rank of an input is not known; its sizes have classes of their own.
_RANKS = (4, 3, 2, 1)
_UNKNOWN = 1000
# Gates of recurrent operators: so many times `hidden_size` is the second size of their weights.
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ALONG_AXIS = frozenset({"Softmax", "LogSoftmax", "Hardmax"})
# From this opset on, their default axis is the last one.
_FIRST_ALONG_LAST_AXIS = 13
# From this opset on, GroupNormalization has a scale for each channel.
_FIRST_PER_CHANNEL = 21


class ValueKind(StrEnum):
    """How the values of inputs are drawn."""

    NORMAL = "normal"
    UNIT = "from 0 to 1"
    SMALL = "small whole numbers"
    TIES = "halves"
    POWERS = "powers of two"
    LARGE = "large values"
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
    implied = implied_sizes(key)
    is_open = any(kind.classes is None for kind in key.inputs)
    for rank in filter(partial(_has_axis, key), _RANKS) if is_open else (0,):
        classes = [*key.classes, *range(_UNKNOWN, _UNKNOWN + rank)]
        for plan in _of_rank(classes, dict(key.sizes), implied, seed, rank):
            sizes = plan.sizes | implied
            # ONNX Runtime ends its process on empty inputs of such nodes.
            if key.op not in GATES or all(sizes.values()):
                yield replace(plan, sizes=sizes)


def _has_axis(key: NodeKey, rank: int) -> bool:
    """Whether an input of this rank has the axis of a node of the Softmax family.

    ONNX Runtime takes empty inputs of any rank, which its definition does not.
    """
    if key.op not in _ALONG_AXIS:
        return True
    attributes = onnx.NodeProto.FromString(key.node).attribute
    default = 1 if key.source < _FIRST_ALONG_LAST_AXIS else -1
    axis = next((each.i for each in attributes if each.name == "axis"), default)
    return -rank <= axis < rank


def implied_sizes(key: NodeKey) -> dict[int, int]:
    """Sizes, by size class, that the attributes of a node leave no choice of."""
    node = onnx.NodeProto.FromString(key.node)
    values = {attribute.name: attribute for attribute in node.attribute}
    shapes: Mapping[int, tuple[int | None, ...]] = {}
    if key.op in GATES:
        shapes = _recurrent_shapes(GATES[key.op], values)
    elif key.op == "GroupNormalization" and key.source < _FIRST_PER_CHANNEL:
        # Scale and bias have an element for each group, later for each channel.
        groups = (values["num_groups"].i,)
        shapes = {1: groups, 2: groups}
    sizes: dict[int, int] = {}
    for position, name in enumerate(node.input):
        kind = key.inputs[int(name.removeprefix("i"))] if name else None
        pairs = zip(kind.classes or () if kind else (), shapes.get(position, ()), strict=False)
        sizes.update((number, size) for number, size in pairs if size is not None)
    return sizes


def _recurrent_shapes(
    gates: int, values: Mapping[str, onnx.AttributeProto]
) -> dict[int, tuple[int | None, ...]]:
    """The sizes of the inputs of LSTM, GRU and RNN by position, None where they are free.

    By their definitions, weights, biases, first states and peepholes have as many rows as there are
    directions, and a multiple of `hidden_size`.
    """
    hidden = values["hidden_size"].i if "hidden_size" in values else None
    direction = values["direction"].s if "direction" in values else b"forward"
    rows, free = 2 if direction == b"bidirectional" else 1, None
    is_batch_first = "layout" in values and values["layout"].i == 1
    state = (free, rows, hidden) if is_batch_first else (rows, free, hidden)
    wide = None if hidden is None else gates * hidden
    return {
        1: (rows, wide, free),
        2: (rows, wide, hidden),
        3: (rows, None if wide is None else 2 * wide),
        5: state,
        6: state,
        7: (rows, None if hidden is None else 3 * hidden),
    }


def _of_rank(
    classes: list[int], fixed: dict[int, int], implied: dict[int, int], seed: int, rank: int
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
        for number, sizes in enumerate(_sizes(classes, implied, ones, own))
    ]
    equal = len(EQUAL_SIZES)
    yield from (*sweep[:equal], *values[:first], *sweep[equal:], *values[first:])


def _sizes(
    classes: list[int],
    implied: Container[int],
    ones: dict[int, int],
    own: list[dict[int, int]],
) -> Iterator[dict[int, int]]:
    for size in EQUAL_SIZES:
        yield dict.fromkeys(classes, size)
    bases = [dict.fromkeys(classes, size) for size in _BASES]
    for base in [*own, *bases, *(base | ones for base in bases if ones)]:
        yield base
        for number in classes:
            for size in () if number in implied else APART_SIZES:
                yield {**base, number: size}


def joint_plans(key: NodeKey, ran: Sequence[dict[int, int]]) -> Iterator[InputPlan]:
    """Runs at random sizes: near sizes that `ran`, and of whole numbers that the node's own hold.

    For nodes that run at few sizes, because their constants or attributes fix a sum or a product.
    """
    seed = zlib.crc32(key.digest.encode())
    generator = np.random.default_rng(seed)
    own, pool, implied = dict(key.sizes), _sizes_of(key), implied_sizes(key)
    # The node may need the model's own sizes, and others that are equal to some of them.
    few = sorted({*own.values(), 1, 2, 3})
    kinds = list(ValueKind)
    is_open = any(kind.classes is None for kind in key.inputs)
    for number in range(_JOINT_RUNS):
        rank = int(generator.choice(_RANKS)) if is_open else 0
        classes = [*key.classes, *range(_UNKNOWN, _UNKNOWN + rank)]
        near = ran[int(generator.integers(len(ran)))] if ran and number % 4 else {}
        if near:
            # None of them changes at times, so that only the values do.
            varied = [place for place in near if number % 4 > 1 or place not in own]
            some = generator.permutation(varied)[: int(generator.integers(len(varied) + 1))]
            sizes = {**near, **{at: int(generator.choice(pool)) for at in some}}
            rank = sum(place >= _UNKNOWN for place in near)
        elif own and not ran:
            sizes = {place: int(generator.choice(few)) for place in classes} | own
        else:
            sizes = {place: int(generator.choice(pool)) for place in classes}
        kind = kinds[number // 4 % len(kinds)]
        yield InputPlan(sizes | implied, kind, seed + 5000 + number, rank)


def _sizes_of(key: NodeKey) -> list[int]:
    """Sizes that the attributes and constants of a node suggest: divisors and small multiples."""
    node = onnx.NodeProto.FromString(key.node)
    groups = [[attribute.i, *attribute.ints] for attribute in node.attribute]
    for kind in key.inputs:
        if kind.constant:
            tensor = onnx.TensorProto.FromString(kind.constant)
            groups.append(list(tensor.dims))
            if tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
                groups.append(onnx.numpy_helper.to_array(tensor).reshape(-1).tolist())
    # Reshape fixes a product of sizes, Split a sum: sizes that fit are divisors or small multiples
    # of a number, of the sum or of the product of a group.
    numbers = {abs(number) for group in groups for number in (*group, sum(group)) if number}
    numbers |= {abs(math.prod(number for number in group if number)) for group in groups}
    numbers = {number for number in numbers if 1 < number < _MOST_SIZE**2}
    pool = {*_SMALL_SIZES, *(size for _, size in key.sizes)}
    for number in numbers:
        pool.update(part for part in range(1, _MOST_SIZE) if number % part == 0)
        pool.update(number * times for times in _SMALL_SIZES)
    return sorted(size for size in pool if size <= _MOST_SIZE)


def inputs(key: NodeKey, plan: InputPlan) -> dict[str, Array] | None:
    """The inputs of a plan by name; None if they have too many elements."""
    own = dict(key.sizes)
    is_own = bool(own) and all(plan.sizes.get(number) == size for number, size in own.items())
    most = MOST_OWN_ELEMENTS if is_own or key.op in GATES else MOST_ELEMENTS
    feeds: dict[str, Array] = {}
    generator = np.random.default_rng(plan.seed)
    for place, kind in enumerate(key.inputs):
        if kind.constant:
            continue
        shape = tuple(plan.sizes[number] for number in plan.classes_of(kind))
        if math.prod(shape) > most:
            return None
        feeds[f"i{place}"] = draw(kind.dtype, shape, plan.values, generator)
    first = feeds.get("i0")
    for position, name in enumerate(onnx.NodeProto.FromString(key.node).input):
        # From opset 11 on, the second input of Resize is no longer scales.
        parameter = _PARAMETERS.get((key.op, position - (key.op == "Resize" and key.source > 10)))
        if parameter is not None and position and name in feeds and first is not None:
            drawn = parameter(first.shape, feeds[name].size, generator)
            feeds[name] = np.asarray(drawn, feeds[name].dtype)
    return feeds


def _partition(total: int, parts: int, generator: np.random.Generator) -> list[int]:
    """Whole numbers, some of them 0, with this sum."""
    # Cuts of the range from 0 to the sum, in order; the parts lie between neighbouring cuts.
    cuts = sorted(generator.integers(0, total + 1, max(parts - 1, 0)).tolist())
    return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


def _some_axes(shape: tuple[int, ...], count: int, generator: np.random.Generator) -> list[int]:
    rank = max(len(shape), 1)
    axes = generator.permutation(rank)[: min(count or 1, rank)].tolist()
    return [axis - rank * int(generator.integers(0, 2)) for axis in axes]


def _scales(shape: tuple[int, ...], _: int, generator: np.random.Generator) -> Array:
    scales = 0.25 + generator.integers(0, 9, len(shape)) / 4
    # Some modes resize the last two axes alone.
    scales[: max(0, len(shape) - 2) * int(generator.integers(2))] = 1
    return scales


def _lengths(shape: tuple[int, ...], count: int, generator: np.random.Generator) -> Array:
    return generator.integers(1, max(shape[0], 1) + 1, count) if shape else np.ones(count)


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
    ("Resize", 1): _scales,
    # Counted from opset 11 on without the data: a region of interest, the scales, the sizes.
    ("Resize", 0): lambda shape, *_: np.repeat([0, 1], len(shape)),
    ("Resize", 2): lambda shape, _, generator: generator.integers(1, 9, len(shape)),
    **{(op, 4): _lengths for op in GATES},
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
    if is_integer(dtype):
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


def is_integer(dtype: int) -> bool:
    """Whether an element type (of `onnx.TensorProto`) is one of whole numbers; booleans are not."""
    of = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
    return of.kind in "iu" or "int" in of.name


def largest(dtype: int, *, is_large: bool) -> float | None:
    """The largest of the large values of a floating type, or of its powers of two; else None."""
    of = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
    if of.kind in "bOc" or is_integer(dtype):
        return None
    return _largest_large(of) if is_large else _largest_power(of)


def _largest_large(of: np.dtype[Any]) -> float:
    greatest = float(ml_dtypes.finfo(of).max)  # type: ignore[no-untyped-call]
    is_half = greatest < 2.0**_MOST_POWER / LARGE_SHARE_OF_HALF
    return greatest * (LARGE_SHARE_OF_HALF if is_half else LARGE_SHARE)


def _largest_power(of: np.dtype[Any]) -> float:
    return min(2.0**_MOST_POWER, 2.0 ** math.floor(math.log2(_largest_large(of))))


def _floats(
    of: np.dtype[Any], count: int, kind: ValueKind, generator: np.random.Generator
) -> Array:
    signs = generator.choice([-1.0, 1.0], count)
    info = ml_dtypes.finfo(of)  # type: ignore[no-untyped-call]
    greatest, smallest = float(info.max), float(info.smallest_subnormal)
    match kind:
        case ValueKind.UNIT:
            values: Array = generator.random(count)
        case ValueKind.SMALL:
            values = generator.integers(-4, 5, count).astype(float)
        case ValueKind.TIES:
            values = generator.integers(-6, 6, count) + 0.5
        case ValueKind.POWERS:
            highest = int(math.log2(_largest_power(of)))
            values = signs * 2.0 ** generator.integers(-20, highest + 1, count)
        case ValueKind.MAGNITUDES | ValueKind.LARGE:
            is_large = kind == ValueKind.LARGE
            low, high = (1.0, _largest_large(of)) if is_large else (smallest, greatest)
            exponents = generator.uniform(math.log10(low), math.log10(high), count)
            values = signs * 10.0**exponents
        case ValueKind.RANGE:
            values = signs * greatest * generator.random(count)
        case ValueKind.SPECIAL:
            normal = float(info.smallest_normal)
            near = [0.0, smallest, normal / 2, normal, 0.5, 1.0, 1.5, 2.0]
            pool = [*near, greatest / 2, greatest, math.inf, math.nan]
            values = signs * generator.choice(np.array(pool), count)
        case _:
            values = generator.standard_normal(count)
    return values
