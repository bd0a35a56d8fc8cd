"""Comparison of the outputs that a record describes with those of another run.

Elements and statistics of `outputs.tensors` are compared; nothing here opens a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.counting import plural
from runners.engine.benchmark.record import STATISTICS


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|difference| <= rtol * |expected| + atol * (the largest magnitude of the output)."""

    rtol: float
    atol: float


# Sums in another order on another processor; and products of 10 bits, as TF32 has, elsewhere.
EXACT, COARSE = Tolerance(1e-3, 1e-4), Tolerance(2e-2, 2e-2)
# Providers whose arithmetic is that of the file; the others may compute in fewer bits.
_TOLERANCES = {"CPUExecutionProvider": EXACT, "OpenVINO:CPU": EXACT}
# Share of labels and other whole numbers that may differ where sums nearly tie.
_TIES = 0.1


def tolerance(provider: str, precision: str) -> Tolerance:
    """The tolerance of a provider, for a model of a precision.

    Steps of quantised and half-precision models flip where sums have another order.
    """
    is_float = precision in ("", "fp32", "float32", "fp64", "float64")
    return _TOLERANCES.get(provider, COARSE) if is_float else COARSE


def disagreement(
    claimed: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]], within: Tolerance
) -> str:
    """Why the outputs of a record are not those that were computed; empty where they are."""
    if len(claimed) != len(own):
        return f"it has {plural(len(claimed), 'output')}, the model {len(own)}"
    for place, (row, right) in enumerate(zip(claimed, own, strict=True), 1):
        for name in ("dtype", "shape"):
            if row.get(name) != right.get(name):
                stated, actual = str(row.get(name))[:60], str(right.get(name))[:60]
                return f"output {place} has the {name} {stated}, the model gives {actual}"
        if words := _elements(row, right, within) or _statistics(row, right, within):
            return f"output {place}: {words}"
    return ""


def _elements(row: Mapping[str, Any], right: Mapping[str, Any], within: Tolerance) -> str:
    values, others = list(row.get("elements", ())), list(right.get("elements", ()))
    if len(values) != len(others):
        return f"{len(values)} elements are stated, {len(others)} belong there"
    size = _largest(right)
    wrong = [
        (value, other)
        for value, other in zip(values, others, strict=True)
        if not _is_near(value, other, size, within)
    ]
    is_whole = str(right.get("dtype", "")).startswith(("int", "uint", "bool"))
    if not wrong or (is_whole and len(wrong) <= _TIES * len(values)):
        return ""
    value, other = wrong[0]
    stated = f"{value:.6g}" if isinstance(value, float) else str(value)[:40]
    actual = f"{other:.6g}" if isinstance(other, float) else str(other)[:40]
    return f"{len(wrong)} of {len(values)} elements differ, {stated} for {actual}"


def _statistics(row: Mapping[str, Any], right: Mapping[str, Any], within: Tolerance) -> str:
    size = _largest(right)
    for name in ("finite", *STATISTICS):
        value, other = row.get(name), right.get(name)
        if (value is None) is not (other is None):
            return f"{name} is {value}, and {other} belongs there"
        if other is not None and not _is_near(value, other, size, within):
            return f"{name} is {value:.6g}, and {other:.6g} belongs there"
    return ""


def _is_near(value: Any, other: Any, size: float, within: Tolerance) -> bool:
    if isinstance(value, str) or isinstance(other, str):
        return bool(value == other)
    return bool(abs(value - other) <= within.rtol * abs(other) + within.atol * size)


def _largest(row: Mapping[str, Any]) -> float:
    ends = [abs(value) for name in ("min", "max") if (value := row.get(name)) is not None]
    return max(ends, default=0.0)
