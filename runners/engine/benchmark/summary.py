"""What follows from a record: its figures, its status and what it may be compared with.

One pure function of what was measured. The engine calls it once, and whoever doubts a figure calls
it again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from hub.protocol import intervals
from hub.protocol.intervals import Estimate
from runners.engine.benchmark import bounds, comparability, statistics
from runners.engine.benchmark import record as form
from runners.engine.benchmark.record import NOT_APPLICABLE, NOT_EXPOSED, Document, Process
from runners.engine.benchmark.statistics import rounded

# Until a host is calibrated; a calibration may lower these, and nothing may raise them.
PROVISIONAL = {
    "psi_cpu_some": 0.10,
    "foreign_cpu": 0.10,
    "steal": 0.02,
    "between_process_cv": 0.05,
    "least_processes": 5,
    "widest_interval": 0.03,
}
_READINGS = (("psi_cpu_some", "cpu-pressure"), ("foreign_cpu", "foreign-cpu"), ("steal", "steal"))
_JOULE_PER_KWH = 3_600_000.0


def complete(measured: Document) -> Document:
    """Give the whole record: what was measured, and all that follows from it."""
    return {**measured, **summarise(measured)}


def summarise(measured: Document) -> dict[str, Any]:
    """Derive every field named in `record.DERIVED`, and `processes` with its verdicts.

    Asks for a record in shape (`record.check`); what is derived already is passed over.
    """
    processes = [
        {**process, "rejected": bool(why), "reasons": why}
        for process in measured["processes"]
        for why in [faults(process, measured["gate"])]
    ]
    accepted = [process for process in processes if not process["rejected"]]
    finished = [process for process in processes if process["samples_ns"]]
    used = pool(processes, measured["gate"])
    is_gated = len(accepted) >= _least(measured["gate"])
    stats = _stats(used, measured, is_gated=is_gated) if used else None
    status, reasons = _status(measured, len(accepted), finished, stats)
    if stats is not None and not measured["failure"]:
        reasons += _unreadable(measured, used)
        status = form.NOISY if reasons else status
    energy = energy_of(measured, used)
    fields = comparability.key_fields(measured)
    return {
        "processes": processes,
        "environment_digest": form.digest(measured["environment"]),
        "accounting": _accounting(processes, len(accepted), len(finished)),
        "stats": stats,
        "energy": energy,
        "carbon": _carbon(energy, measured["grid"]),
        "comparability": fields,
        "comparability_key": form.digest(fields),
        "status": status,
        "reasons": reasons,
        "content_sha256": form.digest(form.measured(measured)),
    }


def pool(processes: list[Process], gate: dict[str, Any]) -> list[Process]:
    """The processes that figures are of: those that pass the gate, or all if these are too few."""
    accepted = [process for process in processes if not faults(process, gate)]
    if len(accepted) >= _least(gate):
        return accepted
    return [process for process in processes if process["samples_ns"]]


def _least(gate: dict[str, Any]) -> int:
    return int(max(gate["least_processes"], PROVISIONAL["least_processes"]))


def limit(gate: Mapping[str, Any], name: str) -> float:
    """What a reading may be at most: the host's own limit, never above the provisional one."""
    return float(min(gate[name], PROVISIONAL[name]))


def loud(readings: dict[str, Any], gate: dict[str, Any]) -> list[str]:
    """Which readings of the host are above their limits; a hidden one is not."""
    return [
        word
        for name, word in _READINGS
        if not isinstance(readings[name], str) and readings[name] > limit(gate, name)
    ]


def shares_gpu(readings: dict[str, Any]) -> bool:
    """Whether other processes compute on the GPU, as far as it shows."""
    return not isinstance(readings["foreign_gpu_pids"], str) and readings["foreign_gpu_pids"] > 0


def faults(process: Process, gate: dict[str, Any]) -> list[str]:
    """Why a process does not count."""
    if process["failure"] or not process["samples_ns"]:
        return ["died"]
    readings = process["interference"]
    reasons = loud(readings, gate)
    if not isinstance(readings["throttled"], str) and readings["throttled"] > 0:
        reasons.append("throttled")
    if shares_gpu(readings):
        reasons.append("foreign-gpu-process")
    throttle = readings.get("gpu_throttle")
    if isinstance(throttle, list) and throttle:
        reasons.append("gpu-throttled")
    if not process["steady"]:
        reasons.append("not-steady")
    if readings.get("urgent_work"):
        reasons.append("urgent-work")
    if process.get("outputs", {}).get("repeat") == "no":
        reasons.append("outputs-differ")
    return reasons


def _status(
    measured: Document, accepted: int, finished: list[Process], stats: dict[str, Any] | None
) -> tuple[str, list[str]]:
    if measured["failure"]:
        return form.FAILED, [str(measured["failure"].get("code", "failed"))]
    if stats is None:
        if measured["processes"]:
            return form.FAILED, ["every-process-died"]
        return form.REJECTED, ["host-busy"]
    reasons = []
    if accepted < _least(measured["gate"]):
        few = len(finished) < _least(measured["gate"])
        reasons.append("too-few-processes" if few else "interference")
        if any(process["interference"].get("urgent_work") for process in finished):
            reasons.append("urgent-work")
    if stats["between_process_cv"] > limit(measured["gate"], "between_process_cv"):
        reasons.append("spread-between-processes")
    if "under_bound" in stats and not stats["under_bound"]["is_within"]:
        reasons.append("bound-exceeded")
    return (form.NOISY if reasons else form.ACCEPTED), reasons


def _unreadable(measured: Document, used: list[Process]) -> list[str]:
    """What could not be read of the host, so that it is unknown whether it was idle."""
    reasons = []
    readings = [process["interference"] for process in used]
    names = (*(name for name, _ in _READINGS), "throttled")
    if any(all(isinstance(reading[name], str) for name in names) for reading in readings):
        reasons.append("nothing-readable")
    is_gpu = measured["provider"]["claimed"] in form.GPU_PROVIDERS
    if is_gpu and any(isinstance(reading["foreign_gpu_pids"], str) for reading in readings):
        reasons.append("gpu-not-readable")
    return reasons


def _accounting(processes: list[Process], accepted: int, finished: int) -> dict[str, Any]:
    samples = hashlib.sha256()
    for process in processes:
        samples.update(form.canonical([process["ordinal"], process["samples_ns"]]))
    return {
        "attempted": len(processes),
        "finished": finished,
        "kept": accepted,
        "rejected_processes": [
            {"ordinal": process["ordinal"], "reasons": process["reasons"]}
            for process in processes
            if process["rejected"]
        ],
        "samples": sum(len(process["samples_ns"]) for process in processes),
        "samples_sha256": samples.hexdigest(),
    }


def _stats(used: list[Process], measured: Document, *, is_gated: bool) -> dict[str, Any]:
    pooled = sorted(sample for process in used for sample in process["samples_ns"])
    medians = medians_ms(used)
    between = intervals.geometric_mean(medians)
    rate, cpu = rates(used, measured), intervals.geometric_mean(cpu_ms(used))
    latency, stopping = _latency(pooled)
    return {
        "aggregation": "processes kept" if is_gated else "all processes that finished",
        "n_processes": len(used),
        "n_samples": len(pooled),
        "latency_ms": latency,
        "withheld": [name for name in statistics.PERCENTILES if latency[name] is None],
        "early_stopping": stopping,
        "p50_of_processes_ms": _middle(between, medians),
        "p50_ci95_ms": _ends(between),
        "p50_half_width": half_width(medians),
        "between_process_cv": rounded(statistics.variation(medians)),
        **rate,
        **_under_bound(used, measured, rate["throughput_per_s"]),
        "cpu_ms_per_inference": _middle(cpu, cpu_ms(used)),
        "cpu_ci95_ms_per_inference": _ends(cpu),
        "cpu_between_process_cv": rounded(statistics.variation(cpu_ms(used))),
        "session_load_ms": _typical([process["session_load_ms"] for process in used]),
        "first_inference_ms": _typical([process["first_inference_ms"] for process in used]),
        "peak_rss_bytes": _most([process["peak_rss_bytes"] for process in used]),
        "above_floor_rss_bytes": _above_floor(used),
        "peak_device_bytes": _most([process["peak_device_bytes"] for process in used]),
    }


def _under_bound(used: list[Process], measured: Document, throughput: Any) -> dict[str, Any]:
    """The throughput of a server within its bound; null where the measurement exceeds it.

    It is what was served, not the rate of arrivals: with a bound of minutes more may arrive.
    """
    config = measured["config"]
    if "bound" not in config:
        return {}
    bound = config["bound"]
    whole = bounds.RateTrial.of(
        config.get("rate_per_s", 0.0), used, bound["latency_ms"], bound["percentile"]
    )
    is_within = whole.is_within(bound["percentile"])
    return {
        "under_bound": {
            "percentile": bound["percentile"],
            "bound_ms": bound["latency_ms"],
            "estimate_ms": whole.estimate_ms,
            "over_bound": whole.over_bound,
            "unserved": whole.unserved,
            "is_within": is_within,
            "throughput_per_s": throughput if is_within else None,
        }
    }


def rates(used: list[Process], measured: Document) -> dict[str, Any]:
    """Samples a second: all samples of these processes over all of their timed seconds."""
    batch = measured["config"]["batch"]
    timed = [process for process in used if process["wall_s"]]
    each = [process["inferences"] * batch / process["wall_s"] for process in timed]
    seconds = [process["wall_s"] for process in timed]
    counts = [process["inferences"] * batch for process in timed]
    interval = intervals.ratio_of_sums(counts, seconds)
    return {"throughput_per_s": _middle(interval, each), "throughput_ci95_per_s": _ends(interval)}


def medians_ms(processes: list[Process]) -> list[float]:
    """Each process's median sample, in milliseconds."""
    return [
        statistics.median(process["samples_ns"]) / 1e6
        for process in processes
        if process["samples_ns"]
    ]


def cpu_ms(processes: list[Process]) -> list[float]:
    """Each process's CPU time for one inference, in milliseconds; a hidden one is left out."""
    return [
        process["cpu_time_s"] * 1e3 / process["inferences"]
        for process in processes
        if process["inferences"] and not isinstance(process["cpu_time_s"], str)
    ]


def half_width(medians: list[float]) -> float | None:
    """Half the width of the interval of p50, as a share of its middle; None below two."""
    between = intervals.geometric_mean(medians)
    if between is None:
        return None
    middle, low, high = between
    return rounded((high - low) / 2 / middle)


def _latency(pooled: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The percentiles that the number of samples allows, with their estimates by early stopping."""
    mean = math.fsum(pooled) / len(pooled)
    latency: dict[str, Any] = {"min": pooled[0] / 1e6, "mean": rounded(mean / 1e6)}
    stopping: dict[str, Any] = {}
    for name in statistics.PERCENTILES:
        allowed = statistics.overruns_allowed(len(pooled), name)
        latency[name] = statistics.percentile(pooled, name) / 1e6 if allowed else None
        stopping[name] = {
            "samples_needed": statistics.samples_needed(name),
            "overruns_allowed": allowed,
            "estimate_ms": pooled[-allowed] / 1e6 if allowed else None,
        }
    latency["max"] = pooled[-1] / 1e6
    return latency, stopping


def _middle(interval: Estimate | None, values: list[float]) -> float | None:
    if interval is not None:
        return rounded(interval[0])
    return rounded(values[0]) if values else None


def _ends(interval: Estimate | None) -> list[float] | None:
    return None if interval is None else [rounded(interval[1]), rounded(interval[2])]


def _typical(values: list[float]) -> float:
    return rounded(statistics.median(values))


def _most(values: list[Any]) -> Any:
    numbers = [value for value in values if not isinstance(value, str)]
    return max(numbers) if numbers else values[0]


def _above_floor(used: list[Process]) -> Any:
    pairs = [(process["peak_rss_bytes"], process["floor_rss_bytes"]) for process in used]
    differences = [
        peak - floor
        for peak, floor in pairs
        if not isinstance(peak, str | None) and not isinstance(floor, str)
    ]
    return max(0, int(statistics.median(differences))) if differences else NOT_EXPOSED


def energy_of(measured: Document, used: list[Process]) -> dict[str, Any]:
    """Energy over the timed parts, with how it was come by; never a figure without a source.

    The figure of one inference is that of all processes over the inferences of all, `energy_j` over
    `inferences`.
    """
    power = measured["power"]
    energy = {
        "provenance": power["provenance"],
        "method": power.get("method", "none"),
        "boundary": power.get("boundary", NOT_APPLICABLE),
        "idle_power_w": power.get("idle_power_w", NOT_EXPOSED),
        "idle_subtracted": False,
    }
    if power["provenance"] == "declared":
        return {**energy, "j_per_inference": power.get("j_per_inference"), "ci95": None}
    joules = [_joules(power, process) for process in used]
    if power["provenance"] == "none" or not used or None in joules:
        return {**energy, "provenance": "none", "method": "none"}
    measured_joules = [amount for amount in joules if amount is not None]
    pairs = [
        (joule, process["inferences"])
        for joule, process in zip(measured_joules, used, strict=True)
        if process["inferences"]
    ]
    interval = intervals.ratio_of_sums(*zip(*pairs, strict=True)) if pairs else None
    seconds = math.fsum(process["wall_s"] for process in used)
    total = math.fsum(measured_joules)
    inferences = sum(process["inferences"] for process in used)
    return {
        **energy,
        "energy_j": rounded(total),
        "duration_s": rounded(seconds),
        "mean_power_w": rounded(total / seconds) if seconds else None,
        "inferences": inferences,
        "j_per_inference": rounded(rounded(total) / inferences) if inferences else None,
        "ci95": _ends(interval),
    }


def _joules(power: dict[str, Any], process: Process) -> float | None:
    if power["provenance"] == "estimated":
        seconds = process["cpu_time_s"]
        return None if isinstance(seconds, str) else float(power["watts_per_core"]) * seconds
    meters = process["meter_j"]
    return math.fsum(meters.values()) if meters else None


def _carbon(energy: dict[str, Any], grid: dict[str, Any] | None) -> dict[str, Any]:
    """Grams for one inference by the grid's yearly mean: the operational part of SCI alone."""
    joules = energy.get("j_per_inference")
    if grid is None or energy["provenance"] == "none" or joules is None:
        return {"provenance": "none"}
    return {
        "provenance": "declared" if energy["provenance"] == "declared" else "estimated",
        "g_co2e_per_inference": rounded(joules / _JOULE_PER_KWH * grid["g_per_kwh"]),
        "grid_g_per_kwh": grid["g_per_kwh"],
        "grid_region": grid["region"],
        "grid_year": grid["year"],
        "grid_source": grid["source"],
        "basis": "location-based yearly mean",
        "pue": None,
        "scope": "operational part of SCI; what making the hardware cost is not known",
    }
