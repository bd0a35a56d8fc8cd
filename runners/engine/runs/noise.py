"""Numerical noise of a model's outputs, and whether another model stays within it.

The noise of an output element is the largest absolute difference between runs of the original on
the same input: with graph optimisation on and off, and in a second session. An element of the new
model may differ by FACTOR times the noise near it plus ROUNDINGS roundings of the data type. "Near"
is local, so that large values of one channel do not excuse errors of another.

Why not a fixed tolerance: floating-point sums have no exact order, and how much reordering changes
a result depends on the model (Higham, "Accuracy and Stability of Numerical Algorithms", ch. 4).
The model's own runs measure this directly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from runners.engine.runs import agreement
from runners.engine.runs.agreement import Figures

if TYPE_CHECKING:
    from runners.engine.onnx_files.datasets import Value


Array = np.ndarray[Any, Any]

NAME = "own-noise"
# A new graph may be fused in part only, so that its roundings differ from those of all runs.
FACTOR = 2.0
# Units in the last place that are always allowed: kernels of two opsets sum in different orders.
ROUNDINGS = 8
# Smallest number of elements in a slice whose noise counts as that of the slice's axis.
_NEIGHBOURS = 16
_NARROW_BYTES = 2


def judge(name: str, runs: Sequence[Value], actual: Value) -> tuple[Figures, float | None]:
    """Compare one output with the runs of the original, the first of them with default settings.

    Returns the figures of the comparison with the first run, with `agrees` decided by the noise,
    and the noise near the worst element, in units of the output; None if it has no numbers.
    """
    figures = agreement.compare(name, runs[0], actual, agreement.EXACT)
    if figures.agrees or not _alike(runs[0], actual):
        plain = agreement.compare(name, runs[0], actual, agreement.FP32)
        same = replace(plain, agrees=figures.agrees, profile=NAME, outside=figures.outside)
        words = "" if figures.agrees else figures.reason
        return replace(same, reason=words, first_bad=figures.first_bad), _largest_noise(runs)
    parts = [leaves(value) for value in (*runs, actual)]
    # Runs of the original with another structure say nothing about noise.
    own = [part for part in parts[:-1] if len(part) == len(parts[0])]
    each = [
        _judge_array([side[place] for side in own], parts[-1][place])
        for place in range(len(parts[0]))
    ]
    plain = agreement.compare(name, runs[0], actual, agreement.FP32)
    outside = sum(array[0] for array in each)
    size = sum(array[1] for array in each)
    first_bad = next((array[2] for array in each if array[2] is not None), None)
    _, _, _, noise = max(each, key=lambda array: (array[0], array[3] or 0.0))
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
    """Whether both values have the same structure, types and shapes."""
    left, right = leaves(expected), leaves(actual)
    return len(left) == len(right) and all(
        first.dtype == second.dtype and first.shape == second.shape
        for first, second in zip(left, right, strict=True)
    )


def leaves(value: Value) -> list[Array]:
    """The arrays of a tensor, sequence or map, depth first; those of a map sorted by key."""
    if value is None:
        return []
    if isinstance(value, dict):
        keys = sorted(value, key=str)
        inner = [leaf for key in keys for leaf in leaves(value[key])]
        return [np.array([str(key) for key in keys], dtype=object), *inner]
    if isinstance(value, list | tuple):
        return [leaf for element in value for leaf in leaves(element)]
    return [np.asarray(value)]


def largest(value: Value) -> float:
    """The greatest absolute value of a float tensor, or of those inside; infinity if one is NaN."""
    parts = (leaf for leaf in leaves(value) if leaf.size and leaf.dtype.kind not in "OUSTbiu")
    with np.errstate(invalid="ignore"):
        # Without a copy where numpy has the type; NaN is the largest of all.
        tops = [
            float(np.maximum(leaf.max(), -leaf.min()))
            if leaf.dtype.kind == "f"
            else float(np.abs(agreement.wide(leaf)).max())
            for leaf in parts
        ]
    return max((math.inf if math.isnan(top) else top for top in tops), default=0.0)


def _judge_array(runs: list[Array], actual: Array) -> tuple[int, int, int | None, float | None]:
    """(elements outside, all elements, index of the first outside, noise near the worst one)."""
    base = runs[0]
    same_form = [run for run in runs if run.shape == base.shape and run.dtype == base.dtype]
    outside, noise = _outside(same_form, actual)
    count = int(outside.sum())
    return count, int(outside.size), int(np.argmax(outside)) if count else None, noise


def _outside(runs: list[Array], actual: Array) -> tuple[Array, float | None]:
    """Which elements differ by more than is allowed (bool, shape of the output), and the noise.

    Text, booleans and integers of more than 16 bits must equal some run of the original. Narrower
    integers, such as quantised outputs, may differ by the noise; floats by noise and roundings.
    The noise is that near the element with the largest share of what is allowed.
    """
    base = runs[0]
    same_as_any = np.zeros(base.shape, bool)
    for run in runs:
        same_as_any |= _same(run, actual)
    whole = agreement.is_whole(base.dtype)
    if base.dtype.kind in "OUSTb" or (whole and base.dtype.itemsize > _NARROW_BYTES):
        return ~same_as_any, None
    values = [agreement.wide(run) for run in runs]
    with np.errstate(all="ignore"):
        apart = np.abs(agreement.wide(actual) - values[0])
        spread = np.zeros(base.shape)
        for other in values[1:]:
            distance = np.abs(other - values[0])
            spread = np.maximum(spread, np.where(np.isfinite(distance), distance, 0.0))
        near = _near(spread, np.max)
        allowed = FACTOR * near
        if not whole:
            size = np.where(np.isfinite(values[0]), np.abs(values[0]), 0.0)
            # Scaled before they are squared, so that squares stay finite.
            top = float(size.max(initial=0.0)) or 1.0
            scale = top * np.sqrt(_near(np.square(size / top), np.mean))
            allowed = allowed + ROUNDINGS * _epsilon(base.dtype) * np.maximum(size, scale)
        outside = ~same_as_any & ~(apart <= allowed)
        # The worst element is that whose difference is the largest multiple of what is allowed.
        share = np.where(
            same_as_any | ~np.isfinite(apart), 0.0, apart / np.maximum(allowed, 1e-300)
        )
    return np.asarray(outside), float(near.reshape(-1)[int(share.argmax())]) if near.size else None


def _same(left: Array, right: Array) -> Array:
    same = np.asarray(left == right)
    if left.dtype.kind in "OUSTbiu":
        return same.reshape(left.shape)
    both_nan = np.isnan(agreement.wide(left)) & np.isnan(agreement.wide(right))
    return (same | both_nan).reshape(left.shape)


def _near(values: Array, of: Any) -> Array:
    """Local statistic around each element, in the shape of `values`.

    For each axis, `of` (such as `np.max`) reduces the slice that the element lies in; the result is
    the smallest of these and of the reduction of the whole array.
    """
    if not values.size:
        return values
    smallest = np.full(values.shape, of(values))
    for axis, length in enumerate(values.shape):
        if length > 1 and values.size // length >= _NEIGHBOURS:
            others = tuple(place for place in range(values.ndim) if place != axis)
            smallest = np.minimum(smallest, of(values, axis=others, keepdims=True))
    return smallest


def _epsilon(dtype: Any) -> float:
    """Relative rounding error of a type, at least that of float32, in which most models compute."""
    if dtype.kind == "c":
        return float(np.finfo(np.float32).eps)
    finfo: Any = ml_dtypes.finfo
    return max(float(finfo(dtype).eps), float(np.finfo(np.float32).eps))


def _largest_noise(runs: Sequence[Value]) -> float | None:
    """Largest difference between the runs of one output; 0.0 if all are equal bit for bit."""
    figures = [agreement.compare("", runs[0], run, agreement.EXACT) for run in runs[1:]]
    if all(comparison.agrees for comparison in figures):
        return 0.0
    plain = [agreement.compare("", runs[0], run, agreement.FP32).max_abs for run in runs[1:]]
    return max((distance for distance in plain if distance is not None), default=None)
