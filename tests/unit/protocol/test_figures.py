"""Whether figures keep limits, and which of them are ranked."""

from __future__ import annotations

import pytest

from hub.protocol.figures import (
    Compliance,
    Figure,
    Kind,
    Status,
    Unit,
    absent,
    count,
    together,
)
from hub.protocol.intervals import Interval, IntervalMethod

MS = Unit.MILLISECOND
PREDICTED = Figure(4.0, MS, Kind.PREDICTED, interval=Interval(2, 8, IntervalMethod.HELD_OUT))


@pytest.mark.parametrize(
    ("figure", "limit", "options", "compliance"),
    [
        (Figure(5.0, MS), 5.0, {}, "within"),
        (Figure(5.1, MS), 5.0, {}, "outside"),
        (Figure(0.9, Unit.SHARE), 0.9, {"is_maximum": False}, "within"),
        (Figure(0.8, Unit.SHARE), 0.9, {"is_maximum": False}, "outside"),
        (Figure(9.0, MS, status=Status.NOISY), 5.0, {}, "unknown"),
        (Figure(1.0, MS, status=Status.UNVERIFIED), 5.0, {}, "unknown"),
        (absent(MS), 5.0, {}, "unknown"),
        (count(None), 5.0, {}, "unknown"),
        (count(6), 5.0, {}, "outside"),
        (PREDICTED, 9.0, {}, "unknown"),
        (PREDICTED, 9.0, {"with_predictions": True}, "within"),
        (PREDICTED, 5.0, {"with_predictions": True}, "outside"),
    ],
)
def test_only_a_figure_that_counts_keeps_or_misses_a_limit(figure, limit, options, compliance):
    assert figure.compliance(limit, **options) == compliance


def test_several_limits_together():
    within, outside, unknown = Compliance
    assert together([]) == together([within, within]) == within
    assert together([within, unknown]) == unknown
    assert together([unknown, outside, within]) == outside


def test_only_accepted_values_are_ranked():
    ranked = [status for status in Status if Figure(1.0, MS, status=status).is_ranked]
    assert ranked == ["accepted"]
    assert not absent(MS).is_ranked
