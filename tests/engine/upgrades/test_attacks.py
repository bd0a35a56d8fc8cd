"""Upgrades that are wrong behind gates which generated inputs seldom open are never the default."""

from __future__ import annotations

import numpy as np
import pytest

from hub.protocol.proofs import SUFFICIENT, Proof, Strength
from runners.engine.opsets import convert
from tests.engine import attack_models, hidden_attack_models
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
BAND = OPENING["within_a_narrow_band"]["x"]
BAND.flat[0] = 12345.5
OPENING |= {
    "a_branch_within_a_branch": {"x": BAND},
    "a_late_turn_of_a_loop": {"x": X, "k": np.array(1001)},
    "a_state_that_grows": {"x": BAND / 4},
    "a_condition_that_ends_a_loop": {"x": BAND},
    "one_row_of_a_scan": {"x": X, "rows": np.full((3, 2), 12345.5, np.float32)},
    "a_sequence_of_23": {"x": X, "parts": [ROWS] * 23},
    "an_empty_sequence": {"x": X, "parts": []},
    "an_element_of_61_rows": {"x": X, "parts": [np.ones((61, 2), np.float32)]},
    "an_optional_without_a_value": {"x": X, "maybe": None},
    "an_element_of_a_sequence_that_is_made": {"x": BAND},
    "refused_but_for_a_band": {"x": BAND},
    "refused_but_for_one_integer": {"x": X, "k": np.array([123_457])},
    "refused_but_for_61_rows": {"x": X, "rows": np.ones((61, 2), np.float32)},
    "refused_but_above_any_sweep": OPENING["above_any_sweep"],
}
HIDDEN = hidden_attack_models.ATTACKS
ATTACKS = attack_models.ATTACKS | HIDDEN


def difference(model, feeds):
    pairs = zip(run(model, feeds), run(convert(model, 26).model, feeds), strict=True)
    return max(np.nanmax(np.abs(before.astype(float) - after)) for before, after in pairs)


@pytest.mark.parametrize("name", OPENING)
def test_an_open_gate_shows_the_difference(name):
    assert difference(ATTACKS[name](), OPENING[name]) > 1


@pytest.mark.parametrize("name", attack_models.ATTACKS)
def test_no_such_upgrade_is_chosen_by_default(lift, name):
    report, _ = lift(ATTACKS[name](), 26)
    if report.outcome == "failed":
        assert [finding.code for finding in report.findings] == ["parity-lost"]
        return
    proof = Proof.from_json(upgraded(report)["proof"])
    assert proof.strength not in SUFFICIENT[Strength.CERTIFIED]
    assert "up to rounding" in proof.sentence or "certified for other inputs" in proof.sentence


REFUSED = "indices element out of data bounds"
UP_TO_ROUNDING = "certified, 1 up to rounding"


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("a_branch_within_a_branch", "parity-partial", "then_branch of 'inner' (If) never entered"),
        ("a_late_turn_of_a_loop", "parity-partial", "output 'y' is the same on every input"),
        ("a_state_that_grows", "", UP_TO_ROUNDING),
        ("a_condition_that_ends_a_loop", "parity-partial", "'y' is the same on every input"),
        ("one_row_of_a_scan", "parity-not-proven", "output 'y' is the same on every input"),
        ("a_sequence_of_23", "", UP_TO_ROUNDING),
        ("an_empty_sequence", "", UP_TO_ROUNDING),
        ("an_element_of_61_rows", "", UP_TO_ROUNDING),
        ("an_optional_without_a_value", "", "OptionalHasElement not searched"),
        ("an_element_of_a_sequence_that_is_made", "", UP_TO_ROUNDING),
        ("refused_but_for_a_band", "parity-not-proven", REFUSED),
        ("refused_but_for_one_integer", "parity-lost", "differ by more than the original's own"),
        ("refused_but_for_61_rows", "parity-not-proven", REFUSED),
        ("refused_but_above_any_sweep", "parity-not-proven", REFUSED),
        ("refused_always", "parity-not-proven", REFUSED),
    ],
)
def test_no_hidden_attack_is_chosen_by_default_and_each_says_why(lift, name, code, reason):
    report, _ = lift(HIDDEN[name](), 26)
    assert [finding.code for finding in report.findings] == ([code] if code else [])
    if not report.outputs:
        assert reason in report.findings[0].message
        return
    proof = Proof.from_json(upgraded(report)["proof"])
    assert proof.strength not in SUFFICIENT[Strength.CERTIFIED]
    assert reason in proof.sentence


def test_every_hidden_attack_stands_in_a_test():
    [mark] = test_no_hidden_attack_is_chosen_by_default_and_each_says_why.pytestmark
    assert [name for name, *_ in mark.args[1]] == list(HIDDEN)
