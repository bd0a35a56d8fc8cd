"""The sums of benchmarks: against tables that others published, and against plain reasoning."""

from __future__ import annotations

import math
import random

import pytest

from hub.protocol import intervals
from runners.engine.benchmark import statistics

# MLPerf Inference's early stopping at 99 % confidence: samples for t of them above a percentile.
TABLE = {
    "p50": [11, 14, 22, 35],
    "p90": [64, 81, 127, 197],
    "p95": [130, 165, 259, 398],
    "p99": [662, 838, 1307, 2010],
    "p99.9": [6636, 8403, 13105, 20140],
}


@pytest.mark.parametrize(("name", "wanted"), TABLE.items())
def test_the_table_of_early_stopping_is_computed(name, wanted):
    assert [statistics.samples_needed(name, t) for t in (1, 2, 5, 10)] == wanted


def test_one_sample_less_allows_one_overrun_less():
    assert statistics.overruns_allowed(662, "p99") == 1
    assert statistics.overruns_allowed(661, "p99") == 0
    assert statistics.overruns_allowed(838, "p99") == 2
    assert statistics.overruns_allowed(0, "p50") == 0


def test_many_samples_allow_nearly_their_share():
    allowed = statistics.overruns_allowed(100_000, "p90")
    assert 9_700 < allowed < 10_000


def test_percentiles_are_samples_by_nearest_rank():
    ordered = list(range(1, 101))
    assert statistics.percentile(ordered, "p50") == 50
    assert statistics.percentile(ordered, "p90") == 90
    assert statistics.percentile(ordered, "p99") == 99
    assert statistics.percentile(ordered, "p99.9") == 100
    assert statistics.percentile([7], "p50") == 7


def test_the_interval_of_medians_is_students():
    # ln 1, ln 2, ln 4: mean ln 2, deviation ln 2, and t(2) = 4.303.
    middle, low, high = intervals.geometric_mean([1, 2, 4])
    half = 4.303 * math.log(2) / math.sqrt(3)
    assert middle == pytest.approx(2)
    assert (low, high) == pytest.approx((2 / math.exp(half), 2 * math.exp(half)))
    assert intervals.geometric_mean([5.0]) is None
    assert intervals.geometric_mean([5.0, 0.0]) is None


def test_the_interval_covers_as_often_as_it_says():
    draw = random.Random(1)
    hits = 0
    for _ in range(600):
        medians = [math.exp(draw.gauss(0, 0.05)) for _ in range(10)]
        _, low, high = intervals.geometric_mean(medians)
        hits += low <= 1 <= high
    assert 0.92 < hits / 600 < 0.98


def test_variation_and_median():
    assert statistics.variation([9, 10, 11]) == pytest.approx(0.1)
    assert statistics.variation([3]) == 0
    assert statistics.median([3, 1, 2]) == 2
    assert statistics.median([4, 1, 2, 3]) == 2.5


def test_the_ratio_is_repeatable_and_finds_ten_per_cent():
    draw = random.Random(2)
    base = [10 * (1 + draw.uniform(-0.01, 0.01)) for _ in range(10)]
    slow = [11 * (1 + draw.uniform(-0.01, 0.01)) for _ in range(10)]
    ratio, low, high = intervals.ratio_of_medians(base, slow, 0)
    assert (ratio, low, high) == intervals.ratio_of_medians(base, slow, 0)
    assert 1.03 < low < ratio < high < 1.17
    _, low, high = intervals.ratio_of_medians(base, base, 0)
    assert 0.97 < low <= 1 <= high < 1.03
