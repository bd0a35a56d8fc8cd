"""OpenVINO in an environment of its own, in the full sandbox, where one has been prepared.

HUB_TEST_RUNTIMES names a folder that holds it as `hub worker --runtime openvino` makes it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from runners.engine.conformance import cases
from runners.sandbox import Request, Sandbox
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT

PYTHON = Path(os.environ.get("HUB_TEST_RUNTIMES", "/nonexistent")) / "openvino/bin/python"
LIMITS = replace(SMALL, memory_bytes=4 << 30, cpu_seconds=30, wall_seconds=60, file_bytes=1 << 24)

pytestmark = pytest.mark.skipif(
    not PYTHON.is_file(), reason="HUB_TEST_RUNTIMES names no folder with a prepared openvino"
)


@pytest.fixture(scope="module")
def openvino(tmp_path_factory):
    with Sandbox(tmp_path_factory.mktemp("scratch"), str(PYTHON)) as made:
        yield made


@pytest.fixture
def run(openvino, stored):
    def run_task(task, files, **options):
        options = {"runtime": "openvino", **options}
        entry = "model.onnx" if files else ""
        return openvino.run(Request(task, entry, stored(files), SUBJECT, options, LIMITS))

    return run_task


def outcomes(report):
    return [one["outcome"] for one in report.measures]


def test_it_offers_openvino_and_no_onnxruntime(openvino):
    assert openvino.level().name == "full"
    assert "onnxruntime" not in openvino.versions()
    assert openvino.offers().runtimes.keys() == {"onnx-reference", "openvino"}
    assert openvino.offers().profiles["openvino"]["opset"] >= 21


def test_a_good_model_passes(run):
    x = np.float32([1, 2])
    files = {
        "model.onnx": samples.add_one(),
        "test_data_set_0/input_0.pb": numpy_helper.from_array(x).SerializeToString(),
        "test_data_set_0/output_0.pb": numpy_helper.from_array(x + 1).SerializeToString(),
    }
    report = run("conformance", files)
    assert outcomes(report) == ["passed", "passed", "inapplicable", "passed"]
    assert report.measures[0]["runtime_version"] == report.versions["openvino"]


def test_external_weights_are_read(run):
    report = run("conformance", samples.with_external_data())
    assert outcomes(report) == ["untested", "passed", "inapplicable", "passed"]


def test_what_it_makes_an_input_of_is_unsupported(run):
    """It cannot convert this and asks for the output as if it were an input."""
    model = samples.model(
        [
            samples.node("SequenceEmpty", [], ["s"]),
            samples.node("SequenceInsert", ["s", "x"], ["t"]),
            samples.node("SequenceInsert", ["t", "z", "place"], ["u"]),
            samples.node("SequenceAt", ["u", "zero"], ["y"]),
        ],
        [samples.value("x", shape=(2, 3)), samples.value("z", shape=(2, 3))],
        [samples.value("y", shape=(2, 3))],
        [
            numpy_helper.from_array(np.array(0, np.int64), "place"),
            numpy_helper.from_array(np.array(1, np.int64), "zero"),
        ],
        opset=12,
    )
    report = run("conformance", {"model.onnx": model.SerializeToString()})
    assert outcomes(report)[0] in {"inapplicable", "untested"}
    assert "failed" not in outcomes(report)


def test_a_part_of_the_suite_runs(run):
    modules = cases.modules()
    part = modules.index("onnx.backend.test.case.node.relu")
    report = run("suite", {}, part=part, parts=len(modules))
    assert report.facts["totals"]["passed"] == len(report.measures) > 0
