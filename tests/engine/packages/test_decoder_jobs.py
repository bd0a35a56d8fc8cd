"""Conformance, variants, upgrades and benchmarks run decoders with a cache on fitting inputs."""

from __future__ import annotations

import pytest

from runners.sandbox import Request
from tests import decoders, samples
from tests.engine.benchmark import timings
from tests.engine.conftest import SUBJECT, UPGRADE

DECODERS = {"grouped": decoders.grouped(), "attentive": decoders.attentive()}


@pytest.mark.parametrize("name", list(DECODERS))
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("conformance", {"runtime": "onnxruntime"}),
        ("convert", {"recipe": "fp16"}),
        ("convert", {"recipe": "int8"}),
        ("upgrade", {"target": None}),
    ],
    ids=["conformance", "fp16", "int8", "upgrade"],
)
def test_jobs_run_decoders(sandbox, stored, name, task, options):
    files = stored({"model.onnx": DECODERS[name]})
    report = sandbox.run(Request(task, "model.onnx", files, SUBJECT, options, UPGRADE))
    assert (report.outcome, report.findings) == ("passed", ())


@pytest.mark.parametrize(("name", "length"), [("grouped", 32), ("attentive", 32)])
def test_benchmarks_time_steps_behind_a_past(sandbox, stored, name, length):
    files = stored({"model.onnx": DECODERS[name]})
    options = timings.TIMED | {"runtime": "onnxruntime"}
    report = sandbox.run(Request("benchmark", "model.onnx", files, SUBJECT, options, UPGRADE))
    shapes = {row["name"]: row["shape"] for row in report.facts["config"]["inputs"]}
    assert shapes["input_ids"] == [1, length]
    assert shapes["attention_mask"] == [1, 2 * length]
    assert shapes["past_key_values.0.key"][2:] == [length, 16]


def test_sound_that_needs_long_inputs_has_variants(sandbox, stored):
    window = samples.tensor("window", (4, 1, 400))
    model = samples.model(
        [samples.node("Conv", ["sound", "window"], ["y"], strides=[160])],
        [samples.value("sound", shape=("N", 1, "samples"))],
        [samples.value("y", shape=("N", 4, "frames"))],
        [window],
    )
    files = stored({"model.onnx": model.SerializeToString()})
    report = sandbox.run(
        Request("convert", "model.onnx", files, SUBJECT, {"recipe": "fp16"}, UPGRADE)
    )
    assert (report.outcome, report.findings) == ("passed", ())
