"""Fits of latencies: what they find again, how far off they say they are, when they say nothing."""

from __future__ import annotations

import math
import random

import pytest

from runners.benchmarks import regression
from runners.benchmarks.cost_features import COLUMNS, Features

WEIGHTS = (2e-8, 1e-7, 3e-8, 0.0, 4e-8, 5e-8, 2e-7, 1e-7, 1e-7, 2e-4, 5e-3)


def features(seed, operators=("Conv", "Relu")):
    """The work of a made-up model."""
    draw = random.Random(seed)
    columns = [math.exp(draw.uniform(8, 18)) for _ in COLUMNS[:-2]]
    return Features((*columns, float(draw.randint(1, 300)), 1.0), frozenset(operators))


def latency(one, noise=1.0):
    return noise * sum(w * x for w, x in zip(WEIGHTS, one.columns, strict=True))


@pytest.mark.parametrize("weights", [WEIGHTS, WEIGHTS[::-1]])
def test_what_follows_the_columns_exactly_is_found_again(weights):
    models = [features(seed) for seed in range(40)]
    took = [sum(w * x for w, x in zip(weights, one.columns, strict=True)) for one in models]
    fit = regression.fit(models, took)
    assert fit.factor == pytest.approx(1, abs=0.02)
    assert all(weight >= 0 for weight in fit.weights)
    between = next(one for one in map(features, range(100, 200)) if fit.predict(one))
    p50, low, high = fit.predict(between)
    true = sum(w * x for w, x in zip(weights, between.columns, strict=True))
    assert p50 == pytest.approx(true, rel=0.02)
    assert low <= p50 <= high


def test_the_interval_holds_about_the_share_that_it_says_of_models_never_seen():
    draw = random.Random(7)
    held = shown = 0
    for trial in range(12):
        seeds = range(1000 * trial, 1000 * trial + 40)
        models = [features(seed) for seed in seeds]
        took = [latency(one, math.exp(draw.gauss(0, 0.4))) for one in models]
        fit = regression.fit(models[:30], took[:30])
        for one, true in zip(models[30:], took[30:], strict=True):
            if predicted := fit.predict(one):
                shown += 1
                held += predicted[1] <= true <= predicted[2]
    assert shown > 80
    assert 0.7 <= held / shown <= 0.95


def test_too_few_models_give_no_fit():
    models = [features(seed) for seed in range(regression.LEAST_MODELS - 1)]
    assert regression.fit(models, list(map(latency, models))) is None
    models.append(features(99))
    assert regression.fit(models, list(map(latency, models))) is not None
    assert regression.fit([], []) is None


def test_a_model_unlike_all_others_tells_nothing_of_the_error():
    models = [features(seed) for seed in range(regression.LEAST_MODELS)]
    alone = features(50, ("LSTM",))
    took = list(map(latency, models))
    assert set(regression.held_out([*models, alone], [*took, 1e4])) == set(range(len(models)))
    assert regression.fit([*models[1:], alone], [*took[1:], 1e4]) is None


def test_nothing_is_predicted_for_unknown_operators_or_beyond_what_was_measured():
    models = [features(seed) for seed in range(20)]
    fit = regression.fit(models, list(map(latency, models)))
    middle = sorted(models, key=latency)[10]
    assert fit.predict(middle) is not None
    assert fit.predict(Features(middle.columns, middle.operators | {"LSTM"})) is None
    for factor in (1e3, 1e-6):
        columns = tuple(factor * one for one in middle.columns)
        assert fit.predict(Features(columns, middle.operators)) is None


def test_errors_that_say_nothing_give_no_fit():
    draw = random.Random(3)
    models = [features(seed) for seed in range(20)]
    took = [latency(one, math.exp(draw.uniform(-12, 12))) for one in models]
    assert regression.fit(models, took) is None
