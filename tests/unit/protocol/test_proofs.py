"""Proofs of upgrades: their strength, their sentence, and what is read of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hub.protocol.proofs import (
    Branch,
    HiddenDifference,
    InvalidProofError,
    Output,
    Proof,
    UnseenElements,
)

WHOLE = Proof(
    judges=("original", "reference"),
    bundled=3,
    generated=16,
    nodes=122,
    ran=122,
    worst=2e-7,
    noise=3e-7,
    outputs=(Output("y", "compared", 2e-7, 3e-7),),
)
MISSED = Branch("If_3", "If", "then_branch", 4, taken=False)


def test_a_full_proof_says_what_it_rests_on():
    assert WHOLE.strength == "full"
    assert WHOLE.sentence == (
        "equal on 3 bundled and 16 generated inputs, all 122 nodes ran, worst difference 2e-07 of "
        "noise 3e-07, judged by ONNX Runtime and the reference"
    )


@pytest.mark.parametrize(
    ("changes", "strength", "words"),
    [
        (
            {"branches": (MISSED,), "ran": 118},
            "partial",
            "then_branch of 'If_3' (If) never entered",
        ),
        ({"branches": (replace(MISSED, unchanged=True),)}, "schema", "no operator changed there"),
        ({"branches": (replace(MISSED, reachable=False),)}, "full", "all 122 nodes ran"),
        ({"outputs": (Output("y", "empty"),)}, "partial", "output 'y' has no elements"),
        ({"outputs": (Output("y", "constant"),)}, "partial", "is the same on every input"),
        ({"outputs": (Output("y", "not-finite"),)}, "partial", "has no finite value"),
        ({"outputs": (Output("y", "independent"),)}, "full", "equal on"),
        (
            {"outputs": (Output("y", "compared", unseen=UnseenElements(8, 16, 4)),)},
            "partial",
            "8 of 16 elements of output 'y' have no finite value on any input, from element 4 on",
        ),
        ({"hidden": HiddenDifference("z", "Mul", 5.9)}, "partial", "values inside differ by 5.9"),
        ({"ran": None, "nodes": None}, "partial", "nodes that ran not recorded"),
        ({"judges": ("schema-registry",)}, "schema", "not run: no operator changed"),
        ({"worst": 0.0}, "full", "no difference"),
        ({"noise": 0.0}, "full", "worst difference 2e-07 of rounding"),
        ({"tolerance": "0.001 relative"}, "full", "worst difference 2e-07 within 0.001 relative"),
    ],
)
def test_the_strength_follows_from_the_evidence(changes, strength, words):
    proof = replace(WHOLE, **changes)
    assert proof.strength == strength
    assert words in proof.sentence


def test_outputs_without_evidence_prove_nothing():
    assert not WHOLE.proves_nothing
    assert replace(WHOLE, outputs=()).proves_nothing
    assert replace(WHOLE, outputs=(Output("y", "empty"), Output("z", "constant"))).proves_nothing
    assert not replace(WHOLE, outputs=(Output("y", "empty", unchanged=True),)).proves_nothing


def test_what_is_written_is_read():
    proof = replace(
        WHOLE,
        branches=(MISSED, replace(MISSED, zero=True, op="Loop")),
        inner=12,
        hidden=HiddenDifference("z", "Mul"),
    )
    assert Proof.from_json(proof.to_json()) == proof


@pytest.mark.parametrize(
    "damage",
    [
        {"judges": "original"},
        {"nodes": -1},
        {"worst": float("nan")},
        {"outputs": [{"name": "y", "state": "proven"}]},
        {"branches": [{"node": "n"}]},
        {"bundled": True},
    ],
)
def test_what_is_no_proof_is_refused(damage):
    with pytest.raises(InvalidProofError):
        Proof.from_json(WHOLE.to_json() | damage)
    with pytest.raises(InvalidProofError):
        Proof.from_json(None)
