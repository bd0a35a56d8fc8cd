"""The rules that combine contributions, to the last value, on numbers that a person can check."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest

from hub.protocol.federated import Part
from hub.protocol.training_rules import Rules
from runners.engine.federated import aggregation, batch_statistics, noise, optimisers, robust


def gram(*places):
    column = np.array([[float(place)] for place in places])
    return column @ column.T


@pytest.mark.parametrize(
    ("places", "attackers", "selection"),
    [
        # With one neighbour more the last would go instead of the first.
        ((0, 1, 5, 6, 8), 0.2, (0, 1, 1, 1, 1)),
        # With one neighbour more the first would go instead of the fifth.
        ((0, 1, 2, 4, 7, 8, 12), 0.29, (1, 1, 1, 1, 0, 1, 0)),
        ((0, 1, 2, 3, 100), 0.2, (1, 1, 1, 1, 0)),
        # K >= 2f + 3 bears one attacker among six, however many are feared.
        ((0, 1, 2, 3, 50, 100), 0.45, (1, 1, 1, 1, 1, 0)),
        # Too few to leave anybody out.
        ((0, 1, 100), 0.4, (1, 1, 1)),
    ],
)
def test_multi_krum_goes_by_the_nearest_neighbours(places, attackers, selection):
    assert tuple(robust.multi_krum(gram(*places), attackers)) == selection


@pytest.mark.parametrize(
    ("trim", "mean"),
    [
        (0.0, (0 + 1 + 2 + 10 + 100) / 5),
        (0.19, (0 + 1 + 2 + 10 + 100) / 5),
        (0.2, (1 + 2 + 10) / 3),
        (0.3, (1 + 2 + 10) / 3),  # 1.5 of five values is one, never two
        (0.39, (1 + 2 + 10) / 3),
        (0.4, 2.0),
        (0.49, 2.0),
    ],
)
def test_a_trimmed_mean_leaves_out_whole_values_and_no_more(trim, mean):
    for order in itertools.islice(itertools.permutations((0.0, 1.0, 2.0, 10.0, 100.0)), 0, 120, 7):
        rows = np.array([[value] for value in order])
        assert robust.trimmed_mean(rows, trim) == pytest.approx([mean], rel=1e-15)


@pytest.mark.parametrize("count", range(1, 10))
def test_the_median_is_the_middle_value_or_the_mean_of_two(count):
    rows = np.random.default_rng(count).standard_normal((count, 40))
    expected = [statistics.median(column) for column in rows.T.tolist()]
    assert robust.median(rows.copy()).tolist() == expected


def test_the_geometric_median_stays_with_the_many():
    weights = robust.geometric_median(gram(3, 3, 3, 1000), 20)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ np.array([3.0, 3.0, 3.0, 1000.0]) == pytest.approx(3.0, abs=1e-6)
    assert robust.geometric_median(gram(0, 1), 10).tolist() == [0.5, 0.5]


def test_at_the_geometric_median_the_pulls_of_all_points_cancel():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [5.0, 6.0]])
    middle = robust.geometric_median(points @ points.T, 500) @ points
    pulls = (points - middle) / np.linalg.norm(points - middle, axis=1, keepdims=True)
    assert np.linalg.norm(pulls.sum(axis=0)) < 1e-6


def test_noise_is_normal_and_of_its_seed_and_place_alone():
    made = noise.normal(b"seed", "w", 100_001)
    assert np.array_equal(made, noise.normal(b"seed", "w", 100_001))
    assert made.shape == (100_001,)
    assert abs(made.mean()) < 0.02
    assert made.std() == pytest.approx(1.0, rel=0.02)
    for other in (noise.normal(b"Seed", "w", 100_001), noise.normal(b"seed", "b", 100_001)):
        assert abs(np.corrcoef(made, other)[0, 1]) < 0.02


def members(*figures):
    """Members of (examples, norm, staleness)."""
    return [
        aggregation.Member(
            id=f"p{place}", update=None, examples=examples, staleness=staleness,
            norms={"trainable": norm, "statistic": norm},
        )
        for place, (examples, norm, staleness) in enumerate(figures)
    ]  # fmt: skip


def weighed(rows, **rules):
    rules = Rules.from_json({"clip_multiple": None, **rules})
    part = Part("w", "F32", (1,), "trainable")
    job = aggregation.Round([part], rules, base=None, members=rows, history=[])
    medians = aggregation._medians(rows)
    limit = aggregation._limit(job, medians)
    job = aggregation.Round(
        [part], rules, base=None, members=aggregation._clipped(job, limit), history=[]
    )
    return aggregation._weighed(job)


def test_a_weight_is_the_count_of_examples():
    made = weighed(members((10, 1, 0), (30, 1, 0)), examples_multiple=None)
    assert [one.weight for one in made] == [10.0, 30.0]


def test_claims_are_capped_at_a_multiple_of_the_lower_median():
    rows = members((10, 1, 0), (20, 1, 0), (30, 1, 0), (10_000, 1, 0))
    made = weighed(rows, examples_multiple=2.5, examples_cap=10_000)
    assert [one.examples for one in made] == [10, 20, 30, 50]
    made = weighed(rows, examples_multiple=2.5, examples_cap=25)
    assert [one.examples for one in made] == [10, 20, 25, 25]


def test_an_update_that_is_too_long_is_shortened_to_the_limit_and_no_other():
    made = weighed(members((1, 1, 0), (1, 2, 0), (1, 8, 0)), clip_norm=2.0)
    assert [one.scale for one in made] == [1.0, 1.0, 0.25]
    made = weighed(members((1, 1, 0), (1, 2, 0), (1, 8, 0)), clip_multiple=1.5)
    assert [one.scale for one in made] == [1.0, 1.0, 3 / 8]


def test_the_older_a_base_the_less_its_update_weighs():
    made = weighed(members((10, 1, 0), (10, 1, 3)), staleness_exponent=0.5)
    assert [one.weight for one in made] == [10.0, 5.0]


def test_a_variance_stays_within_a_factor_of_the_median():
    rows = np.array([[1.0, 0.0], [4.0, 0.0], [2.0, 0.0], [1000.0, 3.0], [-1000.0, -3.0]])
    bounded, distances = batch_statistics.bound(rows, is_variance=True)
    assert bounded[:, 0].tolist() == [1.0, 4.0, 2.0, 4.0, 1.0]
    assert distances[:, 0].tolist() == [-1.0, 1.0, 0.0, 1.0, -1.0]
    # Where most devices have none, nobody has any.
    assert not bounded[:, 1].any()
    assert not distances[:, 1].any()


def test_a_mean_stays_within_two_median_distances_of_the_median():
    rows = np.array([[1.0], [2.0], [4.0], [5.0], [1e30]])
    bounded, distances = batch_statistics.bound(rows, is_variance=False)
    # The median is 4, and the distances from it are 3, 2, 0, 1 and very many: 2 in the middle.
    assert bounded[:, 0].tolist() == [1.0, 2.0, 4.0, 5.0, 8.0]
    assert distances[:, 0].tolist() == [-0.75, -0.5, 0.0, 0.25, 1.0]


TAU, BETA1, BETA2, RATE = 0.01, 0.8, 0.9, 0.5
# How each optimiser renews its second moment from the one before and the mean.
SECOND_MOMENTS = {
    "fedadam": lambda v, x: BETA2 * v + (1 - BETA2) * x * x,
    "fedyogi": lambda v, x: v - (1 - BETA2) * x * x * np.sign(v - x * x),
    "fedadagrad": lambda v, x: v + x * x,
}


@pytest.mark.parametrize("rule", ["fedadam", "fedyogi", "fedadagrad"])
def test_adaptive_optimisers_follow_reddi_and_others(rule):
    """Algorithm 2 of Adaptive Federated Optimization (ICLR 2021)."""
    parameters = {"rate": RATE, "beta1": BETA1, "beta2": BETA2, "tau": TAU}
    if rule == "fedadagrad":
        del parameters["beta2"]
    rules = Rules.from_json({"rule": rule, "parameters": parameters})
    memory = {
        slot: np.full(3, optimisers.beginning(rules, slot)) for slot in optimisers.slots(rules)
    }
    first, second = 0.0, TAU**2
    for mean in (np.array([1e-3, -0.2, 3.0]), np.array([2e-3, 0.1, -1.0])):
        first = BETA1 * first + (1 - BETA1) * mean
        second = SECOND_MOMENTS[rule](second, mean)
        expected = RATE * first / (np.sqrt(second) + TAU)
        np.testing.assert_allclose(optimisers.step(rules, mean, memory), expected, rtol=1e-12)


def test_momentum_adds_what_went_before():
    rules = Rules.from_json({"rule": "fedavgm", "parameters": {"rate": 0.5, "momentum": 0.9}})
    memory = {
        slot: np.full(1, optimisers.beginning(rules, slot)) for slot in optimisers.slots(rules)
    }
    steps = [optimisers.step(rules, np.array([1.0]), memory)[0] for _ in range(3)]
    assert steps == pytest.approx([0.5, 0.5 * 1.9, 0.5 * 2.71])
