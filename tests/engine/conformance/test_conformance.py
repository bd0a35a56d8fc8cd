"""The conformance task in the sandbox: every kind of model, and the words it earns."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.conformance.checks import CHECKS
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes

LIMITS = replace(SMALL, file_bytes=1 << 24, memory_bytes=2 << 30, cpu_seconds=20)


@pytest.fixture
def judge(sandbox, stored):
    def run(files, *, entry="model.onnx", limits=LIMITS, **options):
        if isinstance(files, bytes):
            files = {entry: files}
        request = Request("conformance", entry, stored(files), SUBJECT, options, limits)
        report = sandbox.run(request)
        json.dumps(report.to_json(), allow_nan=False)
        return report, {one["check"]: one for one in report.measures}

    return run


def outcomes(measures):
    return [measures[check]["outcome"] for check in CHECKS]


def pb(array, name=""):
    return numpy_helper.from_array(np.asarray(array), name).SerializeToString()


def with_data(model, x, y, folder="test_data_set_0"):
    return {
        "model.onnx": model,
        f"{folder}/input_0.pb": pb(np.float32(x)),
        f"{folder}/output_0.pb": pb(np.float32(y)),
    }


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        ("onnxruntime", ["passed"] * 4),
        ("onnx-reference", ["passed", "inapplicable", "inapplicable", "passed"]),
    ],
)
def test_a_good_model_passes(judge, runtime, expected):
    files = with_data(samples.add_one(), [1, 2], [2, 3])
    report, measures = judge(files, runtime=runtime)
    assert outcomes(measures) == expected
    assert (report.outcome, report.findings, report.outputs) == ("passed", (), [])
    assert {one["runtime"] for one in report.measures} == {runtime}
    assert all(one["runtime_version"] for one in report.measures)
    assert (report.facts["runtime"], report.facts["threads"]) == (runtime, 1)
    assert isinstance(report.facts["processor_flags"], list)


def shaped(shape):
    """A model that gives one label for each row of `x`, and declares another shape of it."""
    model = samples.model(
        [samples.node("ArgMax", ["x"], ["label"], axis=1, keepdims=0)],
        [samples.value("x", shape=("N", 3))],
        [samples.value("label", TensorProto.INT64, shape)],
    )
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("shape", "declared"), [((1,), "[1]"), (("N", 2), "[N, 2]"), (("N",), ""), ((-1,), "")]
)
def test_outputs_that_contradict_the_declared_shape_are_a_finding(judge, shape, declared):
    report, measures = judge(shaped(shape), checks=["determinism"])
    assert measures["determinism"]["outcome"] == "passed"
    assert report.outcome == "passed"
    if not declared:
        assert report.findings == ()
        return
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("conformance-output-shape", "warning")
    assert finding.where == "label"
    assert f"the output 'label' as {declared}, and onnxruntime gives [" in finding.message


def test_wrong_data_are_blamed(judge):
    report, measures = judge(with_data(samples.add_one(), [1, 2], [7, 9]))
    bundled = measures["bundled"]
    assert (report.outcome, bundled["outcome"], bundled["blames"]) == ("passed", "cantTell", "data")
    assert (bundled["outputs"][0]["max_abs"], bundled["outputs"][0]["outside"]) == (6, 2)
    assert codes(report) == ["conformance-wrong-data"]
    assert outcomes(measures)[1:] == ["passed"] * 3


def test_the_data_beside_the_original_serve_a_derived_variant(judge):
    files = with_data(samples.add_one(), [1], [2])
    files["model.opset26.onnx"] = files["model.onnx"]
    _, measures = judge(files, entry="model.opset26.onnx")
    assert (measures["bundled"]["outcome"], measures["bundled"]["datasets"]) == ("passed", 1)


def test_external_weights_are_used_by_every_check(judge):
    files = samples.with_external_data()
    x = np.eye(4, dtype=np.float32)[:2]
    files["test_data_set_0/input_0.pb"] = pb(x)
    files["test_data_set_0/output_0.pb"] = pb(x @ np.arange(16, dtype=np.float32).reshape(4, 4))
    _, measures = judge(files)
    assert outcomes(measures) == ["passed"] * 4


def test_data_that_cannot_be_used_are_said_to_be(judge):
    half = {"model.onnx": samples.add_one(), "test_data_set_0/output_0.pb": pb(np.float32([1]))}
    _, measures = judge(half)
    assert measures["bundled"]["outcome"] == "untested"
    assert "input 'x'" in measures["bundled"]["reason"]
    broken = {"model.onnx": samples.add_one(), "test_data_set_0/input_0.pb": b"\xff\xff"}
    _, measures = judge(broken)
    assert (measures["bundled"]["outcome"], measures["bundled"]["blames"]) == ("cantTell", "data")
    assert "input_0.pb" in measures["bundled"]["reason"]
    assert measures["reference"]["outcome"] == "passed"


def light_model():
    """As the onnx package's light models are: weights of one value, filled in the graph."""
    fill = numpy_helper.from_array(np.array([0.5], np.float32))
    shape = numpy_helper.from_array(np.array([4, 3], np.int64), "w__SHAPE")
    model = samples.model(
        [
            samples.node("ConstantOfShape", ["w__SHAPE"], ["w"], value=fill),
            samples.node("MatMul", ["x", "w"], ["y"]),
        ],
        [samples.value("x", shape=(2, 4))],
        [samples.value("y", shape=(2, 3))],
        [shape],
    )
    return model.SerializeToString()


def test_a_light_models_input_is_known_without_being_there(judge):
    x = (np.arange(8).reshape(2, 4) / 8).astype(np.float32)
    expected = x @ np.full((4, 3), 0.5, np.float32)
    files = {"model.onnx": light_model(), "test_data_set_0/output_0.pb": pb(expected)}
    _, measures = judge(files)
    assert (measures["bundled"]["outcome"], measures["bundled"]["datasets"]) == ("passed", 1)


def test_random_numbers_explain_what_differs(judge):
    model = samples.model([samples.node("RandomNormalLike", ["x"], ["y"])])
    report, measures = judge(with_data(model.SerializeToString(), [1, 2], [2, 3]))
    assert outcomes(measures) == ["inapplicable"] * 4
    assert all("RandomNormalLike" in one["reason"] for one in report.measures)
    assert report.outcome == "passed"


def test_an_operator_nobody_knows_is_inapplicable(judge):
    model = samples.model(
        [samples.node("Frobnicate", ["x"], ["y"], domain="com.acme")], domains=[("com.acme", 1)]
    )
    for runtime in ("onnxruntime", "onnx-reference"):
        report, measures = judge(model.SerializeToString(), runtime=runtime)
        assert outcomes(measures) == ["inapplicable"] * 4
        assert "Frobnicate" in measures["bundled"]["reason"]
        assert report.outcome == "passed"


def test_what_the_reference_cannot_run_is_not_judged(judge):
    weights = numpy_helper.from_array(np.ones((1, 1, 1, 1), np.float32), "w")
    model = samples.model(
        [samples.node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft", activation="Relu")],
        [samples.value("x", shape=(1, 1, 2, 2))],
        initializers=[weights],
        domains=[("com.microsoft", 1)],
    )
    _, measures = judge(model.SerializeToString())
    assert outcomes(measures) == ["untested", "cantTell", "passed", "passed"]
    assert "FusedConv" in measures["reference"]["reason"]


def test_a_model_no_runtime_loads_fails_and_blames_nobody(judge):
    model = samples.model([samples.node("Relu", ["nowhere"], ["y"])])
    report, measures = judge(model.SerializeToString())
    assert report.outcome == "failed"
    assert codes(report) == ["conformance-not-run"]
    assert {one["runs"] for one in measures.values()} == {False}


def picky():
    """A model that loads, and that no input of a size that is tried runs through."""
    return samples.model(
        [samples.node("Reshape", ["x", "shape"], ["y"])],
        [samples.value("x", shape=("N", 4))],
        [samples.value("y", shape=("M", 7))],
        [numpy_helper.from_array(np.array([-1, 7], np.int64), "shape")],
    ).SerializeToString()


def test_a_runtime_that_refuses_every_input_is_said_not_to_run_the_model(judge):
    report, measures = judge(picky())
    assert (report.outcome, codes(report)) == ("failed", ["conformance-not-run"])
    (finding,) = report.findings
    assert finding.severity == "warning"  # the inputs may be at fault: no other runtime runs them
    assert finding.message.startswith("The model does not run: onnxruntime refuses generated-")
    assert "Reshape" in finding.message
    assert {(one["outcome"], one["blames"], one["runs"]) for one in measures.values()} == {
        ("cantTell", "", False)
    }


def test_inputs_have_the_shape_that_the_card_declares(judge):
    report, measures = judge(picky(), inputs={"x": {"shape": [7, None]}})
    assert report.outcome == "passed"
    assert (measures["reference"]["outcome"], measures["reference"]["runs"]) == ("passed", True)


def test_data_that_every_runtime_refuses_are_at_fault_where_others_run(judge):
    files = with_data(samples.add_one(), [1], [2])
    files["test_data_set_0/input_0.pb"] = pb(np.ones((2, 2), np.int64))
    report, measures = judge(files)
    bundled = measures["bundled"]
    assert (bundled["outcome"], bundled["blames"]) == ("cantTell", "data")
    assert codes(report) == ["conformance-wrong-data"]
    assert outcomes(measures)[1:] == ["passed"] * 3


def test_a_crash_is_a_verdict_with_its_signal(judge):
    model = samples.model([samples.node("Max", ["x", ""], ["y"])])
    report, measures = judge(with_data(model.SerializeToString(), [1], [1]))
    assert report.outcome == "failed"
    bundled = measures["bundled"]
    assert (bundled["outcome"], bundled["blames"]) == ("failed", "runtime")
    assert "SIGSEGV" in bundled["reason"]


def test_maps_sequences_and_text_pass_through(judge):
    _, measures = judge(samples.zip_map())
    assert outcomes(measures) == ["untested", "passed", "passed", "passed"]
    sequence = samples.model(
        [samples.node("SplitToSequence", ["x"], ["y"])],
        outputs=[helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)],
    )
    _, measures = judge(sequence.SerializeToString())
    assert outcomes(measures)[1:] == ["passed"] * 3
    text = samples.model(
        [samples.node("Identity", ["x"], ["y"])],
        [samples.value("x", TensorProto.STRING)],
        [samples.value("y", TensorProto.STRING)],
    )
    _, measures = judge(text.SerializeToString())
    assert outcomes(measures)[1:] == ["passed"] * 3


def test_a_model_that_needs_more_than_small_inputs_gets_larger_ones(judge):
    pads = numpy_helper.from_array(np.array([0, 8, 0, 8], np.int64), "pads")
    model = samples.model(
        [samples.node("Pad", ["x", "pads"], ["y"], mode="reflect")],
        [samples.value("x", shape=("N", "T"))],
        [samples.value("y", shape=("N", "U"))],
        [pads],
    )
    _, measures = judge(model.SerializeToString())
    assert outcomes(measures)[1:] == ["passed"] * 3
    assert measures["reference"]["outputs"][0]["dataset"] == "generated-16"


def test_a_refused_model_is_let_near_no_runtime(judge):
    report, measures = judge(samples.lfs_pointer())
    assert (report.outcome, codes(report), measures) == ("failed", ["git-lfs-pointer"], {})


def test_a_runtime_that_is_not_here_is_our_fault(judge):
    report, _ = judge(samples.add_one(), runtime="tensorflow")
    assert (report.outcome, codes(report)) == ("errored", ["runtime-missing"])


def test_the_slow_reference_can_be_a_job_of_its_own(judge):
    files = with_data(samples.add_one(), [1, 2], [2, 3])
    quick = ["bundled", "optimisation", "determinism"]
    report, measures = judge(files, checks=quick)
    assert {check: one["outcome"] for check, one in measures.items()} == dict.fromkeys(
        quick, "passed"
    )
    assert report.facts["reference_opset"] is None
    report, measures = judge(files, checks=["reference"])
    assert [one["check"] for one in report.measures] == ["reference"]
    assert measures["reference"]["outcome"] == "passed"
    assert measures["reference"]["datasets"] == 4
    assert report.facts["reference_opset"] > 17


@pytest.mark.parametrize("checks", [[], ["reference", "luck"], "reference"])
def test_checks_that_there_are_not_are_our_fault(judge, checks):
    report, _ = judge(samples.add_one(), checks=checks)
    assert (report.outcome, codes(report)) == ("errored", ["engine-error"])


def half_model(scale):
    """A product in half precision that exceeds 65,504 for a large scale, and then comes back."""
    node, half = samples.node, TensorProto.FLOAT16
    weights = np.random.default_rng(0).standard_normal((8, 8))
    return samples.model(
        [
            node("Cast", ["x"], ["c"], to=half),
            node("MatMul", ["c", "w"], ["h"]),
            node("Mul", ["h", "small"], ["s"]),
            node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
        ],
        [samples.value("x", shape=("N", 8))],
        [samples.value("y", shape=("N", 8))],
        [
            numpy_helper.from_array((weights * scale).astype(np.float16), "w"),
            numpy_helper.from_array(np.float16([1e-4]), "small"),
        ],
    ).SerializeToString()


def test_a_half_precision_model_that_overflows_says_so(judge):
    report, measures = judge(half_model(2e4))
    reference = measures["reference"]
    assert (reference["outcome"], reference["blames"]) == ("cantTell", "")
    assert reference["overflows"]
    assert "computed in float32 on CPU; in half by the reference on 4 inputs" in reference["reason"]
    assert reference["node"]["op"] == "MatMul"
    assert codes(report) == ["half-overflow"]


def test_a_half_precision_model_that_passes_says_what_computed_it(judge):
    report, measures = judge(half_model(1.0))
    assert outcomes(measures)[1:] == ["passed"] * 3
    assert report.findings == ()
    reason = measures["reference"]["reason"]
    assert "computed in float32 on CPU; in half by the reference on 4 inputs" in reason
