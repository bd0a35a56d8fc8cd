"""A model's own noise, and whether another model's outputs stay within it.

The noise of an output is how far the original's own runs lie apart on one input: with graph
optimisation on against off, and in a second session. It is taken near each element, so that large
values of one channel do not excuse another. Below it, a few roundings of the type are allowed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from runners.engine.runs import agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runners.engine.onnx_files.datasets import Value
    from runners.engine.runs.agreement import Figures

    Array = np.ndarray[Any, Any]

NAME = "own-noise"
# An upgraded graph may be optimised by half, so that its roundings add up another way.
FACTOR = 2.0
# Roundings of the type that are no difference: kernels of two operator sets sum in other orders.
ROUNDINGS = 8
# Elements that share the noise of their neighbours along an axis; fewer say too little.
_NEIGHBOURS = 16
_NARROW_BYTES = 2


def judge(name: str, runs: Sequence[Value], actual: Value) -> tuple[Figures, float | None]:
    """Hold one output against the original's own runs, the first of them as a user runs it.

    Gives the figures against the first run, `agrees` by the noise, and the noise at the element
    that is worst: largest absolute difference between the runs near it, None for no numbers.
    """
    figures = agreement.compare(name, runs[0], actual, agreement.EXACT)
    if figures.agrees or not _alike(runs[0], actual):
        plain = agreement.compare(name, runs[0], actual, agreement.FP32)
        same = replace(plain, agrees=figures.agrees, profile=NAME, outside=figures.outside)
        words = "" if figures.agrees else figures.reason
        return replace(same, reason=words, first_bad=figures.first_bad), _largest_noise(runs)
    parts = [leaves(value) for value in (*runs, actual)]
    # Own runs of another form say nothing about noise.
    own = [one for one in parts[:-1] if len(one) == len(parts[0])]
    each = [
        _judge_array([side[place] for side in own], parts[-1][place])
        for place in range(len(parts[0]))
    ]
    plain = agreement.compare(name, runs[0], actual, agreement.FP32)
    outside = sum(one[0] for one in each)
    size = sum(one[1] for one in each)
    first_bad = next((one[2] for one in each if one[2] is not None), None)
    _, _, _, noise = max(each, key=lambda one: (one[0], one[3] or 0.0))
    words = f"{name}: {outside} of {size} elements differ by more than the original's own noise"
    judged = replace(
        plain,
        agrees=not outside,
        reason=words if outside else "",
        outside=outside,
        first_bad=first_bad,
        profile=NAME,
    )
    return judged, noise


def _alike(expected: Value, actual: Value) -> bool:
    """Whether both have the same structure, types and shapes; else there is nothing to measure."""
    left, right = leaves(expected), leaves(actual)
    return len(left) == len(right) and all(
        one.dtype == other.dtype and one.shape == other.shape
        for one, other in zip(left, right, strict=True)
    )


def leaves(value: Value) -> list[Array]:
    """List the arrays of a value; those of a map in the order of its keys."""
    if value is None:
        return []
    if isinstance(value, dict):
        keys = sorted(value, key=str)
        inner = [leaf for key in keys for leaf in leaves(value[key])]
        return [np.array([str(key) for key in keys], dtype=object), *inner]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in leaves(one)]
    return [np.asarray(value)]


def _judge_array(runs: list[Array], actual: Array) -> tuple[int, int, int | None, float | None]:
    """Count the elements outside: (outside, elements, first outside, noise at the worst one)."""
    base = runs[0]
    same_form = [run for run in runs if run.shape == base.shape and run.dtype == base.dtype]
    outside, noise = _outside(same_form, actual)
    count = int(outside.sum())
    return count, int(outside.size), int(np.argmax(outside)) if count else None, noise


def _outside(runs: list[Array], actual: Array) -> tuple[Array, float | None]:
    base = runs[0]
    same_as_any = np.zeros(base.shape, bool)
    for run in runs:
        same_as_any |= _same(run, actual)
    whole = base.dtype.kind in "iu" or base.dtype.name in {"int4", "uint4", "int2", "uint2"}
    if base.dtype.kind in "OUSTb" or (whole and base.dtype.itemsize > _NARROW_BYTES):
        return ~same_as_any, None
    wide = np.complex128 if base.dtype.kind == "c" else np.float64
    values = [run.astype(wide) for run in runs]
    with np.errstate(all="ignore"):
        apart = np.abs(actual.astype(wide) - values[0])
        spread = np.zeros(base.shape)
        for other in values[1:]:
            distance = np.abs(other - values[0])
            spread = np.maximum(spread, np.where(np.isfinite(distance), distance, 0.0))
        near = _near(spread, np.max)
        allowed = FACTOR * near
        if not whole:
            size = np.where(np.isfinite(values[0]), np.abs(values[0]), 0.0)
            scale = np.sqrt(_near(np.square(size), np.mean))
            allowed = allowed + ROUNDINGS * _epsilon(base.dtype) * np.maximum(size, scale)
        outside = ~same_as_any & ~(apart <= allowed)
        # Of the differences, the one that uses most of what it may.
        share = np.where(
            same_as_any | ~np.isfinite(apart), 0.0, apart / np.maximum(allowed, 1e-300)
        )
    return np.asarray(outside), float(near.reshape(-1)[int(share.argmax())]) if near.size else None


def _same(left: Array, right: Array) -> Array:
    same = np.asarray(left == right)
    if left.dtype.kind in "OUSTbiu":
        return same.reshape(left.shape)
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    return (same | (np.isnan(left.astype(wide)) & np.isnan(right.astype(wide)))).reshape(left.shape)


def _near(values: Array, of: Any) -> Array:
    """Sum up what lies around each element: over its slice of each axis, the smallest of them."""
    if not values.size:
        return values
    smallest = np.full(values.shape, of(values))
    for axis, length in enumerate(values.shape):
        if length > 1 and values.size // length >= _NEIGHBOURS:
            others = tuple(place for place in range(values.ndim) if place != axis)
            smallest = np.minimum(smallest, of(values, axis=others, keepdims=True))
    return smallest


def _epsilon(dtype: Any) -> float:
    """The relative rounding of a type, never finer than float32: what most models compute in."""
    if dtype.kind == "c":
        return float(np.finfo(np.float32).eps)
    finfo: Any = ml_dtypes.finfo
    return max(float(finfo(dtype).eps), float(np.finfo(np.float32).eps))


def _largest_noise(runs: Sequence[Value]) -> float | None:
    """The largest difference between the runs of one output, for what is equal bit for bit."""
    figures = [agreement.compare("", runs[0], run, agreement.EXACT) for run in runs[1:]]
    if all(one.agrees for one in figures):
        return 0.0
    plain = [agreement.compare("", runs[0], run, agreement.FP32).max_abs for run in runs[1:]]
    return max((one for one in plain if one is not None), default=None)
