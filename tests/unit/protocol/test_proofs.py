"""Proofs of upgrades: their strength, their sentence, and what is read of them."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from hub.protocol.input_ranges import InputRanges
from hub.protocol.node_certificates import NodeCertificate, SearchOutcome
from hub.protocol.proofs import (
    Branch,
    HiddenDifference,
    InvalidProofError,
    Output,
    Proof,
    RefusedInputs,
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
SEARCHED = NodeCertificate("Resize", "a" * 64, 2, SearchOutcome.CERTIFIED, covers=True, exact=True)
SPECIAL = NodeCertificate("Softmax", "b" * 64, 1, SearchOutcome.LIMITED, "NaN", covers=True)
NARROW = replace(SEARCHED, covers=False, reason="sides up to 257")
LOOP = NodeCertificate("Loop", "", 3, SearchOutcome.NO_KEY, "it holds a graph")
RANGES = InputRanges(32, 96, 4e4, 1e-38, -5, 12)
EMPTY = Output("z", "empty", unchanged=True)


def test_a_proof_by_runs_says_what_it_rests_on():
    assert WHOLE.strength == "sampled"
    assert WHOLE.sentence == (
        "equal on 3 bundled and 16 generated inputs, all 122 nodes ran, worst difference 2e-07 of "
        "noise 3e-07, judged by ONNX Runtime and the reference; no certificates of changed nodes "
        "recorded"
    )


@pytest.mark.parametrize(
    ("changes", "strength", "words"),
    [
        (
            {"branches": (MISSED,), "ran": 118},
            "partial",
            "then_branch of 'If_3' (If) never entered",
        ),
        ({"branches": (replace(MISSED, unchanged=True),)}, "sampled", "no operator changed there"),
        ({"branches": (replace(MISSED, reachable=False),)}, "sampled", "all 122 nodes ran"),
        ({"outputs": (Output("y", "empty"),)}, "partial", "output 'y' has no elements"),
        ({"outputs": (Output("y", "constant"),)}, "partial", "is the same on every input"),
        ({"outputs": (Output("y", "not-finite"),)}, "partial", "has no finite value"),
        ({"outputs": (Output("y", "independent"),)}, "sampled", "equal on"),
        (
            {"outputs": (Output("y", "compared", unseen=UnseenElements(8, 16, 4)),)},
            "partial",
            "8 of 16 elements of output 'y' have no finite value on any input, from element 4 on",
        ),
        ({"hidden": HiddenDifference("z", "Mul", 5.9)}, "partial", "values inside differ by 5.9"),
        ({"ran": None, "nodes": None}, "partial", "nodes that ran not recorded"),
        ({"judges": ("schema-registry",)}, "schema", "not run: no operator changed"),
        ({"certificates": (SEARCHED,)}, "certified", "all 2 changed nodes certified"),
        ({"certificates": (replace(SEARCHED, nodes=1),)}, "certified", "its one changed node"),
        ({"certificates": (SEARCHED,), "outputs": (*WHOLE.outputs, EMPTY)}, "certified", "equal"),
        ({"certificates": (SEARCHED,), "branches": (MISSED,)}, "partial", "never entered"),
        ({"certificates": ()}, "schema", "no operator changed"),
        (
            {"certificates": (SEARCHED, replace(SPECIAL, nodes=3))},
            "sampled",
            "all 5 changed nodes certified, 3 up to rounding",
        ),
        ({"certificates": (SPECIAL,)}, "sampled", "changed node certified up to rounding"),
        (
            {"certificates": (SEARCHED,), "refused": RefusedInputs(2, "no such size")},
            "partial",
            "2 inputs are refused by the original alone: no such size",
        ),
        (
            {"certificates": (SEARCHED, SPECIAL, LOOP)},
            "sampled",
            "3 of 6 changed nodes certified; Loop (3 nodes)",
        ),
        (
            {"certificates": (NARROW,)},
            "sampled",
            "Resize (2 nodes) certified for other inputs: sides up to 257",
        ),
        (
            {"ranges": RANGES},
            "sampled",
            "generated inputs, sides 32 to 96, |x| ≤ 4e+04, nonzero |x| ≥ 1e-38, integers -5 to 12",
        ),
        ({"ranges": InputRanges(largest=1.0)}, "sampled", "generated inputs, |x| ≤ 1, all 122"),
        ({"ranges": InputRanges()}, "sampled", "generated inputs, all 122"),
        ({"worst": 0.0}, "sampled", "no difference"),
        ({"noise": 0.0}, "sampled", "worst difference 2e-07 of rounding"),
        (
            {"tolerance": "0.001 relative"},
            "sampled",
            "worst difference 2e-07 within 0.001 relative",
        ),
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
        certificates=(SEARCHED, SPECIAL, LOOP),
        ranges=RANGES,
    )
    assert Proof.from_json(proof.to_json()) == proof


def test_a_row_of_the_earlier_method_keeps_its_evidence():
    stored = WHOLE.to_json() | {"method": 2}
    del stored["certificates"], stored["ranges"]
    proof = Proof.from_json(stored)
    assert proof == replace(WHOLE, method=2)
    assert proof.strength == "sampled"


@pytest.mark.parametrize(
    ("name", "row", "open_row"),
    [
        ("outputs", WHOLE.outputs[0], Output("z", "constant")),
        ("branches", replace(MISSED, taken=True), MISSED),
        ("certificates", SEARCHED, LOOP),
    ],
)
def test_of_too_many_rows_those_that_leave_something_open_are_written(name, row, open_row):
    proof = replace(WHOLE, certificates=(SEARCHED,))
    proof = replace(proof, **{name: (*[row] * 200, open_row)})
    read = Proof.from_json(proof.to_json())
    assert len(getattr(read, name)) == 200
    assert read.strength == proof.strength != "certified"


@pytest.mark.parametrize(
    "damage",
    [
        {"judges": "original"},
        {"nodes": -1},
        {"worst": float("nan")},
        {"outputs": [{"name": "y", "state": "proven"}]},
        {"branches": [{"node": "n"}]},
        {"bundled": True},
        {"certificates": [asdict(replace(LOOP, outcome=SearchOutcome.CERTIFIED))]},
        {"certificates": [asdict(replace(SEARCHED, key="A" * 64))]},
        {"certificates": [asdict(replace(SEARCHED, nodes=0))]},
        {"certificates": [asdict(SEARCHED) | {"outcome": "proven"}]},
        {"ranges": {"smallest_side": 5, "largest_side": 3}},
        {"ranges": {"smallest_side": -5, "largest_side": 3}},
        {"ranges": {"largest": -1.0}},
    ],
)
def test_what_is_no_proof_is_refused(damage):
    with pytest.raises(InvalidProofError):
        Proof.from_json(WHOLE.to_json() | damage)
    with pytest.raises(InvalidProofError):
        Proof.from_json(None)
