"""Costs of a model as functions of its free dimensions: fitted to walks, then tested elsewhere.

The graph is walked for concrete sizes at enough points to determine polynomials of degree 3
(`polynomials`). Walks at other points, at prime sizes, tell whether the functions hold everywhere,
for multiples of a lattice, or only approximately.
"""

from __future__ import annotations

import functools
import json
import operator
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner

from hub.protocol.costs import EXACTNESS, Exactness
from runners.engine.costs import METHOD
from runners.engine.costs.amounts import Amount, fitted
from runners.engine.costs.polynomials import MOST_SYMBOLS, Cost, Fitter, Polynomial, greatest
from runners.engine.costs.shapes import Walker
from runners.engine.costs.values import stored_value
from runners.engine.costs.walks import Walk, greatest_known
from runners.engine.onnx_files import text

FORMAT = 1
MOST_BYTES = 4 << 20
MOST_NODES = 10_000
MOST_PEAKS = 32
NAME_CHARACTERS = 160
# Spacings of the points: multiples of powers of two, which strides and patches divide; then smaller
# ones for short sequences, and seconds of sound for graphs with no run of fewer samples.
LATTICES = (64, 8, 16_000)
_DIMENSION_SUM = re.compile(r"[^+]+(?:\+[^+]+)+")
# Size of symbols that are too many to follow.
FIXED = 64
# Sizes of the test points: primes, which no stride divides.
_ELSEWHERE = ((37, 53, 29, 41), (11, 13, 7, 19), (9973, 12_347, 15_013, 17_011))


@dataclass(frozen=True, slots=True)
class Costs:
    """Functions of the symbols: of each node, of each moment of a run, and where they hold."""

    symbols: tuple[str, ...]
    fixed: Mapping[str, int]
    # "everywhere", "multiples" of `lattice`, or "nearly" for fits that hold approximately.
    holds: str
    lattice: int
    walk: Walk
    macs: tuple[Cost | None, ...]
    bytes: tuple[Cost | None, ...]
    peaks: tuple[Polynomial, ...]
    peak_is_whole: bool
    exactness: tuple[Exactness, ...]
    unknown: Counter[str]
    bytes_unknown: int
    weights: int

    def to_json(self) -> dict[str, Any]:
        """The file that the hub stores; lists at most MOST_NODES nodes."""

        def terms_of(function: Cost | Polynomial | None) -> list[Any] | None:
            return None if function is None else function.to_json(self.symbols)

        rows = [
            {
                "op": text.clip(step.operator, NAME_CHARACTERS),
                "name": text.clip(step.name, NAME_CHARACTERS),
                "macs": terms_of(macs),
                "bytes": terms_of(traffic),
                "parameters": step.parameters,
                "exactness": exactness,
            }
            for step, macs, traffic, exactness in zip(
                self.walk.steps, self.macs, self.bytes, self.exactness, strict=True
            )
        ]
        node_count = _bounded(rows)
        bounds: dict[Exactness, Counter[str]] = {"at-most": Counter(), "per-iteration": Counter()}
        for step, exactness in zip(self.walk.steps, self.exactness, strict=True):
            if exactness in bounds:
                bounds[exactness][step.operator] += 1
        return {
            "format": FORMAT,
            "method": METHOD,
            "symbols": list(self.symbols),
            "fixed": dict(self.fixed),
            "holds": self.holds,
            "lattice": self.lattice,
            "macs": terms_of(Cost.total(filter(None, self.macs))),
            "bytes": terms_of(Cost.total(filter(None, self.bytes))),
            "bytes_unknown": self.bytes_unknown,
            "peaks": [terms_of(peak) for peak in self.peaks],
            "peak_is_whole": self.peak_is_whole,
            "weights": self.weights,
            "unknown": _tally(self.unknown),
            "at_most": _tally(bounds["at-most"]),
            "per_iteration": _tally(bounds["per-iteration"]),
            "total": len(rows),
            "nodes": rows[:node_count],
        }


def _tally(operators: Counter[str]) -> list[dict[str, Any]]:
    """How many nodes there are of each operator, the commonest first."""
    return [
        {"op": text.clip(name, NAME_CHARACTERS), "count": count}
        for name, count in operators.most_common(MOST_PEAKS)
    ]


def write(skeleton: Path, target: Path) -> dict[str, Any]:
    """Write the costs of a skeleton as JSON; returns the figures outside of the table."""
    model = onnx.ModelProto.FromString(skeleton.read_bytes())
    content = costs_of(model).to_json()
    with target.open("x") as file:
        json.dump(content, file, ensure_ascii=True, separators=(",", ":"))
        file.flush()
        os.fsync(file.fileno())
    return {"costs": {key: value for key, value in content.items() if key != "nodes"}}


def costs_of(model: onnx.ModelProto) -> Costs:
    """The costs of a model, whose weights may be missing. Raises what onnx raises for no graph."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    walker = Walker(model)
    sizes = _Sizes.of(walker.free_dimensions)
    weights = sum(stored_value(tensor).bytes or 0 for tensor in model.graph.initializer)
    for lattice, elsewhere in zip(LATTICES, _ELSEWHERE, strict=True):
        parts = _fitted(walker, sizes, lattice)
        costs = Costs(sizes.symbols, sizes.fixed, "everywhere", lattice, *parts, weights=weights)
        further = [3 * lattice * (place + 1) for place in range(len(sizes.symbols))]
        if not sizes.symbols or _holds(costs, walker, sizes, elsewhere):
            return costs
        if _holds(costs, walker, sizes, further):
            return replace(costs, holds="multiples")
        if lattice == LATTICES[1] and not costs.unknown:
            break
    return replace(costs, holds="nearly")


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The symbols that are followed, and how the other free dimensions derive from them."""

    symbols: tuple[str, ...]
    sums: Mapping[str, list[str]] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str]) -> _Sizes:
        sums = {name: parts for name in names if (parts := derived_dimension(name, names))}
        free = [name for name in names if name not in sums]
        return cls(tuple(free[:MOST_SYMBOLS]), sums, dict.fromkeys(free[MOST_SYMBOLS:], FIXED))

    def at(self, point: Sequence[int]) -> dict[str, int]:
        """The size of every free dimension at a point."""
        sizes = dict(zip(self.symbols, point, strict=True)) | dict(self.fixed)
        for name, parts in self.sums.items():
            sizes[name] = sum(int(part) if part.isdigit() else sizes[part] for part in parts)
        return sizes


def derived_dimension(name: str, names: Sequence[str]) -> list[str] | None:
    """The dimensions whose sum a dimension is, by its name: `past + steps`; None without any.

    By the convention of ONNX Runtime's decoders, `total_sequence_length` is the sum of the past and
    the new positions.
    """
    parts = [part.strip() for part in name.split("+")]
    if _DIMENSION_SUM.fullmatch(name) and all(part in names or part.isdigit() for part in parts):
        return parts
    if name.startswith("total_seq"):
        past = [name for name in names if name.startswith("past")]
        new = [name for name in names if name.startswith("seq")]
        if len(past) == len(new) == 1:
            return [past[0], new[0]]
    return None


def _fitted(
    walker: Walker, sizes: _Sizes, lattice: int
) -> tuple[
    Walk,
    tuple[Cost | None, ...],
    tuple[Cost | None, ...],
    tuple[Polynomial, ...],
    bool,
    tuple[Exactness, ...],
    Counter[str],
    int,
]:
    fitter = Fitter(len(sizes.symbols), lattice)
    walks = [walker.walk(sizes.at(point)) for point in fitter.points]
    if walker.stop_merging():
        walks = [walker.walk(sizes.at(point)) for point in fitter.points]

    def fit(columns: Iterable[tuple[Amount | None, ...]]) -> tuple[Cost | None, ...]:
        return tuple(
            None if None in values else fitted(values, fitter.fit)  # type: ignore[arg-type]
            for values in columns
        )

    macs = fit(zip(*([step.macs for step in walk.steps] for walk in walks), strict=True))
    traffic = fit(zip(*([step.bytes for step in walk.steps] for walk in walks), strict=True))
    live = _moments(walks)
    exactness = (
        max(column, key=EXACTNESS.index)
        for column in zip(*([step.exactness for step in walk.steps] for walk in walks), strict=True)
    )
    return (
        walks[0],
        macs,
        traffic,
        greatest(fitter.fit(sizes) for sizes in live if None not in sizes)[:MOST_PEAKS],  # type: ignore[arg-type]
        all(None not in sizes for sizes in live),
        tuple(exactness),
        functools.reduce(operator.or_, (walk.unknown for walk in walks)),
        max(walk.bytes_unknown for walk in walks),
    )


def _moments(walks: Sequence[Walk]) -> list[tuple[int | None, ...]]:
    """The live bytes of each moment in all walks, each moment once.

    Where sizes select other branches, so that the moments differ, only the greatest of each step.
    """
    columns: dict[tuple[int | None, ...], None] = {}
    for moments in zip(*(walk.moments() for walk in walks), strict=True):
        are_alike = len({len(inner) for inner in moments}) == 1
        rows = moments if are_alike else [[greatest_known(inner)] for inner in moments]
        columns |= dict.fromkeys(zip(*rows, strict=True))
    return list(columns)


def _holds(costs: Costs, walker: Walker, sizes: _Sizes, point: Sequence[int]) -> bool:
    """Whether the functions equal a walk at a point that they were not fitted to."""
    point = point[: len(sizes.symbols)]
    walk = walker.walk(sizes.at(point))
    for function, step in zip(costs.macs, walk.steps, strict=True):
        if (function is None) != (step.macs is None):
            return False
        if function and step.macs and function.at(point) != step.macs.value:
            return False
    live = [polynomial for polynomial in walk.live() if polynomial is not None]
    return max((peak.at(point) for peak in costs.peaks), default=0) == max(live, default=0)


def _bounded(rows: Sequence[Mapping[str, Any]]) -> int:
    size = 0
    for place, row in enumerate(rows[:MOST_NODES]):
        size += len(json.dumps(row, ensure_ascii=True, separators=(",", ":"))) + 1
        if size > MOST_BYTES:
            return place
    return min(len(rows), MOST_NODES)
