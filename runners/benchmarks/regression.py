"""Latencies from features: non-negative least squares of relative errors, and an honest interval.

The interval comes from predictions of each model by a fit to all others (the jackknife). It holds
as far as a new model is like those that were measured.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runners.benchmarks.cost_features import Features

COVERAGE: Final = 0.8
# Fewer distinct models say too little: the interval would be the worst of a few errors.
LEAST_MODELS: Final = 10
# Wider intervals say nothing.
LARGEST_FACTOR: Final = 10.0
_ROUNDS = 2000
_ENOUGH = 1e-9
_RIDGE = 1e-9

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """Milliseconds for each unit of each column, and how far predictions lie off.

    ``factor`` is the ratio that ``COVERAGE`` of the predictions of unseen models keep, at least 1;
    ``median_error`` is the median of their ratios less one. ``shortest`` and ``longest`` are the
    latencies that were measured, in milliseconds; ``operators`` are those of the measured models.
    """

    weights: Vector
    operators: frozenset[str]
    factor: float
    median_error: float
    models: int
    shortest: float
    longest: float

    def predict(self, features: Features) -> tuple[float, float, float] | None:
        """p50 with its interval in milliseconds; None beyond what was measured."""
        if not features.operators <= self.operators:
            return None
        p50 = _product(self.weights, features.columns)
        if not self.shortest <= p50 <= self.longest:
            return None
        return p50, p50 / self.factor, p50 * self.factor


def fit(features: Sequence[Features], latencies: Sequence[float]) -> Fit | None:
    """Fit latencies in milliseconds, one of each distinct model.

    None for too few models, and where predictions would be off by more than ``LARGEST_FACTOR``.

    Models that none of the others is like, as an operator of theirs is in no other, are fitted and
    say nothing of the error.
    """
    ratios = held_out(features, latencies)
    if len(ratios) < LEAST_MODELS:
        return None
    errors = sorted(abs(math.log(ratio)) for ratio in ratios.values())
    place = math.ceil((len(errors) + 1) * COVERAGE) - 1
    factor = math.exp(errors[min(place, len(errors) - 1)])
    if factor > LARGEST_FACTOR:
        return None
    return Fit(
        weights=_Sums(features, latencies).solved(),
        operators=frozenset().union(*(feature.operators for feature in features)),
        factor=factor,
        median_error=math.exp(statistics.median(errors)) - 1,
        models=len(features),
        shortest=min(latencies),
        longest=max(latencies),
    )


def held_out(features: Sequence[Features], latencies: Sequence[float]) -> dict[int, float]:
    """By the place of a model its prediction by a fit to all others, over its latency."""
    if not features:
        return {}
    sums = _Sums(features, latencies)
    users = Counter(name for feature in features for name in feature.operators)
    ratios = {}
    for place, (feature, latency) in enumerate(zip(features, latencies, strict=True)):
        if all(users[name] > 1 for name in feature.operators):
            sums.add(feature.columns, latency, -1.0)
            ratios[place] = max(_product(sums.solved(), feature.columns) / latency, 1e-9)
            sums.add(feature.columns, latency, 1.0)
    return ratios


class _Sums:
    """The normal equations of relative errors: minimise the sum of (x w / y - 1)², w ≥ 0."""

    def __init__(self, features: Sequence[Features], latencies: Sequence[float]) -> None:
        rows = [feature.columns for feature in features]
        size = len(rows[0])
        self._scales = [
            math.sqrt(sum((row[column] / y) ** 2 for row, y in zip(rows, latencies, strict=True)))
            or 1.0
            for column in range(size)
        ]
        self._matrix = [[0.0] * size for _ in range(size)]
        self._right = [0.0] * size
        for row, latency in zip(rows, latencies, strict=True):
            self.add(row, latency, 1.0)

    def add(self, row: Vector, latency: float, sign: float) -> None:
        """Count a model in (1) or out (-1)."""
        scaled = [value / latency / scale for value, scale in zip(row, self._scales, strict=True)]
        for i, left in enumerate(scaled):
            self._right[i] += sign * left
            line = self._matrix[i]
            for j, right in enumerate(scaled):
                line[j] += sign * left * right

    def solved(self) -> Vector:
        """The weights, by descent along one coordinate after another."""
        size = len(self._right)
        weights = [0.0] * size
        for _ in range(_ROUNDS):
            change = 0.0
            for i, line in enumerate(self._matrix):
                if line[i] <= _RIDGE:
                    continue
                slope = self._right[i] - sum(map(float.__mul__, line, weights))
                better = max(0.0, weights[i] + slope / (line[i] + _RIDGE))
                change = max(change, abs(better - weights[i]))
                weights[i] = better
            if change < _ENOUGH:
                break
        return tuple(weight / scale for weight, scale in zip(weights, self._scales, strict=True))


def _product(weights: Vector, columns: Vector) -> float:
    return sum(weight * value for weight, value in zip(weights, columns, strict=True))
