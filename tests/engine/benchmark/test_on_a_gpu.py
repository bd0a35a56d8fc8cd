"""What only a real GPU can tell; skipped where there is none, or no ONNX Runtime for it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from functools import partial

import numpy as np
import onnxruntime
import pytest

from runners.engine.benchmark import provider_options, sessions, verification
from runners.engine.benchmark import record as form
from runners.engine.benchmark.requests import SessionRequest
from runners.engine.confine import children, isolation
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.hardware import devices, providers
from runners.sandbox import Limits as JobLimits
from tests import kernel, samples

CUDA = provider_options.CUDA
GIB = 1 << 30
LIMITS = JobLimits(memory_bytes=4 * GIB, output_bytes=4 << 20, job_seconds=300)
pytestmark = pytest.mark.skipif(
    not devices.nodes() or CUDA not in onnxruntime.get_available_providers(),
    reason="this machine has no GPU, or its ONNX Runtime was built without CUDA",
)
# Holds a context of CUDA until its input ends.
NEIGHBOUR = """
import sys, onnxruntime
onnxruntime.preload_dlls()
onnxruntime.InferenceSession(sys.argv[1], providers=["CUDAExecutionProvider"])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(samples.conv())
    return path


def confined(folder, *layers):
    """A child that may use the GPU, under these layers."""
    limits = Limits(wall_seconds=120, cpu_seconds=240, memory_bytes=4 * GIB, output_bytes=1 << 20)
    plain = Confinement(frozenset(layers), limits, (folder,), (), folder)
    return isolation.with_devices(plain, devices.nodes())


@pytest.fixture
def timed(measured):
    """Time a model on the GPU; gives the report and its record."""

    def go(content, **options):
        usual = {"provider": CUDA, "call_style": "io_binding"}
        report, outputs = measured("benchmark", content, LIMITS, **usual | options)
        return report, json.loads(outputs["record.json"])

    return go


@pytest.mark.parametrize("layers", [(), *((name,) for name in isolation.LAYERS), isolation.LAYERS])
def test_cuda_works_under_every_layer(tmp_path, layers):
    if missing := set(layers) - kernel.offered() - {isolation.RLIMITS}:
        pytest.skip(f"this kernel has no {', '.join(sorted(missing))}")
    ending = children.run(
        partial(providers._try, CUDA), confined(tmp_path, *layers), children.Stop()
    )
    assert (ending.kind, ending.answer) == ("answered", ""), ending


def test_every_option_of_cuda_is_taken(tmp_path, model):
    """Under its name and with each kind of value: ONNX Runtime refuses options that it lacks."""

    def values(kind):
        if kind is bool:
            return (True, False)
        return kind if isinstance(kind, tuple) else (kind[-1],)

    feeds = {"x": np.linspace(-1, 1, 16 * 16, dtype=np.float32).reshape(1, 1, 16, 16)}

    def task():
        answers = {}
        for name, kind in provider_options.kinds_of("onnxruntime", CUDA).items():
            for value in values(kind):
                request = SessionRequest(
                    model=str(model),
                    provider=CUDA,
                    provider_options={name: value},
                    call_style="io_binding",
                )
                opened = sessions.open_session(request, feeds, profiled=False)
                (output,) = opened.callers[0].read(opened.callers[0].infer())
                opened.expect_provider()
                answers[f"{name}={value}"] = float(np.abs(output.numpy()).sum())
        return answers

    ending = children.run(task, confined(tmp_path, *isolation.LAYERS), children.Stop())
    assert ending.kind == "answered", ending
    assert len(ending.answer) >= 20
    usual = ending.answer["use_tf32=False"]
    assert ending.answer == pytest.approx(dict.fromkeys(ending.answer, usual), rel=0.02)


def test_a_benchmark_on_a_gpu(timed):
    report, record = timed(samples.conv())
    assert report.outcome == "passed", report
    assert verification.problems(record) == []
    assert record["provider"]["nodes_by_provider"].keys() == {CUDA}
    environment = record["environment"]
    assert environment["gpu_model"].startswith("NVIDIA")
    assert environment["ep_version"].startswith("CUDA 1")
    for process in record["processes"]:
        interference = process["interference"]
        assert interference["foreign_gpu_pids"] == 0
        assert isinstance(interference["gpu_sm_clock_mhz"], int)
        assert isinstance(interference["gpu_throttle"], list)
        assert process["meter_j"]["nvml"] > 0
        # A context alone takes more than this.
        assert process["peak_device_bytes"] > 100 << 20


def test_a_captured_graph(timed):
    report, record = timed(samples.conv(), provider_options={"enable_cuda_graph": True})
    assert report.outcome == "passed", report
    assert record["provider"]["options"] == {"enable_cuda_graph": True}
    assert verification.problems(record) == []


@contextlib.contextmanager
def neighbour(model):
    """Another process that computes on the GPU."""
    with subprocess.Popen(
        [sys.executable, "-c", NEIGHBOUR, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield
        process.stdin.close()


def test_another_process_on_the_gpu_is_noticed(timed, model):
    with neighbour(model):
        report, record = timed(samples.conv(), if_busy="reject")
        assert (report.outcome, record["status"]) == ("errored", form.REJECTED)
        assert record["quiet"]["last_reading"]["foreign_gpu_pids"] == 1
        _, record = timed(samples.conv())
        assert record["status"] == form.NOISY
        assert {reason for one in record["processes"] for reason in one["reasons"]} >= {
            "foreign-gpu-process"
        }
