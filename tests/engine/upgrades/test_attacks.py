"""Upgrades that are wrong behind gates which generated inputs seldom open are never the default."""

from __future__ import annotations

import numpy as np
import pytest

from hub.protocol.proofs import SUFFICIENT, Proof, Strength
from runners.engine.opsets import convert
from tests.engine import attack_models
from tests.engine.attack_models import ATTACKS
from tests.engine.opset_models import floats, run
from tests.engine.upgrades.test_upgrade import upgraded

ROWS = np.ones((3, 2), np.float32)
X = floats(*attack_models.SHAPE)
# Inputs that open the gate of each kind of model.
OPENING = {
    "above_any_sweep": {"x": np.abs(X) * np.float32(1e35) + np.float32(2e36)},
    "within_a_narrow_band": {"x": np.minimum(np.abs(X) * 1000, 12000).astype(np.float32)},
    "exactly_61_rows": {"x": X, "rows": np.ones((61, 2), np.float32)},
    "a_multiple_of_11_rows": {"x": X, "rows": np.ones((22, 2), np.float32)},
    "a_timestamp": {"x": X, "k": np.array([1_764_288_000], np.int64)},
    "one_integer_alone": {"x": X, "k": np.array([123_457], np.int64)},
    "for_not_a_number": {"x": X, "rows": ROWS * np.float32("nan")},
    "for_infinity": {"x": X, "rows": ROWS * np.float32("inf")},
}
OPENING["within_a_narrow_band"]["x"].flat[0] = 12345.5


def difference(model, feeds):
    before, after = (run(one, feeds)[0] for one in (model, convert(model, 26).model))
    return np.nanmax(np.abs(before.astype(float) - after))


@pytest.mark.parametrize("name", OPENING)
def test_an_open_gate_shows_the_difference(name):
    assert difference(ATTACKS[name](), OPENING[name]) > 1


@pytest.mark.parametrize("name", ATTACKS)
def test_no_such_upgrade_is_chosen_by_default(lift, name):
    report, _ = lift(ATTACKS[name](), 26)
    if report.outcome == "failed":
        assert [finding.code for finding in report.findings] == ["parity-lost"]
        return
    proof = Proof.from_json(upgraded(report)["proof"])
    assert proof.strength not in SUFFICIENT[Strength.CERTIFIED]
    assert "up to rounding" in proof.sentence or "certified for other inputs" in proof.sentence
