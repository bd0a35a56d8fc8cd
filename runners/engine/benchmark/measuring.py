"""One process of a benchmark: load, infer once, warm up, and hold the stopwatch.

`fresh` starts it as a program of its own. `prepare` opens the readings of the host before the
confinement; everything that touches the model comes after it.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

# Loaded before the confinement, which hides the hub's own folder from what is imported later.
from hub.protocol import vocabularies  # noqa: F401
from runners.engine.benchmark import loops, sessions
from runners.engine.benchmark import outputs as outputs_of
from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED
from runners.engine.benchmark.requests import ProcessRequest, SessionRequest
from runners.engine.hardware import devices, readings

_PROFILE_RUNS = 100
# Inferences of each caller, all at once, before the warm-up of a session with several callers.
_OVERLAPPING = 3
_CPUS = Path("/sys/devices/system/cpu")


def prepare(arguments: dict[str, Any]) -> readings.Instruments:
    """Open the instruments that are read around the timed part."""
    request = ProcessRequest.from_json(arguments)
    return readings.Instruments(with_gpu=devices.is_gpu(request.leading.provider))


def work(arguments: dict[str, Any], instruments: readings.Instruments) -> Any:
    """Measure or profile, as the arguments say; the caller checks the answer.

    A measurement answers one process for each of its models: one, or two that take turns.
    """
    request = ProcessRequest.from_json(arguments)
    if request.mode == "profile":
        return _profile(request)
    _import(request.leading.runtime)
    _, floor = instruments.memory()
    from runners.engine.benchmark import outputs  # noqa: PLC0415 - after the confinement

    opened = [_open(model) for model in request.models]
    callers = [session.callers for session, _, _ in opened]
    processes, last = _timed(
        request,
        [own[0].infer for own in callers],
        instruments,
        [caller.infer for caller in callers[0][1:]],
    )
    for session, _, _ in opened:
        session.expect_provider()
    memory = _memory(request, instruments, floor, alone=len(opened) == 1)
    return [
        {
            **process,
            **start,
            **memory,
            "outputs": outputs.summary(
                before,
                [
                    outputs.fingerprint(session.callers[place].read(output))
                    for place, output in sorted(arrays.items())
                ],
                _described(session, arrays),
            ),
        }
        for process, arrays, (session, start, before) in zip(processes, last, opened, strict=True)
    ]


def _described(session: sessions.Opened, arrays: dict[int, object]) -> list[dict[str, Any]]:
    """The tensors of the first caller's last inference; none where numpy cannot hold them."""
    if not arrays:
        return []
    place = min(arrays)
    try:
        return outputs_of.tensors(session.callers[place].read(arrays[place]))
    except (RuntimeError, TypeError, ValueError):
        return []


def _open(
    request: SessionRequest,
) -> tuple[sessions.Opened, dict[str, Any], tuple[outputs_of.Fingerprint, outputs_of.Fingerprint]]:
    """Load a model, infer once and warm up.

    Gives its session, how it started, and what its first inference and the last of the warm-up
    gave.
    """
    from runners.engine.benchmark import outputs, sessions, stored  # noqa: PLC0415

    values = stored.read(Path(request.inputs))
    began = time.perf_counter()
    opened = sessions.open_session(request, values, profiled=False)
    loaded = time.perf_counter()
    caller, others = opened.callers[0], opened.callers[1:]
    output = caller.infer()
    first = time.perf_counter()
    before = outputs.fingerprint(caller.read(output))
    if others:
        loops.overlap([caller.infer for caller in opened.callers], _OVERLAPPING)
    warm = loops.warm_up(caller.infer, request.warmup_seconds, request.warmup_cap_seconds)
    return (
        opened,
        {
            "warmup_count": warm.count,
            "warmup_s": round(warm.seconds, 6),
            "steady": warm.is_steady,
            "session_load_ms": round((loaded - began) * 1e3, 6),
            "first_inference_ms": round((first - loaded) * 1e3, 6),
        },
        (before, outputs.fingerprint(caller.read(warm.last))),
    )


def _memory(
    request: ProcessRequest, instruments: readings.Instruments, floor: Any, *, alone: bool
) -> dict[str, Any]:
    """Memory of the process; with two models in one process it cannot be attributed to either."""
    if not alone:
        return dict.fromkeys(
            ("peak_rss_bytes", "floor_rss_bytes", "peak_device_bytes"), NOT_APPLICABLE
        )
    on_gpu = devices.is_gpu(request.leading.provider)
    return {
        "peak_rss_bytes": instruments.memory()[0],
        "floor_rss_bytes": floor,
        # The arena of ONNX Runtime gives nothing back: what is held now is the most that was.
        "peak_device_bytes": devices.memory_of(os.getpid()) if on_gpu else NOT_APPLICABLE,
    }


def _import(runtime: str) -> None:
    """Have the library in memory before the floor is read: it belongs to the floor."""
    if runtime == "openvino":
        import openvino  # type: ignore[import-not-found,unused-ignore]  # noqa: F401, PLC0415
    else:
        import onnxruntime  # noqa: F401, PLC0415


def _timed(
    request: ProcessRequest,
    infers: list[loops.Infer],
    instruments: readings.Instruments,
    others: list[loops.Infer],
) -> tuple[list[dict[str, Any]], list[dict[int, object]]]:
    """What each model had in the timed part, and what each caller's last inference gave."""
    per_query = request.samples_per_query
    pace = loops.Pace(
        seconds=request.timed_seconds,
        cap_seconds=request.timed_cap_seconds,
        samples=request.samples,
        per_query=per_query,
        rate_per_s=request.rate_per_s,
        seed=request.leading.seed + request.ordinal,
    )
    clock_ns = loops.clock_ns()
    gc.collect()
    gc.disable()
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    before = instruments.look()
    spans = loops.in_turns(request.scenario, infers, pace, request.leading.turn_seconds, others)
    after = instruments.look()
    gc.enable()
    shared = {
        "ordinal": request.ordinal,
        "involuntary_switches": after.switches - switches,
        "timer_ns": clock_ns,
        "clock_khz": _clock_khz(),
        # A meter does not tell whose turn it was.
        "meter_j": instruments.energy_between(before, after) if len(infers) == 1 else {},
        "interference": readings.interference(before, after),
        "failure": None,
    }
    processes = [{**shared, **_counts(span, per_query, request.most_samples)} for span in spans]
    return processes, [span.last for span in spans]


def _counts(span: loops.Span, per_query: int, most: int) -> dict[str, Any]:
    every = math.ceil(len(span.samples) / most)
    return {
        "samples_ns": span.samples[::every],
        "kept_every": every,
        "queries": len(span.samples),
        "inferences": len(span.samples) * per_query,
        "unserved": span.unserved,
        "wall_s": round(span.wall_s, 9),
        "cpu_time_s": round(span.cpu_s, 9),
    }


def _clock_khz() -> int | str:
    """The highest clock of this process's own cores at the end of the timed part."""
    clocks = []
    for core in os.sched_getaffinity(0):
        try:
            text = (_CPUS / f"cpu{core}/cpufreq/scaling_cur_freq").read_text(encoding="ascii")
            clocks.append(int(text))
        except (OSError, ValueError):
            continue
    return max(clocks) if clocks else NOT_EXPOSED


def _profile(request: ProcessRequest) -> dict[str, Any]:
    """What `answers.Profiled` reads."""
    from runners.engine.benchmark import profiles, sessions, stored  # noqa: PLC0415

    values = stored.read(Path(request.leading.inputs))
    opened = sessions.open_session(replace(request.leading, concurrency=1), values, profiled=True)
    infer = opened.callers[0].infer
    began = time.perf_counter()
    for _ in range(2):
        infer()
    each = (time.perf_counter() - began) / 2
    # A profile is a list of events: bounded by time, and by a guess of a thousand events a run.
    runs = min(
        _PROFILE_RUNS, profiles.MOST_EVENTS // 1000, int(request.profile_seconds / each) or 1
    )
    for _ in range(runs):
        infer()
    facts = replace(opened.facts, affinity=sorted(os.sched_getaffinity(0)))
    return {"facts": facts, "profile": opened.finish(2) if opened.finish else None}
