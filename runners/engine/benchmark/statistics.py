"""The sums of a benchmark, in plain Python: the same data gives the same figures anywhere.

Percentiles are order statistics by nearest rank. Intervals (`hub.protocol.intervals`) come from the
processes' medians, never from the samples inside one process: those are correlated, and say nothing
of what the next process will do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from hub.protocol.intervals import Level

# Of claims about percentiles.
CONFIDENCE = Level.COMPARISON.share
PERCENTILES = {"p50": (50, 100), "p90": (90, 100), "p95": (95, 100), "p99": (99, 100)}
PERCENTILES["p99.9"] = (999, 1000)


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
