"""Intervals: their levels, what they cover, and that no other module writes a level."""

from __future__ import annotations

import math

import pytest

from benchmarks import interval_coverage as coverage
from hub.protocol import intervals
from hub.protocol.intervals import Interval, IntervalMethod, Level, binomial_tail, proportion


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (45, 45, 0.025 ** (1 / 45), 1.0),
        (0, 10, 0.0, 1 - 0.025**0.1),
        (1, 1, 0.025, 1.0),
        # Beta quantiles as published in tables of exact binomial limits.
        (9, 10, 0.5550, 0.9975),
        (5, 10, 0.1871, 0.8129),
        (81, 263, 0.2527, 0.3676),
    ],
)
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(count, total, low, high):
    interval = proportion(count, total)
    assert (interval.low, interval.high) == (
        pytest.approx(low, abs=5e-5),
        pytest.approx(high, abs=5e-5),
    )
    assert (interval.level, interval.method) == (95, "Clopper-Pearson")


@pytest.mark.parametrize(
    ("rows", "share"), [(10, 0.983), (1000, 0.999), (45, 0.5), (45, 0.98), (200, 0.93), (7, 0.3)]
)
def test_the_interval_of_a_share_covers_at_least_its_level(rows, share):
    """By exact sums; Wilson's covers 0.84 in the first case and 0.92 in the second."""
    assert coverage.of_share(rows, share) >= 0.95


def test_a_share_of_many_rows_is_exact_too():
    low, high = (getattr(proportion(999_999, 1_000_000), end) for end in ("low", "high"))
    assert binomial_tail(999_998, 1_000_000, low) == pytest.approx(0.975, abs=1e-6)
    assert binomial_tail(999_999, 1_000_000, high) == pytest.approx(0.025, abs=1e-6)


def test_the_tails_of_a_binomial_distribution_are_its_sums():
    for count in range(13):
        terms = (math.comb(12, k) * 0.3**k * 0.7 ** (12 - k) for k in range(count + 1))
        assert binomial_tail(count, 12, 0.3) == pytest.approx(sum(terms))


def test_each_method_has_a_level_and_says_what_it_covers():
    assert {method: int(method.level) for method in IntervalMethod} == {
        "Clopper-Pearson": 95,
        "bootstrap with two pseudo-rows": 95,
        "studentised bootstrap": 95,
        "percentile bootstrap": 95,
        "Student's t of the processes' log medians": 95,
        "Wilcoxon's signed ranks": 99,
        "errors of held-out models": 80,
        "order statistics of the median": 95,
        "Student's t of the logit of the devices' sums": 95,
    }
    assert all(method.coverage for method in IntervalMethod)
    assert [level.words for level in Level] == ["80 % interval", "95 % interval", "99 % interval"]


def test_a_stored_figure_without_a_method_has_no_interval():
    assert Interval.stored(0.5, 0.5, "") is None
    stored = Interval.stored(0.4, 0.6, "percentile bootstrap")
    assert stored == Interval(0.4, 0.6, IntervalMethod.PERCENTILES)
    assert Interval.between(None, 0.6, IntervalMethod.LOG_MEDIANS) is None


@pytest.mark.parametrize("processes", [5, 10])
def test_log_normal_medians_are_covered_as_often_as_said(processes):
    held = coverage.of_medians(coverage.NOISE["log-normal"], processes, 4000)
    assert 0.94 <= held <= 0.96


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([3, 1, 2, 5, 4], None),  # all five hold the median in 93.75 % of draws
        ([6, 3, 1, 2, 5, 4], (1, 6)),
        (range(10), (1, 8)),
        ([], None),
    ],
)
def test_the_interval_of_a_median_lies_between_two_of_its_values(values, ends):
    of = intervals.median(values)
    assert (of and (of.low, of.high)) == ends


@pytest.mark.parametrize("count", range(6, 60))
def test_the_interval_of_a_median_covers_its_level_and_is_the_least_that_does(count):
    assert coverage.of_median(count) >= 0.95
    inner = int(intervals.median(range(count)).low) + 1
    assert 1 - 2 * binomial_tail(inner, count, 0.5) < 0.95


def test_the_interval_of_a_share_on_devices_is_wider_than_that_of_its_examples():
    """Devices that differ say less than as many examples of one source."""
    of = intervals.weighted_share([90, 20, 95, 97, 60], [100] * 5)
    one_source = proportion(362, 500)
    assert 0 < of.low < one_source.low < one_source.high < of.high < 1
    assert intervals.weighted_share([9, 9], [10, 10]) is None
    assert intervals.weighted_share([9], [10]) is None


@pytest.mark.parametrize(("devices", "share"), [(5, 0.9), (10, 0.98), (30, 0.5)])
def test_the_interval_of_a_share_on_devices_covers_what_it_says(devices, share):
    held, _ = coverage.of_devices(devices, share, rounds=600)
    assert 0.81 <= held <= 0.97
