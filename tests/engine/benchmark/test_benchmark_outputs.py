"""Digests of what inferences give, and what counts as the same."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from runners.engine.benchmark import outputs
from runners.engine.benchmark.record import NOT_APPLICABLE


def of(*values):
    return outputs.fingerprint(list(values))


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.float32(1.5),
        np.zeros((0, 4), np.float32),
        np.array([1.5, 2.5], ml_dtypes.bfloat16),
        np.array(["a", "bc"], object),
        [{1: 0.5, 2: 0.25}, {1: 0.1, 2: 0.9}],
        np.array([True, False]),
    ],
)
def test_whatever_a_runtime_gives_has_a_digest_and_repeats_itself(value):
    found = of(value)
    assert len(found.sha256) == 64
    assert found.repeats(of(value))


def test_other_bytes_shapes_and_types_have_other_digests():
    base = np.arange(6, dtype=np.float32)
    others = [base + 1, base.reshape(2, 3), base.astype(np.float64), base.astype(np.int32)]
    assert len({of(one).sha256 for one in (base, *others)}) == 5
    assert not any(of(base).repeats(of(one)) for one in others)


def test_sums_in_another_order_are_the_same_and_other_numbers_are_not():
    base = np.linspace(-4, 4, 10_000, dtype=np.float32)
    assert of(base).repeats(of(base * np.float32(1.0001)))
    assert not of(base).repeats(of(base * np.float32(1.01)))
    nan = base.copy()
    nan[0] = np.nan
    assert of(nan).repeats(of(nan.copy()))
    assert not of(nan).repeats(of(base))


def test_what_is_asked_of_a_process():
    one, other, third = (of(np.full(3, value, np.float32)) for value in (1, 2, 3))
    assert outputs.summary((one, one), [one])["repeat"] == "yes"
    assert outputs.summary((one, one), [one, other]) == {
        "sha256": one.sha256,
        "repeat": "no",
        "tensors": [],
    }
    # The model itself draws at random: nothing is asked of it.
    assert outputs.summary((one, other), [third])["repeat"] == NOT_APPLICABLE
