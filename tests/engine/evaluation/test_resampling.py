"""Intervals of evaluations: how often they hold the true value, and what rows without errors give.

The simulations are those of `benchmarks/interval_coverage.py`, with few rounds: an interval that
covers what its method says stays above the limits here, and the percentile bootstrap does not.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import interval_coverage as coverage
from hub.protocol.intervals import IntervalMethod, proportion
from runners.engine.evaluation import metrics, resampling, scoring
from runners.engine.evaluation.resampling import Agreement, Error, Share

RIGHT = np.repeat([0, 1, 2], 15)
SURE = np.eye(3)[RIGHT] * 0.98 + 0.01


def of(metric, rows, seed=1):
    return resampling.estimates({"figure": metric}, rows, seed).get("figure")


def test_the_interval_of_a_share_is_exact():
    value, interval = of(Share(np.ones(45)), 45)
    assert (value, interval) == (1.0, proportion(45, 45))
    assert round(interval.low, 3) == 0.921


@pytest.mark.parametrize(
    "metric",
    [Agreement(metrics.macro_f1, RIGHT, RIGHT), Agreement(metrics.area, RIGHT, SURE)],
    ids=["f1", "area"],
)
def test_rows_that_are_all_right_have_intervals_with_a_width(metric):
    value, interval = of(metric, 45)
    assert (value, interval.high) == (1.0, 1.0)
    assert 0.8 < interval.low < 0.95
    assert interval.method is IntervalMethod.PSEUDO_ROWS


@pytest.mark.parametrize(
    "metric",
    [
        scoring.mean_of(np.full(45, 0.2)),
        scoring.mean_of(np.zeros(45)),
        scoring.mean_of(np.append(np.zeros(44), 1.0)),
        Agreement(metrics.macro_f1, np.zeros(45, dtype=int), np.zeros(45, dtype=int)),
    ],
    ids=["equal errors", "no error", "an error", "a class"],
)
def test_rows_without_a_spread_have_no_interval(metric):
    value, interval = of(metric, 45)
    assert np.isfinite(value)
    assert interval is None or interval.low < value < interval.high


def test_one_row_has_the_interval_of_a_share_alone():
    assert of(scoring.mean_of(np.array([0.3])), 1) == (0.3, None)
    assert of(Share(np.ones(1)), 1).interval == proportion(1, 1)
    one = np.zeros(1, dtype=int)
    assert of(Agreement(metrics.macro_f1, one, one), 1).interval is None


def test_what_is_not_defined_is_left_out():
    alone = np.zeros(12, dtype=int)
    assert of(Agreement(metrics.area, alone, np.tile([0.4, 0.6], (12, 1))), 12) is None
    assert of(scoring.determination_of(np.full(7, 0.1), np.arange(7.0)), 7) is None


def test_intervals_do_not_depend_on_how_many_draws_are_counted_at_once(monkeypatch):
    errors = np.random.default_rng(1).exponential(size=12)
    own = scoring.mean_of(errors)
    whole = of(own, 12, 5)
    monkeypatch.setattr(resampling, "_AT_ONCE", 12 * 7)
    assert of(own, 12, 5) == whole
    assert of(own, 12, 6).interval != whole.interval


def test_the_root_of_a_mean_has_the_roots_of_its_ends():
    errors = np.random.default_rng(2).exponential(size=60)
    squares = metrics.mean(errors)
    root = Error(
        lambda counts: np.sqrt(squares(counts)),
        metrics.log_mean(errors),
        lambda log: float(np.exp(log / 2)),
    )
    mean, rooted = of(scoring.mean_of(errors), 60), of(root, 60)
    assert rooted.value**2 == pytest.approx(mean.value)
    assert rooted.interval.low**2 == pytest.approx(mean.interval.low)
    assert rooted.interval.high**2 == pytest.approx(mean.interval.high)


def test_f1_of_few_wrong_rows_is_covered():
    """A percentile bootstrap covers 0.58 here: of four samples in ten every row is right."""
    held, absent = coverage.of_f1(3, 45, 0.02, (), rounds=150)
    assert held >= 0.93
    assert absent == 0


def test_a_good_curve_is_covered():
    """A percentile bootstrap covers 0.59 here."""
    held, absent = coverage.of_area(45, 3.5, 0.33, rounds=120)
    assert held >= 0.93
    assert absent == 0


def test_no_interval_of_a_loss_ends_above_the_largest_loss_of_a_row():
    # Nearly all rows are right and sure, a few wrong and sure: the bootstrap alone ends at 14,425.
    losses = np.random.default_rng(3).lognormal(-12, 5, 120)
    errors = np.minimum(losses, metrics.MOST_LOSS)
    free, bounded = (of(scoring.mean_of(errors, most), 120) for most in (np.inf, metrics.MOST_LOSS))
    assert free.interval.high > metrics.MOST_LOSS == bounded.interval.high
    assert bounded.interval.low == free.interval.low
    assert bounded.value == free.value


def test_a_mean_of_skewed_errors_is_covered():
    name, skew, errors, truth = coverage.ERRORS[1]
    assert (name, skew) == ("exponential", 2.0)
    held, absent = coverage.of_mean(errors, 45, truth, rounds=250)
    assert held >= 0.93
    assert absent == 0


def test_r2_is_covered():
    assert coverage.of_r2(100, 0.9, rounds=200)[0] >= 0.93
