"""What devices report, joined: which figure decides, and what of groups everyone may read."""

from __future__ import annotations

import itertools

import pytest

from registry.federated import scores
from registry.federated.models import DeviceReport, Participant
from registry.federated.scores import Scores

pytestmark = pytest.mark.capability("federated")


def report(candidate_right, n=100, group="", base_right=50):
    return DeviceReport(
        participant=Participant(group=group),
        n=n, base_right=base_right, candidate_right=candidate_right,
    )  # fmt: skip


def joined(reports, most=lambda _: 10_000):
    return scores.of(reports, most)


@pytest.mark.parametrize("lie", [0, 100])
def test_where_most_of_five_devices_agree_no_device_turns_the_median(lie):
    """Three honest devices on one side decide, whatever the fourth has and the fifth claims."""
    for right in itertools.product((30, 45, 55, 70), repeat=4):
        change = joined([report(lie), *map(report, right)]).all.change.value
        rising = sum(value > 50 for value in right)
        if rising >= 3:
            assert change > 0
        if rising <= 1:
            assert change < 0


@pytest.mark.parametrize("devices", [5, 6, 9, 20])
def test_fewer_than_half_move_the_median_to_no_change_that_nobody_honest_has(devices):
    honest = [report(40 + place) for place in range(devices // 2 + 1)]
    ends = [one.change for one in honest]
    for lie in (0, 100):
        liars = [report(lie) for _ in range(devices - len(honest))]
        assert min(ends) <= joined([*honest, *liars]).all.change.value <= max(ends)


def test_shares_are_weighted_by_examples_up_to_what_counts():
    reports = [report(90, n=100), report(0, n=10_000)]
    assert joined(reports).all.candidate.value == pytest.approx(90 / 10_100)
    capped = joined(reports, lambda _: 100).all
    assert capped.candidate.value == pytest.approx(0.45)
    assert capped.examples == 10_100


def test_the_share_of_devices_that_lose_has_an_exact_interval():
    worse = joined([report(40), *[report(60) for _ in range(9)]]).all.worse
    assert worse.value == 0.1
    assert (worse.interval.low, worse.interval.high) == pytest.approx((0.00253, 0.44502), abs=1e-5)


class TestGroups:
    def test_each_has_its_figures_and_devices_without_a_group_have_none(self):
        of = joined([report(80, group="a"), report(20, group="b"), report(50)])
        assert list(of.groups) == ["a", "b"]
        assert of.groups["a"].change.value == 0.3
        assert of.groups["b"].worse.value == 1.0

    def test_everyone_reads_large_groups_by_number(self):
        reports = [report(40 + n, group="clinic-a") for n in range(5)]
        reports += [report(60 + n, group="clinic-b") for n in range(5)]
        public = joined(reports).public(5)
        assert list(public.groups) == ["1", "2"]
        assert public.groups["1"].change.value > public.groups["2"].change.value

    @pytest.mark.parametrize("rest", [1, 4])
    def test_no_group_is_shown_whose_complement_is_few_devices(self, rest):
        reports = [report(60, group="a") for _ in range(5)]
        reports += [report(40) for _ in range(rest)]
        assert joined(reports).public(5).groups == {}
        assert joined([*reports, *[report(40)] * (5 - rest)]).public(5).groups.keys() == {"1"}


def test_stored_scores_are_read_as_they_were():
    of = joined([report(40 + n, n=100 + n, group="ab"[n % 2]) for n in range(12)])
    assert Scores.from_json(of.to_json()) == of
