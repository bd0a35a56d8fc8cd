"""What an upgrade must show before it stands in for its original: four models that show nothing,
and what counts as evidence."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.protocol.proofs import Proof
from runners.engine.opsets import convert
from runners.engine.runs import agreement, noise
from runners.engine.runs.answers import Comparison, Prepared
from runners.engine.runs.attempts import Attempt, RunStatus
from runners.engine.runs.child_runs import ModelFile
from runners.engine.upgrades.parity import ParityCheck
from runners.engine.upgrades.results import ORIGINAL, ExpectedOutputs
from tests import samples
from tests.engine import evidence_models as hidden
from tests.engine.conftest import codes
from tests.engine.opset_models import floats, old, port, run
from tests.engine.upgrades.test_upgrade import results, upgraded

X = floats(*hidden.SHAPE)


def proof_of(report):
    return Proof.from_json(upgraded(report)["proof"])


def differs(model, x):
    """How far the values of the converted model lie from the original's, at most."""
    pairs = zip(run(model, {"x": x}), run(convert(model, 26).model, {"x": x}), strict=True)
    return max(np.abs(one.astype(float) - other).max() for one, other in pairs)


def far():
    return np.abs(X) * np.float32(hidden.FAR) + np.float32(2 * hidden.FAR)


# --- the four models ---


def test_the_values_that_are_hidden_do_differ():
    assert differs(hidden.plain(), X) > 1
    assert differs(hidden.hidden_by_quantisation(), X) > 1
    for model in (
        hidden.hidden_in_a_branch(),
        hidden.hidden_by_not_a_number(),
        hidden.hidden_by_emptiness(),
    ):
        assert differs(model, far()) > 1


def test_a_quantising_node_does_not_loosen_an_upgrade(lift):
    report, _ = lift(hidden.hidden_by_quantisation(), 26)
    assert (report.outcome, report.outputs, results(report)) == (
        "failed",
        [],
        [(26, "parity-lost")],
    )
    assert "more than the original's own noise" in report.findings[0].message


def test_a_branch_that_no_input_enters_is_no_full_proof(lift):
    report, _ = lift(hidden.hidden_in_a_branch(), 26)
    assert (codes(report), results(report)) == (["parity-partial"], [(26, "partial")])
    proof = proof_of(report)
    assert proof.strength == "partial"
    assert proof.gaps == ("then_branch of 'far' (If) never entered",)
    assert (proof.nodes - proof.ran, proof.nodes) == (4, 10)
    assert "6 of 10 nodes ran" in proof.sentence


def test_no_node_of_a_model_passes_for_a_branch_that_was_entered(lift):
    model = hidden.hidden_in_a_branch()
    for place, node in enumerate(model.graph.node[:-1]):
        node.name = f"hub.body.{place}"
    proof = proof_of(lift(model, 26)[0])
    assert proof.gaps == ("then_branch of 'far' (If) never entered",)


def test_functions_that_nobody_calls_are_no_nodes_that_ran(lift):
    model = old("Softmax", 9, {"x": floats(2, 3)}, ir=8)
    model.opset_import.append(helper.make_opsetid("lab", 1))
    inner = helper.make_node("Abs", ["a"], ["b"])
    imports = [helper.make_opsetid("", 9)]
    model.functions.append(helper.make_function("lab", "Unused", ["a"], ["b"], [inner], imports))
    assert proof_of(lift(model, 26)[0]).nodes == 1


def test_values_that_a_mask_keeps_from_every_output_are_compared_too(lift):
    model = hidden.hidden_by_a_mask()
    assert differs(model, X) == 0
    assert differs(model, far()) > 1
    report, _ = lift(model, 26)
    assert (codes(report), results(report)) == (["parity-partial"], [(26, "partial")])
    proof = proof_of(report)
    assert (proof.strength, proof.hidden.op) == ("partial", "Mul")
    assert "values inside differ by" in proof.sentence


def test_values_inside_are_compared_on_bundled_inputs_too(lift):
    """On generated inputs nothing differs, and the outputs never do."""
    model = hidden.hidden_but_for_one_number()
    x = np.minimum(np.abs(X) * 1000, 12000).astype(np.float32)
    x.flat[0] = 12345.5
    [y] = run(model, {"x": x})
    files = {"model.onnx": model.SerializeToString()}
    for name, value in (("input", x), ("output", y)):
        tensor = numpy_helper.from_array(value, {"input": "x", "output": "y"}[name])
        files[f"test_data_set_0/{name}_0.pb"] = tensor.SerializeToString()
    proof = proof_of(lift(files, 26)[0])
    assert (proof.bundled, proof.strength) == (1, "partial")
    assert "values inside differ by" in proof.sentence


def test_values_that_a_mask_in_a_loop_keeps_from_every_output_are_compared_too(lift):
    report, _ = lift(hidden.hidden_in_a_loop(), 26)
    assert (codes(report), results(report)) == (["parity-partial"], [(26, "partial")])
    proof = proof_of(report)
    assert (proof.strength, proof.hidden.op) == ("partial", "Mul")
    assert proof.inner > 1


def test_a_branch_that_other_inputs_enter_is_searched_for(lift):
    report, _ = lift(hidden.hidden_in_a_branch(threshold=5e5, by="ReduceMax"), 26)
    assert (report.outcome, results(report)) == ("failed", [(26, "parity-lost")])


def test_outputs_that_are_not_finite_prove_nothing(lift):
    report, _ = lift(hidden.hidden_by_not_a_number(), 26)
    assert (report.outcome, report.outputs, codes(report)) == ("passed", [], ["parity-not-proven"])
    assert [one.severity for one in report.findings] == ["warning"]
    assert "output 'y' has no finite value on any input" in report.findings[0].message


def test_elements_that_are_never_finite_are_named_and_no_evidence(lift):
    """Half of the output is compared, and the other half differs where nothing was tried."""
    report, _ = lift(hidden.hidden_by_half(), 26)
    assert (report.outcome, codes(report)) == ("passed", ["parity-partial"])
    proof = proof_of(report)
    [output] = proof.outputs
    assert (output.state, proof.strength) == ("compared", "partial")
    assert output.unseen.count * 2 == output.unseen.elements == output.unseen.first * 2
    assert "elements of output 'y' have no finite value on any input" in proof.sentence


def test_outputs_without_elements_prove_nothing(lift):
    report, _ = lift(hidden.hidden_by_emptiness(), 26)
    assert (report.outcome, report.outputs, codes(report)) == ("passed", [], ["parity-not-proven"])
    assert "output 'y' has no elements on any input" in report.findings[0].message


def test_outputs_that_no_input_moves_prove_nothing(lift):
    model = old("Softmax", 9, {"x": X}, ir=8)
    model.graph.node[0].output[0] = "soft"
    model.graph.node.append(helper.make_node("Mul", ["soft", "nought"], ["y0"]))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0), "nought"))
    report, _ = lift(model, 26)
    assert (report.outcome, codes(report)) == ("passed", ["parity-not-proven"])
    assert "output 'y0' is the same on every input" in report.findings[0].message


# --- what is said beside ---


def test_one_output_that_proves_nothing_is_named(lift):
    nodes = [
        helper.make_node("Softmax", ["x"], ["y"], axis=1),
        helper.make_node("Mul", ["y", "nought"], ["z"]),
    ]
    nought = numpy_helper.from_array(np.float32(0), "nought")
    ports = [port("y", (2, 3)), port("z", (2, 3))]
    model = samples.model(nodes, [port("x", (2, 3))], ports, [nought], opset=9)
    report, _ = lift(model, 26)
    proof = proof_of(report)
    assert [(one.name, one.state) for one in proof.outputs] == [
        ("y", "compared"),
        ("z", "constant"),
    ]
    assert (proof.strength, codes(report)) == ("partial", ["parity-partial"])


def test_what_did_not_run_may_stand_on_unchanged_operators(lift):
    """Neither branch holds an operator whose meaning changed from 17 to 26."""
    taken = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "t", [], [port("t", (2, 3))])
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "e", [], [port("e", (2, 3))])
    nodes = [
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
        helper.make_node("Sub", ["least", "far"], ["above"]),
        helper.make_node("Sub", ["far", "far"], ["nought"]),
        helper.make_node("Greater", ["above", "nought"], ["is_far"]),
        helper.make_node(
            "If", ["is_far"], ["y"], name="choice", then_branch=taken, else_branch=other
        ),
    ]
    stored = [numpy_helper.from_array(np.float32(hidden.FAR), "far")]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y", (2, 3))], stored, opset=17)
    report, _ = lift(model, 26)
    proof = proof_of(report)
    assert (proof.strength, codes(report)) == ("certified", [])
    assert (
        "then_branch of 'choice' (If) never entered (no operator changed there)" in proof.sentence
    )


def test_a_branch_behind_a_stored_condition_is_not_missed(lift):
    taken = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["t"], axis=1)], "t", [], [port("t", (2, 3))]
    )
    other = helper.make_graph(
        [helper.make_node("Hardmax", ["x"], ["e"], axis=1)], "e", [], [port("e", (2, 3))]
    )
    nodes = [helper.make_node("If", ["yes"], ["y"], then_branch=taken, else_branch=other)]
    stored = [numpy_helper.from_array(np.array(True), "yes")]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y", (2, 3))], stored, opset=11)
    proof = proof_of(lift(model, 26)[0])
    assert proof.strength == "certified"
    assert {(one.name, one.taken, one.reachable) for one in proof.branches} == {
        ("then_branch", True, True),
        ("else_branch", False, False),
    }


@pytest.mark.parametrize(("at", "reachable"), [(1, False), (0, True)])
def test_a_branch_that_fixed_sizes_rule_out_is_not_missed(lift, at, reachable):
    """The second size of x is 3 whatever is given; the first may be anything."""
    taken = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["t"], axis=1)], "t", [], [port("t", ("n", 3))]
    )
    other = helper.make_graph(
        [helper.make_node("Hardmax", ["x"], ["e"], axis=1)], "e", [], [port("e", ("n", 3))]
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "at"], ["size"], axis=0),
        helper.make_node("Equal", ["size", "three"], ["is_three"]),
        helper.make_node("If", ["is_three"], ["y"], then_branch=taken, else_branch=other),
    ]
    stored = [
        numpy_helper.from_array(np.array(at), "at"),
        numpy_helper.from_array(np.array(3), "three"),
    ]
    ports = [port("x", ("n", 3))], [port("y", ("n", 3))]
    proof = proof_of(lift(samples.model(nodes, *ports, stored, opset=11), 26)[0])
    assert {(one.name, one.taken, one.reachable) for one in proof.branches} == {
        ("then_branch", True, True),
        ("else_branch", reachable, reachable),
    }
    assert proof.strength == "certified"


def test_loops_tell_whether_they_ran_without_an_iteration(lift):
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["state", "state"], ["next"]),
        ],
        "body",
        [
            port("turn", (), TensorProto.INT64),
            port("go", (), TensorProto.BOOL),
            port("state", (2,)),
        ],
        [port("go_on", (), TensorProto.BOOL), port("next", (2,))],
    )
    nodes = [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body, name="again")]
    inputs = [port("count", (), TensorProto.INT64), port("x", (2,))]
    model = samples.model(nodes, inputs, [port("y", (2,))], opset=13)
    (branch,) = proof_of(lift(model, 26)[0]).branches
    assert (branch.op, branch.name, branch.taken, branch.nodes) == ("Loop", "body", True, 2)
    assert branch.zero in {True, False}


def test_inputs_follow_what_the_card_declares(lift):
    """Far values enter the branch at once where the card says that they are usual."""
    model = hidden.hidden_in_a_branch()
    report, _ = lift(model, 26, inputs={"x": {"range": [2e7, 3e7]}})
    assert (report.outcome, results(report)) == ("failed", [(26, "parity-lost")])


def test_a_branch_beyond_what_the_card_declares_is_entered(lift):
    """It takes half as many samples as the branch of the declared rate."""
    rates = {"type": "one-of", "values": [16000]}
    declared = {"x": {"shape": [1, 8]}, "rate": {"distribution": rates}}
    proof = proof_of(lift(hidden.branch_for_another_rate(), 26, inputs=declared)[0])
    assert all(branch.taken for branch in proof.branches)
    assert (len(proof.branches), proof.gaps) == (2, ())
    assert "declared and" in proof.sentence


def test_an_example_on_the_card_is_run(lift):
    example = io.BytesIO()
    np.save(example, far())
    files = {
        "model.onnx": hidden.hidden_in_a_branch().SerializeToString(),
        "examples/far.npy": example.getvalue(),
    }
    report, _ = lift(files, 26, inputs={"x": {"example": "examples/far.npy"}})
    assert (report.outcome, results(report)) == ("failed", [(26, "parity-lost")])


def test_declared_inputs_are_counted_as_such(lift):
    model = old("Softmax", 9, {"x": floats(2, 3)}, ir=8)
    proof = proof_of(lift(model, 26, inputs={"x": {"range": [0, 255]}})[0])
    assert (proof.declared, proof.generated) == (10, 0)
    assert proof.sentence.startswith("equal on 10 declared inputs, |x| ≤ 2.6e+02, ")


# --- the noise ---


def judged(runs, actual):
    figures, spread = noise.judge("y", [np.array(one, np.float32) for one in runs], actual)
    return figures.agrees, spread


def test_differences_within_the_originals_own_noise_are_allowed():
    base, other = np.ones(20), np.ones(20) + 1e-4
    assert judged([base, other], np.float32(base + 1.5e-4)) == (True, pytest.approx(1e-4, rel=1e-2))
    assert judged([base, other], np.float32(base + 1e-3))[0] is False


def test_without_noise_only_roundings_are_allowed():
    base = np.linspace(0.5, 1, 20)
    assert judged([base, base], np.float32(base * (1 + 3e-7))) == (True, 0.0)
    assert judged([base, base], np.float32(base * (1 + 1e-5)))[0] is False


def test_the_noise_of_large_values_excuses_no_others():
    """A row of an output with a large noise, and one with none."""
    base = np.stack([np.full(32, 1e6), np.ones(32)])
    noisy = base + np.stack([np.full(32, 1.0), np.zeros(32)])
    wrong = base + np.stack([np.zeros(32), np.full(32, 0.5)])
    assert judged([base, noisy], np.float32(wrong))[0] is False
    assert judged([base, noisy], np.float32(base + (noisy - base) / 2))[0] is True


@pytest.mark.parametrize(
    ("expected", "actual", "agrees"),
    [
        ([1, 2], [1, 3], False),
        (["a"], ["a"], True),
        (["a"], ["b"], False),
        ([True], [False], False),
        ([np.nan, np.inf], [np.nan, np.inf], True),
        ([np.nan], [0.0], False),
        ([0.0], [np.nan], False),
    ],
)
def test_what_has_no_noise_must_be_equal(expected, actual, agrees):
    left, right = np.array(expected), np.array(actual)
    if left.dtype.kind == "U":
        left, right = left.astype(object), right.astype(object)
    assert noise.judge("y", [left, left], right)[0].agrees is agrees


def test_an_integer_that_the_original_itself_changes_may_be_either():
    runs = [np.array([3, 5]), np.array([3, 7])]
    assert noise.judge("y", runs, np.array([3, 7]))[0].agrees
    assert not noise.judge("y", runs, np.array([3, 6]))[0].agrees


class Runs:
    """Runs of an original and its new form, and whether they are equal by each profile."""

    def __init__(self, is_exact, is_close):
        self._agrees = {agreement.EXACT.name: is_exact, agreement.FP32.name: is_close}

    def attempt(self, runtime, origin, *, optimise, model_file=None, tag=""):
        assert not optimise
        return Attempt(RunStatus.RAN, Path(tag or "original"), sets=1)

    def compare(self, expected, actual, profile):
        return Comparison(["test_data_set_0"], self._agrees[profile], [], "")


@pytest.mark.parametrize(
    ("is_exact", "is_close", "is_equal"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_passes_that_fuse_otherwise_are_no_difference_of_the_model(is_exact, is_close, is_equal):
    """Both forms are equal without optimisation, and close with it; the proof is no exact one."""
    check = ParityCheck.__new__(ParityCheck)
    check.subject, check.notes = Runs(is_exact, is_close), []
    check.subject.prepared = Prepared()
    check.is_fused_otherwise = False
    place = Path("generated")
    expected = ExpectedOutputs("generated", place, place, ORIGINAL, 1)
    attempt = Attempt(RunStatus.RAN, place, sets=1)
    result = check._as_written(expected, attempt, ModelFile(place, place), "opset26")
    assert (result is not None, check.is_fused_otherwise) == (is_equal, is_equal)


def test_sequences_and_maps_are_held_part_by_part():
    runs = [{"a": np.ones(20, np.float32), "b": np.ones(20, np.float32)}]
    near = {"a": np.ones(20, np.float32), "b": np.ones(20, np.float32) + np.float32(1e-3)}
    assert noise.judge("y", runs, runs[0])[0].agrees
    assert not noise.judge("y", runs, near)[0].agrees
    assert not noise.judge("y", [[runs[0]["a"]]], [])[0].agrees


def test_a_node_whose_certificate_does_not_come_with_the_hub_is_searched(lift):
    report, _ = lift(old("Clip", 10, {"x": X}, ir=8, min=-0.123, max=4.567), 26)
    (row,) = proof_of(report).certificates
    assert (row.op, row.outcome, row.covers) == ("Clip", "certified", True)
    (searched,) = report.facts["certificates"]
    assert searched["key"] == row.key
    assert searched["runs"] > 100


def test_values_beyond_what_a_certificate_covers_make_a_proof_sampled(lift):
    """Sums of values near the largest of the type overflow or not by the order of additions."""
    nodes = [
        helper.make_node("Mul", ["x", "far"], ["z"]),
        helper.make_node("AveragePool", ["z"], ["y"], kernel_shape=[2, 2]),
    ]
    stored = [numpy_helper.from_array(np.float32(1e35), "far")]
    ports = [port("x", (1, 2, 4, 4))], [port("y", (1, 2, 3, 3))]
    model = samples.model(nodes, *ports, stored, opset=9)
    proof = proof_of(lift(model, 26, inputs={"x": {"range": [-1, 1]}})[0])
    (row,) = proof.certificates
    assert (row.op, row.outcome, row.covers) == ("AveragePool", "limited", False)
    assert proof.strength == "sampled"
    assert "AveragePool certified for other inputs: only for values up to" in proof.sentence


def test_a_difference_beyond_the_declared_range_keeps_a_proof_from_certified(lift):
    """ReduceLogSumExp of opset 28 overflows in ONNX Runtime 1.32 where that of 18 does not."""
    node = helper.make_node("ReduceLogSumExp", ["x"], ["y"], keepdims=1)
    model = samples.model([node], [port("x", ("n", 6))], [port("y", None)], opset=18)
    proof = proof_of(lift(model, 28, inputs={"x": {"range": [-1, 1]}})[0])
    assert proof.strength == "sampled"
    assert proof.ranges.largest <= 1
    assert "ReduceLogSumExp differs when run alone" in proof.sentence


def test_inputs_that_the_original_alone_refuses_make_a_proof_partial(lift):
    """Up to opset 17, Split refuses a size that its outputs do not divide."""
    node = helper.make_node("Split", ["x"], ["a", "b"], axis=0)
    ports = [port("x", ("n", 3))], [port("a", None), port("b", None)]
    proof = proof_of(lift(samples.model([node], *ports, opset=13), 26)[0])
    assert proof.strength == "partial"
    assert proof.refused.count >= 2
    assert "inputs are refused by the original alone: " in proof.sentence
    assert "split evenly" in proof.sentence
