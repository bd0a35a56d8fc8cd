"""Whom a failed check blames: decided by asking another runtime, in one process for the tests."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import onnx
import pytest

from runners.engine import runtimes
from runners.engine.confine.children import Ending
from runners.engine.confine.isolation import Limits
from runners.engine.conformance import checks
from runners.engine.conformance import task as conformance_task
from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import datasets, special_values
from runners.engine.onnx_files.datasets import DataSet
from runners.engine.opsets import schemas
from runners.engine.runs import generate
from runners.engine.runtimes import onnx_reference, probing
from tests import samples
from tests.engine.faulty import Faulty

CHECKS = checks.CHECKS


def plain():
    """Gemm, Relu, Neg: nothing that would hide a difference."""
    return samples.model(
        [
            samples.node("Gemm", ["x", "w"], ["h"]),
            samples.node("Relu", ["h"], ["r"]),
            samples.node("Neg", ["r"], ["y"]),
        ],
        [samples.value("x", shape=("N", 4))],
        [samples.value("y", shape=("N", 6))],
        [samples.tensor("w", (4, 6), seed=1)],
    )


class Inline(Job):
    """A job whose stages run here, unconfined, so that a runtime can be replaced."""

    def scan(self):
        return []

    ends: ClassVar = {}

    def stage(self, name, task, **_):
        for stage in (name, name.partition(" ")[0]):
            if stage in self.ends:
                return self.ends[stage](task)
        try:
            return Ending("answered", json.loads(json.dumps(task(), default=asdict)))
        except Exception as error:  # noqa: BLE001 - what a child's end would say
            return Ending("raised", [type(error).__name__, str(error)])


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Run the task on a model with bundled data; `operator` is what the runtime gets wrong."""

    def run(runtime="onnxruntime", *, model=None, data=(), faulty=None):
        model = model or plain()
        stored = tmp_path / "stored"
        stored.mkdir()
        (stored / "model.onnx").write_bytes(model.SerializeToString())
        for dataset in data:
            datasets.write(stored, dataset, model)
        files = {
            path.relative_to(stored).as_posix(): str(path)
            for path in stored.rglob("*")
            if path.is_file()
        }
        # Probed while they are sound: the answer is kept for the process.
        assert all(probing.highest(name)[0] for name in ("onnxruntime", "onnx-reference"))
        if faulty:
            monkeypatch.setattr(runtimes, "of", faulty)
            monkeypatch.setattr(runtimes, "names", lambda: ["onnxruntime", "onnx-reference"])
        limits = Limits(60, 20, 4 << 30, 1 << 20)
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        request = SimpleNamespace(
            task="conformance",
            entry="model.onnx",
            files=files,
            subject="0" * 64,
            limits=limits,
            scratch=scratch,
            options={"runtime": runtime},
        )
        stop = SimpleNamespace(requested=lambda: False)
        job = Inline(request, frozenset(), {"onnxruntime": "1", "onnx": "2"}, stop, lambda *_: None)
        report = conformance_task.run(job)
        return report, dict(zip(CHECKS, report.measures, strict=True))

    return run


def bundled(model, runtime="onnx-reference", spoil=lambda value: value):
    """A data set with the outputs of a runtime, spoilt or not."""
    inputs = generate.generate(model, seed=5, size=2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, str(path))
        values = runtimes.of(runtime).open(path)(inputs)
    names = [port.name for port in model.graph.output]
    outputs = {name: spoil(value) for name, value in zip(names, values, strict=True)}
    return DataSet("test_data_set_0", "bundled", inputs, outputs)


def outcomes(measures):
    return {check: (one["outcome"], one["blames"]) for check, one in measures.items()}


def test_a_sound_runtime_passes_everything(judge):
    report, measures = judge(data=[bundled(plain())])
    assert (report.outcome, report.findings, report.outputs) == ("passed", (), [])
    assert set(outcomes(measures).values()) == {("passed", "")}
    assert [measures[check]["datasets"] for check in CHECKS] == [1, 4, 5, 5]
    assert measures["bundled"]["profile"] == "fp32"
    assert measures["determinism"]["profile"] == "exact"
    (row,) = measures["bundled"]["outputs"]
    assert (row["dataset"], row["name"], row["agrees"]) == ("test_data_set_0", "y", True)
    assert row["max_abs"] < 1e-5
    assert measures["bundled"]["runtime_version"] == "1"


def test_wrong_data_are_blamed(judge):
    data = bundled(plain(), spoil=lambda value: value + 0.5)
    report, measures = judge(data=[data])
    assert outcomes(measures)["bundled"] == ("cantTell", "data")
    assert outcomes(measures)["reference"] == ("passed", "")
    assert measures["bundled"]["node"] is None
    assert [(one.code, one.severity) for one in report.findings] == [
        ("conformance-wrong-data", "warning")
    ]
    assert report.outcome == "passed"


def cast_of_infinity():
    """A cast that opset 19 defines to give NaN, and opset 24 the largest value."""
    kind = onnx.TensorProto.FLOAT8E4M3FNUZ
    return samples.model(
        [
            samples.node("Cast", ["x"], ["h"], to=kind, saturate=1),
            samples.node("Cast", ["h"], ["y"], to=onnx.TensorProto.FLOAT),
        ],
        [samples.value("x", shape=("N", 4))],
        [samples.value("y", shape=("N", 4))],
        opset=19,
    )


def of_infinity(value):
    """Beside infinity, `value` as the output of `cast_of_infinity`."""
    x = np.float32([[np.inf, 1.0, -np.inf, 0.0]])
    y = np.float32([[value, 1.0, -value, 0.0]])
    return DataSet("test_data_set_0", "bundled", {"x": x}, {"y": y})


@pytest.mark.parametrize(
    ("value", "by_data"), [(np.nan, ("failed", "runtime")), (240.0, ("passed", ""))]
)
def test_the_reference_follows_the_definition_of_the_models_operator_set(judge, value, by_data):
    """ONNX Runtime 1.32 gives 240, as opset 24 defines; at 19 it is NaN."""
    _, measures = judge(model=cast_of_infinity(), data=[of_infinity(value)])
    assert outcomes(measures)["bundled"] == by_data
    assert outcomes(measures)["reference"] == ("failed", "runtime")


def test_data_are_not_wrong_by_another_definition(judge, monkeypatch):
    monkeypatch.setattr(onnx_reference, "implemented_opset", lambda *_: 24)
    data = bundled(cast_of_infinity(), spoil=lambda value: value + 1)
    _, measures = judge(model=cast_of_infinity(), data=[data])
    assert outcomes(measures)["bundled"] == ("cantTell", "")
    said = "the reference does not follow the model's operator set in Cast"
    assert said in measures["bundled"]["reason"]


def test_data_are_wrong_by_the_definition_of_the_models_operator_set(judge):
    data = bundled(cast_of_infinity(), spoil=lambda value: value + 1)
    _, measures = judge(model=cast_of_infinity(), data=[data])
    assert outcomes(measures)["bundled"] == ("cantTell", "data")


def test_definitions_are_compared_with_what_the_reference_implements():
    assert schemas.extends("Cast", 13, 24)
    assert not schemas.extends("Cast", 19, 24)
    assert not schemas.extends("Softmax", 11, 13)
    assert schemas.extends("MaxPool", 8, 12)
    assert onnx_reference.implemented_opset("Add", 7) == schemas.NEWEST
    kind = "FLOAT8E4M3FNUZ"
    assert special_values.of_cast(19, kind, saturates=True)["Inf"] == "NaN"
    assert special_values.of_cast(24, kind, saturates=True)["Inf"] == "FLT_MAX"
    assert special_values.of_cast(24, kind, saturates=False)["Inf"] == "NaN"
    assert special_values.of_cast(13, kind, saturates=True) == {}


def test_a_wrong_runtime_is_blamed_and_its_node_found(judge):
    faulty = Faulty.instead("Relu", lambda value: value + 1, name="onnxruntime")
    report, measures = judge(data=[bundled(plain())], faulty=faulty)
    assert outcomes(measures)["bundled"] == ("failed", "runtime")
    assert outcomes(measures)["reference"] == ("failed", "runtime")
    assert {measures[check]["node"]["op"] for check in ("bundled", "reference")} == {"Relu"}
    evidence = [measures[check]["evidence"] for check in ("bundled", "reference")]
    assert evidence == ["diverging-Relu.zip", "diverging-Relu-1.zip"]
    assert [one.name for one in report.outputs] == evidence
    assert {one.code for one in report.findings} == {"conformance-mismatch"}


def test_a_wrong_reference_is_blamed(judge):
    faulty = Faulty.instead("Relu", lambda value: value + 1, name="onnx-reference")
    data = bundled(plain(), "onnxruntime")
    report, measures = judge(data=[data], faulty=faulty)
    assert outcomes(measures)["bundled"] == ("passed", "")
    assert outcomes(measures)["reference"] == ("cantTell", "reference")
    assert measures["reference"]["node"]["op"] == "Relu"
    assert [one.code for one in report.findings] == ["conformance-reference-differs"]
    assert report.outcome == "passed"


def test_the_reference_on_trial_is_held_against_the_data_and_the_other_runtime(judge):
    data = bundled(plain(), "onnxruntime")
    faulty = Faulty.instead("Relu", lambda value: value + 1, name="onnx-reference")
    _, measures = judge("onnx-reference", data=[data], faulty=faulty)
    assert outcomes(measures) == {
        "bundled": ("cantTell", "reference"),
        "reference": ("inapplicable", ""),
        "optimisation": ("inapplicable", ""),
        "determinism": ("passed", ""),
    }
    assert measures["bundled"]["runtime_version"] == "2"


def test_wrong_optimisation_is_found_without_an_oracle(judge):
    faulty = Faulty.instead("Neg", lambda value: value * 1.1, name="onnxruntime", optimises=True)
    _, measures = judge(faulty=faulty)
    assert outcomes(measures)["optimisation"] == ("failed", "optimiser")
    assert outcomes(measures)["reference"] == ("failed", "optimiser")
    assert measures["optimisation"]["node"]["op"] == "Neg"
    assert measures["optimisation"]["evidence"] == "diverging-Neg.zip"
    assert outcomes(measures)["bundled"] == ("untested", "")


def test_two_runs_that_differ_by_a_bit_are_found(judge):
    noise = np.random.default_rng(0)
    faulty = Faulty.instead(
        "Neg", lambda value: value + noise.random(value.shape) * 1e-7, name="onnxruntime"
    )
    _, measures = judge(faulty=faulty)
    assert outcomes(measures)["determinism"] == ("failed", "runtime")
    assert outcomes(measures)["reference"] == ("passed", "")


def test_a_runtime_that_refuses_what_another_runs_fails(judge):
    def refuse(_):
        raise ValueError("no kernel for this shape")

    faulty = Faulty.instead("Neg", refuse, name="onnxruntime")
    report, measures = judge(faulty=faulty)
    assert set(outcomes(measures).values()) == {("failed", "runtime")}
    assert {one["runs"] for one in measures.values()} == {False}
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("conformance-not-run", "error")
    assert "no kernel for this shape" in finding.message
    assert "onnx-reference runs these inputs" in finding.message


def test_an_unknown_runtime_is_our_fault(judge):
    with pytest.raises(JobError, match="tensorflow"):
        judge("tensorflow")


REFERENCE_RUN = "run onnx-reference-generated-upgraded"


def cut_short(results, kept):
    """End a run as its time limit would, after so many of its sets."""

    def end(task):
        task()
        for home in sorted(results().iterdir())[kept:]:
            shutil.rmtree(home)
        return Ending("timed-out")

    return end


@pytest.mark.parametrize(
    ("kept", "outcome", "sets"), [(1, "passed", 1), (0, "cantTell", 0), (3, "passed", 3)]
)
def test_what_the_reference_did_before_its_time_was_over_counts(
    judge, monkeypatch, tmp_path, kept, outcome, sets
):
    place = tmp_path / "scratch" / "work" / "runs" / REFERENCE_RUN.removeprefix("run ")
    monkeypatch.setitem(Inline.ends, REFERENCE_RUN, cut_short(lambda: place, kept))
    _, measures = judge()
    assert (measures["reference"]["outcome"], measures["reference"]["datasets"]) == (outcome, sets)
    assert "out of time" in measures["reference"]["reason"]


def test_a_runtime_that_is_too_slow_fails_and_nobody_is_blamed(judge, monkeypatch):
    # The child that would also prepare the inputs ends in the same way.
    for stage in ("prepare and others", "run onnxruntime-generated-original-0"):
        monkeypatch.setitem(Inline.ends, stage, lambda _: Ending("timed-out"))
    report, measures = judge()
    assert outcomes(measures)["reference"] == ("failed", "")
    assert {one.code for one in report.findings} == {"conformance-not-run"}


def test_when_the_jobs_own_time_is_over_nothing_is_judged(judge, monkeypatch):
    # The child that would also prepare the inputs ends in the same way.
    for stage in ("prepare and others", "run onnxruntime-generated-original-0"):
        monkeypatch.setitem(Inline.ends, stage, lambda _: Ending("timed-out"))
    monkeypatch.setattr(Inline, "seconds_left", lambda _: 1.0)
    report, measures = judge()
    assert outcomes(measures)["reference"] == ("cantTell", "")
    assert report.outcome == "passed"


@pytest.mark.parametrize(
    ("stage", "lie"),
    [
        ("prepare", {"bundled": 7}),
        ("prepare", "a word"),
        ("upgrade", {"changed": "yes"}),
        ("generate", {}),
        ("run onnxruntime-generated-original-0", {"refused": [], "sets": 1}),
        ("compare", {"sets": [], "agrees": "yes", "rows": [], "worst": ""}),
        ("compare", {"sets": [], "agrees": True, "rows": [{"name": 1}], "worst": ""}),
    ],
)
def test_a_child_that_lies_is_our_fault_and_not_believed(judge, monkeypatch, stage, lie):
    monkeypatch.setitem(Inline.ends, stage, lambda _: Ending("answered", lie))
    with pytest.raises(JobError, match="no readable"):
        judge()


def magnifying():
    """Relu, Mul by 30, Exp: a rounding of Relu becomes thirty times as large."""
    return samples.model(
        [
            samples.node("Relu", ["x"], ["r"]),
            samples.node("Mul", ["r", "thirty"], ["m"]),
            samples.node("Exp", ["m"], ["y"]),
        ],
        [samples.value("x", shape=("N", 4))],
        [samples.value("y", shape=("N", 4))],
        [onnx.numpy_helper.from_array(np.array(30, np.float32), "thirty")],
    )


def test_roundings_that_the_model_magnifies_blame_nobody(judge):
    """Alone, every node agrees within the tolerance of its type."""
    faulty = Faulty.instead("Relu", lambda value: value * (1 + 3e-4), name="onnxruntime")
    report, measures = judge(model=magnifying(), faulty=faulty)
    verdict = measures["reference"]
    assert (verdict["outcome"], verdict["blames"]) == ("cantTell", "")
    assert "roundings grow from node to node" in verdict["reason"]
    assert verdict["node"]["op"] == "Relu"
    assert report.outcome == "passed"


def test_a_fault_that_the_model_magnifies_still_blames_the_runtime(judge):
    faulty = Faulty.instead("Relu", lambda value: value + 0.01, name="onnxruntime")
    _, measures = judge(model=magnifying(), faulty=faulty)
    assert (measures["reference"]["outcome"], measures["reference"]["blames"]) == (
        "failed",
        "runtime",
    )


def test_bundled_data_decide_about_roundings_too(judge):
    faulty = Faulty.instead("Relu", lambda value: value * (1 + 3e-4), name="onnxruntime")
    data = [bundled(magnifying())]
    _, measures = judge(model=magnifying(), data=data, faulty=faulty)
    assert measures["reference"]["blames"] == "runtime"


def test_evidence_cannot_lead_elsewhere(judge, monkeypatch):
    lie = {"node": None, "evidence": "../../etc/passwd", "note": "", "is_rounding": False}
    monkeypatch.setitem(Inline.ends, "localise", lambda _: Ending("answered", lie))
    faulty = Faulty.instead("Relu", lambda value: value + 1, name="onnxruntime")
    report, measures = judge(faulty=faulty)
    assert measures["reference"]["outcome"] == "failed"
    assert (measures["reference"]["evidence"], report.outputs) == ("", [])
