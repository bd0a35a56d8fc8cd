"""The task "upgrade" in the sandbox: targets, judges, steps down, and honest failures."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from hub.protocol.proofs import Proof
from hub.protocol.runtime_builds import PORTABLE
from runners.engine.onnx_files.datasets import DataSet, write
from runners.engine.reports import OutputFile
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runtimes import probing
from runners.engine.upgrades import candidates, goals
from runners.engine.upgrades.answers import Survey
from runners.engine.upgrades.goals import Goal
from tests import samples
from tests.engine.conftest import codes
from tests.engine.opset_models import close, floats, old, port, run

X = floats(2, 3)


def results(report):
    return [(step["target"], step["result"]) for step in report.facts["steps"]]


def upgraded(report):
    """Give the one file that the upgrade made, as its report has it."""
    (row,) = report.facts["variants"]
    return row


def data_set(model, feeds, expected):
    """Give the files of one bundled data set."""
    files = {}
    for side, ports, values in (
        ("input", model.graph.input, feeds),
        ("output", model.graph.output, expected),
    ):
        for k, (one, array) in enumerate(zip(ports, values, strict=True)):
            raw = numpy_helper.from_array(array, one.name).SerializeToString()
            files[f"test_data_set_0/{side}_{k}.pb"] = raw
    return files


def test_the_highest_target_that_the_runtime_runs(lift):
    model = old("Softmax", 9, {"x": X}, ir=8)
    report, made = lift(model)
    assert (report.outcome, codes(report)) == ("passed", [])
    assert report.facts["source"] == 9
    facts = upgraded(report)
    assert facts["rules"] == ["softmax-flattened"]
    assert results(report) == [(facts["target"], "equal")]
    assert facts["described"]["opset"] == facts["target"] == probing.highest()[0]
    assert facts["parity"]["judges"] == ["original", "reference"]
    assert facts["parity"]["datasets"] == {"generated": 4, "varied": 6, "swept": 5}
    assert facts["parity"]["worst"]["max_abs"] == 0
    proof = Proof.from_json(facts["proof"])
    assert (proof.strength, proof.generated, proof.nodes, proof.ran) == ("certified", 15, 1, 1)
    assert len({row["dataset"] for row in report.measures}) == 15
    assert all(row["agrees"] for row in report.measures)
    assert report.outputs == [OutputFile(f"model.opset{facts['target']}.onnx")]
    new = onnx.load(made / report.outputs[0].name)
    close(run(new, {"x": X}), run(model, {"x": X}))


def test_already_there_is_no_success_story(lift):
    report, _ = lift(old("Relu", 17, {"x": X}, ir=8), 17)
    assert (report.outcome, report.outputs, report.measures) == ("passed", [], [])
    assert report.facts == {"source": 17, "steps": [], "variants": []}


def test_a_downgrade_on_request(lift):
    constants = {"axes": np.array([0], np.int64)}
    model = old("Unsqueeze", 17, {"x": X, **constants}, constants=constants, ir=8)
    report, made = lift(model, 11)
    assert (report.outcome, results(report)) == ("passed", [(11, "equal")])
    assert report.outputs == [OutputFile("model.opset11.onnx")]
    close(run(onnx.load(made / "model.opset11.onnx"), {"x": X}), [X[None]])


def test_a_second_file_is_made_for_runtimes_that_load_less(lift):
    model = old("Softmax", 9, {"x": X}, ir=8)
    report, made = lift(model, portable=PORTABLE.opset)
    highest = probing.highest()[0]
    assert PORTABLE.opset < highest
    assert (report.outcome, codes(report)) == ("passed", [])
    assert results(report) == [(highest, "equal"), (PORTABLE.opset, "equal")]
    rows = report.facts["variants"]
    assert [row["target"] for row in rows] == [highest, PORTABLE.opset]
    for row, output in zip(rows, report.outputs, strict=True):
        assert row["file"] == output.name == f"model.opset{row['target']}.onnx"
        assert row["described"]["opset"] == row["target"]
        assert Proof.from_json(row["proof"]).strength == "certified"
        assert len({m["dataset"] for m in report.measures if m["target"] == row["target"]}) == 15
        close(run(onnx.load(made / output.name), {"x": X}), run(model, {"x": X}))
    assert onnx.load(made / report.outputs[1].name).ir_version <= PORTABLE.ir_version


def test_a_model_that_only_the_newest_runtime_loads_comes_down(lift):
    report, made = lift(old("Relu", 28, {"x": X}, ir=14), portable=PORTABLE.opset)
    assert (report.outcome, codes(report)) == ("passed", [])
    facts = upgraded(report)
    assert facts["target"] == PORTABLE.opset
    new = onnx.load(made / facts["file"])
    assert new.ir_version <= PORTABLE.ir_version
    close(run(new, {"x": X}), [np.maximum(X, 0)])


def test_a_model_without_a_portable_form_says_so_and_is_no_failure(lift):
    model = old("SwiGLU", 28, {"x": floats(2, 4)}, ir=14)
    report, _ = lift(model, portable=PORTABLE.opset)
    assert (report.outcome, report.outputs) == ("passed", [])
    assert "upgrade-not-portable" in codes(report)


def test_a_conversion_that_one_goal_made_serves_the_other(lift):
    """RoiAlign stops at 21 on this runtime, which the others load too."""
    report, _ = lift(roi_align(), portable=PORTABLE.opset)
    assert report.outcome == "passed"
    assert upgraded(report)["target"] == 21


@pytest.mark.skipif(
    probing.highest()[0] >= onnx.defs.onnx_opset_version(), reason="the runtime loads every opset"
)
def test_a_target_that_the_runtime_does_not_run_is_judged_by_the_reference(lift):
    report, _ = lift(old("Relu", 17, {"x": X}, ir=8), 28)
    assert (report.outcome, results(report)) == ("passed", [(28, "equal")])
    assert upgraded(report)["parity"]["runtime"] == "onnx-reference"


@pytest.mark.skipif(
    probing.highest()[1] >= onnx.IR_VERSION, reason="the runtime reads the newest IR version"
)
def test_the_ir_version_alone_is_brought_down(lift):
    opset, ir_version = probing.highest()
    report, made = lift(old("Relu", opset, {"x": X}, ir=ir_version + 1))
    assert (report.outcome, upgraded(report)["rules"]) == ("passed", ["ir-version-lowered"])
    assert (report.facts["source"], upgraded(report)["target"]) == (opset, opset)
    assert onnx.load(made / report.outputs[0].name).ir_version == ir_version


def test_an_old_model_is_judged_by_its_own_data_and_the_reference(lift):
    feeds = {"a": X, "b": floats(3, 4, seed=1), "c": floats(4, seed=2)}
    model = old("Gemm", 6, feeds, ir=3, broadcast=1)
    expected = [feeds["a"] @ feeds["b"] + feeds["c"]]
    files = {"model.onnx": model.SerializeToString(), **data_set(model, feeds.values(), expected)}
    report, _ = lift(files)
    assert report.outcome == "passed"
    assert upgraded(report)["parity"]["judges"] == ["bundled-data", "reference"]
    assert upgraded(report)["parity"]["datasets"] == {"bundled": 1, "generated": 4}


def test_a_reference_that_misses_the_bundled_data_is_not_asked(lift):
    """It takes Softmax over one axis, as from opset 13 on."""
    feeds = [floats(2, 3, 4), floats(2, seed=1)]
    model = old("Add", 6, {"a": feeds[0], "b": feeds[1]}, ir=3, broadcast=1, axis=0)
    model.graph.node[0].output[0] = "sum"
    model.graph.node.append(helper.make_node("Softmax", ["sum"], ["y0"], axis=1))
    powers = np.exp(feeds[0] + feeds[1][:, None, None])
    expected = [powers / powers.sum(axis=(1, 2), keepdims=True)]
    files = {"model.onnx": model.SerializeToString(), **data_set(model, feeds, expected)}
    report, _ = lift(files)
    rules = ["broadcast-axis", "softmax-flattened"]
    assert (report.outcome, upgraded(report)["rules"]) == ("passed", rules)
    assert upgraded(report)["parity"]["judges"] == ["bundled-data"]
    assert "not asked" in upgraded(report)["parity"]["notes"][-1]


def test_wrong_data_of_a_model_that_nobody_runs_is_parity_lost(lift):
    feeds = [X, floats(2, seed=1)]
    model = old("Add", 6, {"a": X, "b": feeds[1]}, ir=3, broadcast=1, axis=0)
    files = {"model.onnx": model.SerializeToString(), **data_set(model, feeds, [X])}
    report, _ = lift(files)
    assert (report.outcome, report.outputs) == ("failed", [])
    assert codes(report) == ["parity-lost"]
    assert "outside the tolerance" in report.findings[0].message


def test_a_blocking_node_is_named(lift):
    text = TensorProto.STRING
    node = helper.make_node("StringConcat", ["x", "x"], ["y"], name="the_node")
    model = samples.model([node], [port("x", (2,), text)], [port("y", (2,), text)], opset=20)
    report, _ = lift(model, 17)
    assert (report.outcome, report.outputs) == ("failed", [])
    (finding,) = report.findings
    assert (finding.code, finding.where) == ("upgrade-blocked", "the_node")
    assert "(StringConcat)" in finding.message
    (step,) = report.facts["steps"]
    assert (step["result"], step["blocking"][0]["op"]) == ("blocked", "StringConcat")


def roi_align():
    """Give a model, with test data, whose operator no current runtime implements after opset 21."""
    feeds = {
        "x": floats(1, 1, 6, 6),
        "rois": np.array([[0, 0, 4, 4]], np.float32),
        "batch": np.array([0], np.int64),
    }
    model = old("RoiAlign", 16, feeds, ir=8, output_height=2, output_width=2)
    expected = run(model, feeds)
    return {"model.onnx": model.SerializeToString(), **data_set(model, feeds.values(), expected)}


def test_a_target_that_no_library_knows_is_refused_without_naming_a_source(lift):
    report, _ = lift(old("Relu", 17, {"x": X}, ir=8), 99)
    [finding] = report.findings
    assert (report.outcome, finding.code) == ("failed", "upgrade-blocked")
    assert finding.message.startswith("Blocked: cannot go to operator set 99: the installed onnx")


def test_the_target_steps_down_to_where_the_runtime_has_a_kernel(lift):
    report, _ = lift(roi_align())
    assert report.outcome == "passed"
    assert codes(report) == ["upgrade-stepped-down"]
    assert upgraded(report)["target"] == 21
    steps = results(report)
    assert steps[-1] == (21, "equal")
    assert {result for _, result in steps[:-1]} == {"not-loading"}


def test_chance_proves_nothing(lift):
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"], axis=1),
    ]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y", (2, 3))], opset=9)
    report, _ = lift(model, 13)
    assert (report.outcome, codes(report)) == ("passed", ["parity-not-proven"])
    assert "RandomNormalLike" in report.findings[0].message


def test_the_registry_stands_in_where_no_operator_changed(lift):
    nodes = [
        helper.make_node("Mystery", ["x"], ["h"], domain="com.x"),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y", (2, 3))], domains=[("com.x", 1)])
    report, _ = lift(model)
    assert (report.outcome, codes(report)) == ("passed", ["parity-by-registry"])
    assert upgraded(report)["parity"]["judges"] == ["schema-registry"]
    assert upgraded(report)["parity"]["datasets"] == {}
    assert not report.measures


def test_nothing_to_judge_by_makes_no_variant(lift):
    nodes = [
        helper.make_node("Mystery", ["x"], ["h"], domain="com.x"),
        helper.make_node("Softmax", ["h"], ["y"], axis=-1),
    ]
    model = samples.model(
        nodes, [port("x", (2, 3))], [port("y", (2, 3))], domains=[("com.x", 1)], opset=12
    )
    report, _ = lift(model)
    assert (report.outcome, report.outputs) == ("failed", [])
    assert [one.severity for one in report.findings] == ["error"]
    assert codes(report) == ["parity-not-proven"]


def test_a_model_that_imports_nothing_is_not_guessed_at(lift):
    model = old("Relu", 9, {"x": X}, ir=8)
    del model.opset_import[:]
    report, _ = lift(model)
    assert (report.outcome, codes(report)) == ("failed", ["upgrade-unreadable"])


def test_external_data_stay_beside_the_model(lift, tmp_path):
    weights = floats(40, 40)
    model = old("MatMul", 9, {"x": floats(2, 40), "w": weights}, constants={"w": weights}, ir=8)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin")
    raw = (tmp_path / "w.bin").read_bytes()
    files = {"deep/m.onnx": (tmp_path / "m.onnx").read_bytes(), "deep/w.bin": raw}
    report, made = lift(files, entry="deep/m.onnx")
    assert report.outcome == "passed", report.findings
    name = f"m.opset{upgraded(report)['target']}.onnx"
    assert report.outputs == [OutputFile(name)]
    (made / "w.bin").write_bytes(raw)
    new = onnx.load(made / name)
    np.testing.assert_array_equal(numpy_helper.to_array(new.graph.initializer[0]), weights)
    assert upgraded(report)["described"]["external_files"][0]["path"] == "deep/w.bin"


def test_a_crash_of_the_runtime_is_a_step_and_no_crash_of_ours(lift):
    """INT64_MIN / -1 on constants ends the runtime at load, before and after."""
    low = numpy_helper.from_array(np.array([np.iinfo(np.int64).min]), "low")
    minus = numpy_helper.from_array(np.array([-1], np.int64), "minus")
    nodes = [
        helper.make_node("Div", ["low", "minus"], ["q"]),
        helper.make_node("Add", ["x", "q"], ["s"]),
        helper.make_node("Unsqueeze", ["s"], ["y"], axes=[0]),
    ]
    model = samples.model(
        nodes,
        [port("x", (1,), TensorProto.INT64)],
        [port("y", None, TensorProto.INT64)],
        [low, minus],
        opset=11,
    )
    report, _ = lift(model, 13)
    assert report.outcome == "failed"
    assert not report.outputs


def test_a_refused_model_gets_no_further_than_the_scan(lift):
    report, _ = lift({"model.onnx": samples.oversized_tensor()})
    assert (report.outcome, codes(report)) == ("failed", ["tensor-size-mismatch"])


@pytest.mark.parametrize(
    ("source", "wanted", "targets"),
    [
        (17, None, [[28, 27, 26, 25, 23, 21, 18], [26, 25, 23, 21, 18]]),
        (26, None, [[28, 27]]),
        (27, None, [[28], [26, 25, 23, 21, 18, 17, 13]]),
        (28, None, [[26, 25, 23, 21, 18, 17, 13]]),
        (29, None, [[28, 27, 26, 25, 23, 21, 18, 17, 13], [26, 25, 23, 21, 18, 17, 13]]),
        (17, 21, [[21]]),
        (17, 17, []),
        (0, None, []),
    ],
)
def test_goals_begin_where_the_runtimes_end(source, wanted, targets):
    survey = Survey(source, ir_version=8, highest=28, highest_ir=14)
    assert [goal.targets for goal in goals.of(survey, wanted, 26)] == targets


def test_an_ir_version_that_some_runtimes_do_not_load_is_a_goal():
    survey = Survey(26, ir_version=14, highest=28, highest_ir=14)
    assert goals.of(survey, None, 26) == [Goal([28, 27]), Goal([26], is_needed=False)]
    assert goals.of(survey, None) == [Goal([28, 27])]


def test_the_first_node_that_gives_other_values_is_named(tmp_path):
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], name="first"),
        helper.make_node("Mul", ["a", "a"], ["b"], name="second"),
        helper.make_node("Neg", ["b"], ["y"], name="third"),
    ]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y", (2, 3))])
    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.node[1].op_type = "Add"
    model_files = []
    for name, one in (("old", model), ("new", other)):
        onnx.save(one, tmp_path / f"{name}.onnx")
        model_files.append(ModelFile(tmp_path / f"{name}.onnx", tmp_path))
    write(tmp_path / "sets", DataSet("test_data_set_0", "bundled", {"x": X}), model)
    found = candidates.first_difference(*model_files, tmp_path / "sets", "test_data_set_0", "fp32")
    assert (found.name, found.op) == ("second", "Add")
    same = candidates.first_difference(
        model_files[0], model_files[0], tmp_path / "sets", "test_data_set_0", "fp32"
    )
    assert same is None


def test_a_crash_of_the_converter_is_named_and_the_job_goes_on(lift):
    """Split-18 with more outputs than it says ends the process in shape inference."""
    report, _ = lift({"model.onnx": samples.split_killer()})
    assert (report.outcome, report.outputs) == ("failed", [])
    assert set(codes(report)) == {"converter-crashed"}
    assert "crashed with SIGABRT" in report.findings[0].message
    assert {result for _, result in results(report)} == {"crashed"}
    assert len(results(report)) > 1


def test_a_model_that_ends_the_runtime_does_not_stand_on_the_registry(lift):
    """A Max with a missing input passes every check and ends ONNX Runtime when it runs."""
    report, made = lift(old("Max", 13, {"x": X, "": None}))
    assert report.outcome == "failed"
    assert "parity-by-registry" not in codes(report)
    assert list(made.iterdir()) == []


def test_an_upgrade_that_the_optimiser_breaks_says_so(lift):
    """From opset 21 on, a pass inserts a QuantizeLinear that contradicts itself."""
    text = (
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (float[3, 2] y) '
        "<float s = {0.1}, int8 n = {0}> { q = QuantizeLinear(x, s, n)\n"
        "d = DequantizeLinear(q, s, n)\nt = Transpose<perm = [1, 0]>(d)\ny = Neg(t) }"
    )
    report, _ = lift(parser.parse_model(text), 26)
    [step] = report.facts["steps"]
    assert step["result"] == "not-loading"
    assert "without graph optimisation it runs" in step["reason"]
    assert "by the pass QDQS8ToU8Transformer" in step["reason"]
