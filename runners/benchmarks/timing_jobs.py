"""The jobs that time models: their kinds and priorities, and the options that each runs with.

How a run goes is docs/benchmarks.md.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.conf import settings

from runners.engine.benchmark import verdicts
from runners.engine.benchmark.options import Options
from runners.models import Host, Job

BENCHMARK, COMPARISON, CALIBRATION = "benchmark", "compare-speed", "calibrate"
KINDS = frozenset({BENCHMARK, COMPARISON, CALIBRATION})
# Priorities, in the steps of `runners.queue.order`.
REQUESTED, CALIBRATING, IDLE = 3, 8, 8
# What nobody asked for on a hub that is used beside: seconds, and a busy host makes it noisy.
_EFFORT: dict[str, dict[str, Any]] = {
    "light": {
        "processes": 5,
        "most_processes": 5,
        "spare_processes": 3,
        "budget_seconds": 30.0,
        "warmup_seconds": 0.2,
        "warmup_cap_seconds": 3.0,
        "timed_seconds": 0.3,
        "most_samples": 2000,
        "quiet_seconds": 0.5,
        "quiet_wait_seconds": 4.0,
        "if_busy": "measure",
    }
}


def options_at(job: Job) -> dict[str, Any]:
    """All options of a run: those of the job, its effort, and the state of its host.

    The host's calibration, watts and region are read when it begins, as they change meanwhile.
    """
    names = {field.name for field in fields(Options)}
    effort = dict(_EFFORT.get(str(job.input.get("effort", "")), {}))
    if not effort:
        effort["budget_seconds"] = settings.HUB_BENCH_SECONDS
    if job.kind != BENCHMARK and "processes" in effort:
        # Fewer give no verdict; as both models share a process, these are no more work.
        effort["processes"] = verdicts.LEAST_PAIRS
    options = {name: value for name, value in job.input.items() if name in names}
    gate = Host.objects.filter(name=job.host).values_list("calibration", flat=True).first()
    here = {
        "gate": gate if isinstance(gate, dict) else {},
        "watts_per_core": settings.HUB_BENCH_WATTS,
        "grid_region": settings.HUB_GRID_REGION,
    }
    return effort | options | here


def job_seconds(options: dict[str, Any]) -> float:
    """How long a job with these options may take in all."""
    sides = 2 if options.get("against") else 1
    return Options.from_json(options).job_seconds(sides)
