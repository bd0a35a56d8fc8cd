"""Tasks "compare-speed" and "calibrate": two models in one slot, or one against itself.

Of a comparison the candidate is the job's entry; the baseline lies under `options["against"]`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from runners.engine.benchmark import procedure, summary, task, verdicts
from runners.engine.benchmark import record as form
from runners.engine.benchmark.assembling import now
from runners.engine.benchmark.options import Options
from runners.engine.benchmark.subjects import Subject, TroubleError
from runners.engine.benchmark.verdicts import SpeedChange
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job, JobError
from runners.engine.reports import Finding, Report

COMPARISON = "comparison.json"
# No limit of a calibrated host is below these: clocks tick in hundredths, and kernels do chores.
_FLOORS = {"psi_cpu_some": 0.02, "foreign_cpu": 0.02, "steal": 0.005, "between_process_cv": 0.01}
_ROOM = 3.0
# Shorter than what neighbours do to a host lasts, longer than a cache takes to fill again.
_TURN_SECONDS = 0.02
_FILE_BYTES = 64 << 20
_PREPARE_SECONDS = 60


def compare(job: Job) -> Report:
    """Say whether the entry is slower than the model it is held against."""
    options = task.options_of(job)
    if options.against not in job.request.files:
        raise JobError("engine-error", "A comparison needs a second model.")
    if options.scenario == form.SERVER:
        words = "The server scenario cannot be used for comparisons. Choose another scenario."
        raise JobError("unusable-option", words)
    earlier = job.on(options.against)
    external, previous = job.scan(), earlier.scan()
    job.lay_out([job.request.entry, *external, options.against, *previous])
    options = replace(options, batch=options.batch or 1)
    threads = options.baseline_threads or options.threads
    baseline = Subject(
        job,
        replace(options, threads=threads),
        earlier.model,
        options.against,
        previous,
        "baseline",
    )
    candidate = Subject(job, options, job.model, job.request.entry, external, "candidate")
    try:
        comparison = _alternate(job, baseline, candidate)
    except TroubleError as trouble:
        return job.report("failed", (task.failure(trouble.code, str(trouble)),))
    task.write(job, COMPARISON, json.dumps(comparison, ensure_ascii=True))
    quiet = comparison["baseline"]["status"] != form.REJECTED
    return job.report(
        "passed" if quiet else "errored",
        _findings(comparison["verdict"]) if quiet else task.findings(comparison["baseline"]),
        verdicts.without_samples(comparison),
        outputs=[COMPARISON],
    )


def _alternate(job: Job, baseline: Subject, candidate: Subject) -> dict[str, Any]:
    baseline.turn_seconds = candidate.turn_seconds = _TURN_SECONDS
    candidate.urgent_work = baseline.urgent_work
    tell = task.progress_of(job, "compare")
    return verdicts.complete(*procedure.alternate(baseline, candidate, tell))


def _findings(verdict: dict[str, Any]) -> tuple[Finding, ...]:
    change = verdict["word"]
    if change == SpeedChange.SLOWER:
        times = f"{verdict['wall_ratio'][0]:.3g} times its p50"
        if verdicts.BY_CPU_TIME in verdict["reasons"]:
            times = f"{verdict['cpu_ratio'][0]:.3g} times its processor time, on a noisy host"
        words = f"Slower than the baseline: {times}."
        return (Finding("speed-slower", "warning", words),)
    if change == SpeedChange.INCONCLUSIVE:
        words = f"No verdict on the speed: {', '.join(verdict['reasons'])}."
        return (Finding("speed-inconclusive", "info", words),)
    return ()


def calibrate(job: Job) -> Report:
    """Measure the engine's own small model against itself; the facts are this host's limits."""
    options = task.options_of(job)
    place = job.work / "calibration.onnx"
    ending = job.stage(
        "prepare", lambda: _make(place), wall_seconds=_PREPARE_SECONDS, file_bytes=_FILE_BYTES
    )
    if ending.kind != EndingKind.ANSWERED:
        raise JobError("engine-error", "The model of the calibration could not be made.")
    sides = [Subject(job, options, place, "", [], name) for name in ("first", "second")]
    try:
        comparison = _alternate(job, sides[0], sides[1])
    except TroubleError as trouble:
        raise JobError("engine-error", f"The calibration failed: {trouble}") from None
    return job.report("passed", (), outcome(comparison, options))


def outcome(comparison: dict[str, Any], options: Options) -> dict[str, Any]:
    """Derive a host's limits from a model measured against itself.

    A host at rest gets limits of three times what it was seen to do, never above the provisional
    ones. A host that was not at rest keeps those, and says so.
    """
    records = [comparison["baseline"], comparison["candidate"]]
    processes = [process for record in records for process in record["processes"]]
    readings: dict[str, float | None] = {
        name: max(
            (
                process["interference"][name]
                for process in processes
                if not isinstance(process["interference"][name], str)
            ),
            default=None,
        )
        for name in ("psi_cpu_some", "foreign_cpu", "steal")
    }
    readings["between_process_cv"] = max(
        (record["stats"]["between_process_cv"] for record in records if record["stats"]),
        default=None,
    )
    is_quiet = comparison["verdict"]["word"] == SpeedChange.SAME
    limits = {
        name: _limit(name, value) if is_quiet else summary.PROVISIONAL[name]
        for name, value in readings.items()
    }
    return {
        "calibrated_at": now(),
        "is_quiet": is_quiet,
        "limits": limits,
        "seen": {
            name: form.NOT_EXPOSED if reading is None else reading
            for name, reading in readings.items()
        },
        "verdict": comparison["verdict"],
        "statuses": [record["status"] for record in records],
        "environment_digest": records[0]["environment_digest"],
        "processes": len(processes),
        "method": form.COMPARISON_METHOD_VERSION,
        "seconds_each": options.timed_seconds,
    }


def _limit(name: str, value: float | None) -> float:
    provisional = float(summary.PROVISIONAL[name])
    if value is None:
        return provisional
    return round(min(provisional, max(_FLOORS[name], _ROOM * value)), 4)


def _make(place: Path) -> dict[str, Any]:
    """Write a small network of convolutions: a few milliseconds of one thread."""
    draw = np.random.default_rng(0)
    nodes, weights, channels = [], [], 16
    for place_in in range(4):
        shape = (channels, 3 if place_in == 0 else channels, 3, 3)
        weight = draw.standard_normal(shape, dtype=np.float32) / 8
        weights.append(numpy_helper.from_array(weight, f"w{place_in}"))
        last = f"h{place_in}"
        source = "x" if place_in == 0 else f"r{place_in - 1}"
        nodes.append(helper.make_node("Conv", [source, f"w{place_in}"], [last], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [last], [f"r{place_in}"]))
    graph = helper.make_graph(
        nodes,
        "calibration",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 64, 64))],
        [helper.make_tensor_value_info("r3", TensorProto.FLOAT, (1, channels, 64, 64))],
        weights,
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(place))
    return {"nodes": len(nodes)}
