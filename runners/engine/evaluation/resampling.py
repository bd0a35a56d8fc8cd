"""Values of metrics with their intervals: the work of a child that holds neither model nor data.

The method of an interval follows from the kind of its metric; `hub.protocol.intervals` says what
each covers.

- `Share`: rows that are right or wrong, so the binomial interval of Clopper and Pearson.
- `Agreement`: F1 and areas under curves. A percentile bootstrap over the rows and two pseudo-rows,
  each of which has the target of one row and the answer to another, drawn at random. Without them
  every resample of rows that are all right is right, and the interval has no width. They do what
  the two successes and two failures of Agresti and Coull (1998) do for a share: the rows are drawn
  from the posterior mean of a Dirichlet process with weight 2 on independent targets and answers
  (Ferguson 1973).
- `Error`: means of errors and ratios of such. A studentised bootstrap (Efron and Tibshirani 1993,
  chapter 12) of the logarithm, which takes the skew of errors into account.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hub.protocol import intervals
from hub.protocol.intervals import Interval, IntervalMethod
from runners.engine.evaluation.metrics import Metric
from runners.engine.evaluation.rules import RESAMPLES

# Given how often each row counts, the logarithm of each draw with its standard error.

Array = np.ndarray[Any, Any]
Logarithm = Callable[[Array], tuple[Array, Array]]

PSEUDO_ROWS = 2
# Pseudo-rows among which those of a draw are pseudo.
_MOST_PAIRS = 1_000
# Rows of all draws that are counted at once.
_AT_ONCE = 1 << 20


class Share(NamedTuple):
    """The share of rows that are right: 1 for each of them, else 0."""

    hits: Array


class Agreement(NamedTuple):
    """A metric of targets and answers, which ``metric`` makes of the rows of both."""

    metric: Callable[[Array, Array], Metric]
    targets: Array
    answers: Array


class Error(NamedTuple):
    """A metric whose ``value`` is ``back`` of a logarithm; ``back`` rises or falls throughout."""

    value: Metric
    logarithm: Logarithm
    back: Callable[[float], float]


class Estimate(NamedTuple):
    """A value; without an interval where the rows do not show how far it may be off."""

    value: float
    interval: Interval | None


def estimates(
    metrics: Mapping[str, Share | Agreement | Error], rows: int, seed: int
) -> dict[str, Estimate]:
    """The value and interval of each metric; one that is undefined for all rows is left out."""
    draws = _Draws(rows, seed)
    measured = {
        name: _share(metric)
        if isinstance(metric, Share)
        else draws.agreement(metric)
        if isinstance(metric, Agreement)
        else draws.error(metric)
        for name, metric in metrics.items()
    }
    return {name: estimate for name, estimate in measured.items() if np.isfinite(estimate.value)}


def _share(metric: Share) -> Estimate:
    count, total = int(metric.hits.sum()), len(metric.hits)
    return Estimate(count / total, intervals.proportion(count, total))


class _Draws:
    """Resamples of rows: each metric has draws of its own, made from the same seed."""

    def __init__(self, rows: int, seed: int) -> None:
        self._rows, self._seed = rows, seed

    def agreement(self, metric: Agreement) -> Estimate:
        generator = np.random.default_rng(self._seed)
        pairs = min(self._rows, _MOST_PAIRS)
        one, other = generator.integers(0, self._rows, (2, pairs))
        of_rows = metric.metric(
            np.concatenate([metric.targets, metric.targets[one]]),
            np.concatenate([metric.answers, metric.answers[other]]),
        )
        value = float(of_rows(np.append(np.ones(self._rows), np.zeros(pairs))[np.newaxis])[0])
        results = self._resampled(of_rows, generator, pairs)
        results = results[np.isfinite(results)]
        if not results.size or results.min() == results.max():
            return Estimate(value, None)
        tails = _tails(IntervalMethod.PSEUDO_ROWS)
        low, high = np.percentile(results, tails)
        return Estimate(value, _between(low, high, IntervalMethod.PSEUDO_ROWS))

    def error(self, metric: Error) -> Estimate:
        once = np.ones((1, self._rows))
        value = float(metric.value(once)[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            middle, deviation = (float(number[0]) for number in metric.logarithm(once))

            def away(counts: Array) -> Array:
                logs, deviations = metric.logarithm(counts)
                return (logs - middle) / deviations

            results = self._resampled(away, np.random.default_rng(self._seed))
        finite = results[np.isfinite(results)]
        # Of few rows, or rows that hardly differ, most resamples have no spread.
        if not np.isfinite(deviation) or deviation == 0 or finite.size < RESAMPLES / 2:
            return Estimate(value, None)
        low, high = np.percentile(finite, _tails(IntervalMethod.STUDENTISED))
        with np.errstate(over="ignore"):
            ends = [metric.back(middle - point * deviation) for point in (low, high)]
        return Estimate(value, _between(min(ends), max(ends), IntervalMethod.STUDENTISED))

    def _resampled(self, metric: Metric, generator: np.random.Generator, pairs: int = 0) -> Array:
        """The metric of each draw of as many rows; with ``pairs`` behind them, of these as well."""
        rows, size = self._rows, max(1, min(RESAMPLES, _AT_ONCE // (self._rows + pairs)))
        results = []
        for start in range(0, RESAMPLES, size):
            draws = min(size, RESAMPLES - start)
            places = generator.integers(0, rows, (draws, rows))
            if pairs:
                many = generator.binomial(rows, PSEUDO_ROWS / (rows + PSEUDO_ROWS), (draws, 1))
                width = int(many.max())
                pseudo = rows + generator.integers(0, pairs, (draws, width))
                first = places[:, :width]
                places[:, :width] = np.where(np.arange(width) < many, pseudo, first)
            whole = rows + pairs
            places += whole * np.arange(draws)[:, np.newaxis]
            counts = np.bincount(places.ravel(), minlength=draws * whole).reshape(draws, whole)
            results.append(metric(counts.astype(np.float64)))
        return np.concatenate(results)


def _tails(method: IntervalMethod) -> tuple[float, float]:
    """The percentiles that are the ends of an interval."""
    return (100 - method.level) / 2, (100 + method.level) / 2


def _between(low: float, high: float, method: IntervalMethod) -> Interval | None:
    return Interval(float(low), float(high), method) if np.isfinite([low, high]).all() else None
