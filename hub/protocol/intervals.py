"""Every interval of the hub: its level, its method, what the method covers, and how it is computed.

No other module writes a level. Standard library only, since children in the sandbox, the hub, the
client and the command import it; what resamples rows is in `runners.engine.evaluation.resampling`.
What a method covers is computed or simulated by `benchmarks/interval_coverage.py`.
"""

from __future__ import annotations

import bisect
import functools
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

# A middle with the ends of its interval.
Estimate = tuple[float, float, float]
_RESAMPLES = 2000
# Halvings that leave nothing between two floats from 0 to 1.
_HALVINGS = 60
# Two-sided 95 % points of Student's distribution, by degrees of freedom (any table of it). Above
# them 1.96 is part of the method of records, and covers at least 94.1 %.
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96


class Level(IntEnum):
    """The levels of the hub's intervals, in per cent."""

    PREDICTION = 80
    FIGURE = 95
    COMPARISON = 99

    @property
    def share(self) -> float:
        """The level as a share of 1."""
        return self / 100

    @property
    def words(self) -> str:
        """95 % interval."""
        return f"{int(self)} % interval"


class IntervalMethod(StrEnum):
    """How an interval was computed."""

    CLOPPER_PEARSON = "Clopper-Pearson"
    PSEUDO_ROWS = "bootstrap with two pseudo-rows"
    STUDENTISED = "studentised bootstrap"
    PERCENTILES = "percentile bootstrap"
    LOG_MEDIANS = "Student's t of the processes' log medians"
    SIGNED_RANKS = "Wilcoxon's signed ranks"
    HELD_OUT = "errors of held-out models"
    ORDER_STATISTICS = "order statistics of the median"
    RATIO_OF_SUMS = "Student's t of the logit of the devices' sums"

    @property
    def level(self) -> Level:
        """The level of every interval of this method."""
        return _LEVELS.get(self, Level.FIGURE)

    @property
    def coverage(self) -> str:
        """How often such an interval holds the value, as computed or simulated."""
        return _COVERAGE[self]


_LEVELS = {
    IntervalMethod.SIGNED_RANKS: Level.COMPARISON,
    IntervalMethod.HELD_OUT: Level.PREDICTION,
}
_COVERAGE = {
    IntervalMethod.CLOPPER_PEARSON: "covers at least 95 %, whatever the share",
    IntervalMethod.PSEUDO_ROWS: "covers 92 % to 100 % in simulations of 45 to 1,000 rows",
    IntervalMethod.STUDENTISED: "covers 90 % to 97 % in simulations of 20 to 400 rows, least of "
    "few rows with skewed errors",
    IntervalMethod.PERCENTILES: "covers as little as 58 % where few rows are wrong",
    IntervalMethod.LOG_MEDIANS: "covers 95 % of log-normal medians, and 72 % to 88 % in "
    "simulations where one process in ten is slower by a tenth",
    IntervalMethod.SIGNED_RANKS: "covers at least 99 %, whatever the noise",
    IntervalMethod.HELD_OUT: "holds 80 % of predictions for models like the measured ones",
    IntervalMethod.ORDER_STATISTICS: "covers at least 95 %, whatever the distribution",
    IntervalMethod.RATIO_OF_SUMS: "covers 84 % to 95 % in simulations of 5 to 100 devices, "
    "least of few devices with a share near 1",
}
# How the intervals of figures that the hub computes of rows are computed; tables admit no other.
OF_ROWS = tuple(
    method
    for method in IntervalMethod
    if method not in (IntervalMethod.ORDER_STATISTICS, IntervalMethod.RATIO_OF_SUMS)
)


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval in the unit of its figure, and how they were computed."""

    low: float
    high: float
    method: IntervalMethod

    @property
    def level(self) -> Level:
        """The level of its method."""
        return self.method.level

    @classmethod
    def between(
        cls, low: float | None, high: float | None, method: IntervalMethod
    ) -> Interval | None:
        """The interval of two stored ends; None where one is missing."""
        return None if low is None or high is None else cls(low, high, method)

    @classmethod
    def stored(cls, low: float, high: float, method: str) -> Interval | None:
        """The interval of a stored figure; None without a method."""
        return cls(low, high, IntervalMethod(method)) if method else None


def proportion(count: int, total: int) -> Interval:
    """The interval of a share by Clopper and Pearson (1934): of ``count`` among ``total``, above 0.

    Each end is the share at which so extreme a count has half of what the level leaves out. Both
    tails of the binomial distribution are exact, so it covers at least its level.
    """
    tail = (1 - IntervalMethod.CLOPPER_PEARSON.level.share) / 2
    low = 0.0 if count == 0 else 1 - _share_of_tail(total - count, total, tail)
    high = 1.0 if count == total else _share_of_tail(count, total, tail)
    return Interval(low, high, IntervalMethod.CLOPPER_PEARSON)


def _share_of_tail(count: int, total: int, tail: float) -> float:
    """The share p with P(Binomial(total, p) <= count) equal to ``tail``; by halves."""
    low, high = count / total, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if binomial_tail(count, total, middle) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def binomial_tail(count: int, total: int, share: float) -> float:
    """P(Binomial(total, share) <= count), summed from its largest term down."""
    if share <= 0 or share >= 1:
        return float(share <= 0 or count >= total)
    first = min(count, int(share * (total + 1)))
    term = math.exp(
        math.lgamma(total + 1)
        - math.lgamma(first + 1)
        - math.lgamma(total - first + 1)
        + first * math.log(share)
        + (total - first) * math.log1p(-share)
    )
    terms, odds = [term], share / (1 - share)
    below = term
    for number in range(first, 0, -1):
        below *= number / (total - number + 1) / odds
        terms.append(below)
        if below < term * 1e-17:
            break
    for number in range(first, count):
        term *= (total - number) / (number + 1) * odds
        terms.append(term)
        if term < terms[0] * 1e-17:
            break
    return min(math.fsum(terms), 1.0)


def geometric_mean(values: Sequence[float]) -> Estimate | None:
    """The geometric mean of positive values with its 95 % interval; None below two values.

    Student's interval of the mean of logarithms, as T. Kalibera and R. Jones ("Rigorous
    Benchmarking in Reasonable Time", ISMM 2013) and T. Hoefler and R. Belli ("Scientific
    Benchmarking of Parallel Computing Systems", SC 2015) advise for repeated executions.
    """
    if len(values) < 2 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    mean = math.fsum(logs) / len(logs)
    square = math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    degrees = len(logs) - 1
    factor = _factor(degrees)
    half = factor * math.sqrt(square / len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def ratio_of_sums(above: Sequence[float], below: Sequence[float]) -> Estimate | None:
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


def weighted_share(right: Sequence[float], counts: Sequence[float]) -> Interval | None:
    """The interval of the share of right ones in groups, such as the examples of devices.

    Groups differ from one another, so that they are drawn and not their members: the interval of
    the ratio of sums, carried to logits by the delta method (Agresti, Categorical Data Analysis,
    3.1), where it covers more of shares near 0 and 1 and never leaves them. None below two groups,
    and where all of them have the same share.
    """
    estimate = ratio_of_sums(right, counts)
    if estimate is None or estimate[1] == estimate[2]:
        return None
    share, _, high = estimate
    logit, half = math.log(share / (1 - share)), (high - share) / (share * (1 - share))
    low, high = (1 / (1 + math.exp(-end)) for end in (logit - half, logit + half))
    return Interval(low, high, IntervalMethod.RATIO_OF_SUMS)


def median(values: Sequence[float]) -> Interval | None:
    """The interval of the median of a distribution; None below six values.

    Its ends are the values as far from both ends as the binomial distribution lets them be (David
    and Nagaraja, Order Statistics, 7.1), so it covers at least its level, and values that are
    wrong move it no further than their number of places.
    """
    tail = (1 - IntervalMethod.ORDER_STATISTICS.level.share) / 2
    count, ordered = len(values), sorted(values)
    outside = bisect.bisect_right(
        range(count), tail, key=lambda place: binomial_tail(place, count, 0.5)
    )
    if not outside:
        return None
    return Interval(ordered[outside - 1], ordered[-outside], IntervalMethod.ORDER_STATISTICS)


def _factor(degrees: int) -> float:
    """Student's factor of a 95 % interval with this number of degrees of freedom."""
    return _STUDENT[degrees - 1] if degrees <= len(_STUDENT) else _NORMAL


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate | None:
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
    ends = statistics.median(means), means[outside], means[-outside - 1]
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
        if below > (1 - Level.COMPARISON.share) / 2 * 2**count:
            return largest
        largest = total
    return largest


def ratio_of_medians(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Estimate:
    """The ratio of the medians, candidate over baseline, with a 99 % percentile bootstrap interval.

    For values that do not belong together in pairs. Each draw takes as many values as there are,
    with repetition, from each side.
    """
    draw = random.Random(seed)  # noqa: S311 - a seeded draw that anybody can repeat
    ratios = sorted(
        statistics.median(draw.choices(candidate, k=len(candidate)))
        / statistics.median(draw.choices(baseline, k=len(baseline)))
        for _ in range(_RESAMPLES)
    )
    tail = _RESAMPLES * (100 - Level.COMPARISON) // 200
    middle = statistics.median(candidate) / statistics.median(baseline)
    return middle, ratios[tail], ratios[-tail - 1]
