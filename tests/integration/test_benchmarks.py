"""Benchmarks with other people's software: OpenVINO in its own environment, MLPerf's LoadGen.

Environments are made below HUB_TEST_CLIENTS where an index can be reached, else these are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from runners.engine.benchmark import verification
from tests import samples
from tests.faults.conftest import ROOT
from tests.integration.environments import python_with

NEEDED = ("onnx", "numpy", "urllib3")


def environment(name, *wanted):
    pinned = [f"{each}=={version(each)}" for each in NEEDED]
    try:
        return python_with(name, *pinned, *wanted)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{name} cannot be installed here: {error}")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(samples.mlp())
    return path


def bench(python, *arguments):
    given = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [str(python), "-m", "hub", "bench", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env=given, timeout=300
    )


def openvino():
    prepared = Path(os.environ.get("HUB_TEST_RUNTIMES", "/nonexistent"), "openvino/bin/python")
    return prepared if prepared.is_file() else environment("bench-openvino", "openvino==2026.4.1")


def test_openvino_is_measured_in_its_own_environment(model, tmp_path):
    place = tmp_path / "record.json"
    # Its counters have whole microseconds, and leave out what takes less.
    model.write_bytes(samples.mlp(hidden=200_000))
    done = bench(
        *(sys.executable, str(model), "--runtime", "openvino", "--interpreter", str(openvino())),
        *("--processes", "2", "--seconds", "0.2", "--anyway", "--wait", "1"),
        *("--output", str(place)),
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(place.read_text())
    assert verification.problems(record) == []
    assert record["provider"]["claimed"] == "OpenVINO:CPU"
    assert record["provider"]["nodes_by_provider"]["OpenVINO:CPU"] > 0
    assert record["per_operator"]["operators"]
    assert record["environment"]["runtime"] == "openvino"
    assert all(one["failure"] is None for one in record["processes"])


def test_loadgen_asks_the_same_model_and_keeps_its_logs(model, tmp_path):
    runtime = f"onnxruntime=={version('onnxruntime')}"
    python = environment("bench-mlperf", runtime, "mlcommons-loadgen==6.0.17")
    done = bench(python, str(model), "--seconds", "1", "--mlperf", str(tmp_path / "logs"))
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "logs/mlperf_log_summary.txt").read_text()
    assert "Scenario : SingleStream" in told
    assert "Result is : VALID" in told
    assert (tmp_path / "logs/mlperf_log_detail.txt").stat().st_size > 0


def test_without_loadgen_it_says_what_to_install(model, tmp_path):
    done = bench(sys.executable, str(model), "--mlperf", str(tmp_path / "logs"))
    assert done.returncode == 1
    assert "onnx-hub[mlperf]" in done.stderr
