"""Records of benchmarks made by hand: what a quiet or a noisy host would have measured."""

from __future__ import annotations

import hashlib
import random

from runners.engine.benchmark import record as form
from runners.engine.benchmark import summary
from runners.engine.benchmark.options import Options

DIGEST = hashlib.sha256(b"outputs").hexdigest()
QUIET = {
    "psi_cpu_some": 0.01,
    "foreign_cpu": 0.02,
    "steal": 0.0,
    "throttled": 0,
    "foreign_gpu_pids": form.NOT_APPLICABLE,
}
# One process, as short as can be: what is tried is the way there.
TIMED = {
    "processes": 1,
    "most_processes": 1,
    "timed_seconds": 0.01,
    "warmup_seconds": 0.0,
    "warmup_cap_seconds": 0.2,
    "quiet_seconds": 0.1,
    "quiet_wait_seconds": 0.0,
    "if_busy": "measure",
}
ENVIRONMENT = {
    "cpu_model": "A processor",
    "usable_cpus": 2,
    "memory_total_bytes": 8 << 30,
    "memory_limit_bytes": "none",
    "isa": ["avx2"],
    "isolation": ["landlock", "seccomp"],
    "kernel": "6.1",
    "runtime": "onnxruntime",
    "runtime_version": "1.31.1",
}


def batch(rows):
    """The configuration of so many rows."""
    return {"batch": rows, "inputs": [{"name": "x", "dtype": "float32", "shape": [rows, 3]}]}


def process(ordinal, p50_ms=1.0, *, samples=200, **changed):
    """Make one process whose samples lie closely around a median."""
    draw = random.Random(ordinal)
    nanos = [int(p50_ms * 1e6 * draw.uniform(0.99, 1.01)) for _ in range(samples)]
    return {
        "ordinal": ordinal,
        "samples_ns": nanos,
        "kept_every": 1,
        "queries": samples,
        "inferences": samples,
        "unserved": 0,
        "wall_s": sum(nanos) / 1e9,
        "cpu_time_s": sum(nanos) / 1e9,
        "warmup_count": 10,
        "warmup_s": 1.0,
        "steady": True,
        "session_load_ms": 10.0,
        "first_inference_ms": 2.0,
        "peak_rss_bytes": 70_000_000,
        "floor_rss_bytes": 50_000_000,
        "peak_device_bytes": form.NOT_APPLICABLE,
        "involuntary_switches": 3,
        "timer_ns": 54.0,
        "clock_khz": form.NOT_EXPOSED,
        "meter_j": {},
        "interference": dict(QUIET),
        "failure": None,
        "outputs": {"sha256": DIGEST, "repeat": "yes", "tensors": []},
        "rejected": False,
        "reasons": [],
        **changed,
    }


def record(processes=None, **changed):
    """Make a whole record of these processes; ten quiet ones of 1 ms by default."""
    measured = {
        "format": form.FORMAT,
        "format_version": form.FORMAT_VERSION,
        "challenge": form.NOT_APPLICABLE,
        "method": form.METHOD_VERSION,
        "engine": "1",
        "started_at": "2026-11-22T00:00:00Z",
        "ended_at": "2026-11-22T00:01:00Z",
        "model": {"entry": "m.onnx", "sha256": "0" * 64, "size": 1, "files": [], "variant": ""},
        "config": {
            "scenario": "single_stream",
            "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 3]}],
            "input_source": "seeded",
            "seed": 0,
            "batch": 1,
            "samples_per_query": 1,
            "call_style": "run",
            "intra_op_threads": 1,
        },
        "provider": {
            "runtime": "onnxruntime",
            "requested": ["CPUExecutionProvider"],
            "claimed": "CPUExecutionProvider",
            "partial": False,
            "nodes_by_provider": {"CPUExecutionProvider": 3},
            "kernels_by_provider": {"CPUExecutionProvider": {"count": 3, "time_ms": 0.9}},
            "operators_elsewhere": {},
        },
        "environment": dict(ENVIRONMENT),
        "gate": Options().gate_in_force(),
        "quiet": {"is_quiet": True, "waited_s": 2.0},
        "processes": [process(k) for k in range(1, 11)] if processes is None else processes,
        "per_operator": {"status": "none", "operators": []},
        "power": {"provenance": "none"},
        "grid": None,
        "failure": None,
        "sweeps": [],
        **changed,
    }
    return summary.complete(measured)
