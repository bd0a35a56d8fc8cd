"""The sums of a benchmark, in plain Python: the same data gives the same figures anywhere.

Percentiles are order statistics by nearest rank. Intervals come from the processes' medians, never
from the samples inside one process: those are correlated, and say nothing of what the next process
will do. They are Student intervals of the mean of logarithms, as T. Kalibera and R. Jones
("Rigorous Benchmarking in Reasonable Time", ISMM 2013) and T. Hoefler and R. Belli ("Scientific
Benchmarking of Parallel Computing Systems", SC 2015) advise for repeated executions.
"""

from __future__ import annotations

import functools
import math
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# A middle with the ends of its interval.
Interval = tuple[float, float, float]
CONFIDENCE = 0.99
PERCENTILES = {"p50": (50, 100), "p90": (90, 100), "p95": (95, 100), "p99": (99, 100)}
PERCENTILES["p99.9"] = (999, 1000)
_RESAMPLES = 2000
# Two-sided 95 % points of Student's distribution, by degrees of freedom (any table of it).
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96


def rounded(value: float) -> float:
    """Round to six significant digits: beyond them, processors' libraries differ."""
    return float(f"{value:.6g}")


def percentile(ordered: Sequence[int], name: str) -> int:
    """The smallest sample that at least this share of all samples do not exceed."""
    above, below = PERCENTILES[name]
    rank = -(-above * len(ordered) // below)
    return ordered[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the middle two."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def variation(values: Sequence[float]) -> float:
    """The coefficient of variation: the standard deviation over the mean."""
    mean = math.fsum(values) / len(values) if len(values) > 1 else 0.0
    if not mean:
        return 0.0
    square = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(square) / mean


def interval(values: Sequence[float]) -> Interval | None:
    """The geometric mean of positive values with its 95 % interval; None below two values."""
    if len(values) < 2 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    square = math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    degrees = len(logs) - 1
    factor = _factor(degrees)
    half = factor * math.sqrt(square / len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def ratio_of_sums(above: Sequence[float], below: Sequence[float]) -> Interval | None:
    """The sum of one over the sum of the other with its 95 % interval; None below two pairs.

    The ratio estimator with its linearised variance (Cochran, Sampling Techniques, 6.3) and
    Student's factor: the middle is what the two totals give, and is always inside its interval.
    """
    total = math.fsum(below)
    if len(above) < 2 or total <= 0:
        return None
    ratio, count = math.fsum(above) / total, len(above)
    away = [numerator - ratio * other for numerator, other in zip(above, below, strict=True)]
    square = math.fsum(residual * residual for residual in away) / (count - 1)
    half = _factor(count - 1) * math.sqrt(count * square) / total
    return ratio, max(ratio - half, 0.0), ratio + half


def _factor(degrees: int) -> float:
    """Student's factor of a 95 % interval with this number of degrees of freedom."""
    return _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else _NORMAL


def overruns_allowed(count: int, name: str) -> int:
    """Maximum number of samples above a percentile that is claimed with 99 % confidence.

    0 means that the samples are too few to claim it. MLPerf's early stopping at tolerance 0: the
    largest t with P(Binomial(count, 1 - p) <= t) <= 1 %.
    """
    above, below = PERCENTILES[name]
    share = above / below
    # Below ten deviations from the mean there is nothing that a float could tell from zero.
    first = max(0, int(count * (1 - share) - 10 * math.sqrt(count * share * (1 - share))))
    chance, allowed = 0.0, first - 1
    for over in range(first, count + 1):
        chance += math.exp(
            math.lgamma(count + 1)
            - math.lgamma(over + 1)
            - math.lgamma(count - over + 1)
            + (count - over) * math.log(share)
            + over * math.log1p(-share)
        )
        if chance > 1 - CONFIDENCE:
            break
        allowed = over
    return max(allowed, 0)


@functools.cache
def samples_needed(name: str, overruns: int = 1) -> int:
    """Number of samples that claim a percentile with this number of them above it."""
    low, high = overruns + 1, 2
    while overruns_allowed(high, name) < overruns:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if overruns_allowed(middle, name) >= overruns:
            high = middle
        else:
            low = middle + 1
    return low


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Interval | None:
    """The ratio of values that belong together, candidate over baseline, with its 99 % interval.

    The middle is the Hodges-Lehmann estimate, the interval that of Wilcoxon's signed ranks, both of
    the logarithms of the ratios. The interval is exact whatever the noise: of two equal sides each
    ratio is as likely as its inverse. None where the pairs are too few for it.
    """
    logs = sorted(math.log(mine / other) for mine, other in zip(candidate, baseline, strict=True))
    outside = _ranks_outside(len(logs))
    if outside is None:
        return None
    means = sorted((log + other) / 2 for place, log in enumerate(logs) for other in logs[place:])
    ends = median(means), means[outside], means[-outside - 1]
    return math.exp(ends[0]), math.exp(ends[1]), math.exp(ends[2])


@functools.cache
def _ranks_outside(count: int) -> int | None:
    """The largest k with P(W <= k) <= 0.5 % for Wilcoxon's W of ``count`` pairs; None without one.

    Of the 2 ** count ways to sign the ranks those with a sum of at most k are counted.
    """
    ways = [1] + [0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    below, largest = 0, None
    for total, many in enumerate(ways):
        below += many
        if below > (1 - CONFIDENCE) / 2 * 2**count:
            return largest
        largest = total
    return largest


def ratio_interval(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval:
    """The ratio of the medians, candidate over baseline, with a 99 % bootstrap interval.

    For values that do not belong together in pairs. Each draw takes as many values as there are,
    with repetition, from each side.
    """
    draw = random.Random(seed)  # noqa: S311 - a seeded draw that anybody can repeat
    ratios = sorted(
        median(draw.choices(candidate, k=len(candidate)))
        / median(draw.choices(baseline, k=len(baseline)))
        for _ in range(_RESAMPLES)
    )
    tail = _RESAMPLES // 200
    return median(candidate) / median(baseline), ratios[tail], ratios[-tail - 1]
