"""One result of a benchmark in words: its figures, its conditions, and why it is not ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontend.parts import formatting, labels
from frontend.presenters import version_head
from runners.engine.benchmark import summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runners.models import Measurement

NOT_MEASURED = "not measured"
SHAPES = 3
SCENARIOS = {
    "single_stream": "one inference after another",
    "multi_stream": "eight consecutive inferences per query",
    "server": "random arrival times",
    "offline": "batches, for throughput",
}
STYLES = {"run": "arrays in and out", "io_binding": "bound inputs and outputs"}
PROVIDERS = {
    "CPUExecutionProvider": "CPU",
    "CUDAExecutionProvider": "CUDA",
    "TensorrtExecutionProvider": "TensorRT",
    "OpenVINOExecutionProvider": "OpenVINO",
    "WasmExecutionProvider": "WASM",
}
SPREAD = "spread-between-processes"
# The reasons of a record in words; one that is not here stands as it is.
REASONS = {
    "too-few-processes": "too few processes finished",
    "nothing-readable": "the machine does not report its load",
    "gpu-not-readable": "other processes on the GPU could not be detected",
    "interference": "the machine was busy during too many processes",
    SPREAD: "the processes differ by more than the limit",
    "bound-exceeded": "the latency percentile exceeds the bound",
    "latency-bound-not-met": "no rate meets the latency bound",
    "host-busy": "the machine was never idle",
    "every-process-died": "all processes crashed",
    "cpu-pressure": "tasks waited for a CPU",
    "foreign-cpu": "other tasks used the CPU",
    "steal": "the hypervisor took CPU time",
    "throttled": "its control group was throttled",
    "foreign-gpu-process": "other processes used the GPU",
    "gpu-throttled": "the GPU lowered its clocks for want of power or cooling",
    "not-steady": "it never reached a steady state",
    "outputs-differ": "its outputs changed between runs",
    "died": "it crashed",
    "ep-not-used": "the execution provider ran no nodes",
    "baseline-noisy": "the result of the earlier version is noisy",
    "candidate-noisy": "the result of this version is noisy",
    "rejected-processes-used": "too few quiet processes, so noisy ones were included",
    "by-cpu-time": "judged by CPU time",
    "cpu-time-disagrees": "CPU time did not change with latency",
    "latency-disagrees": "latency did not change with CPU time",
    "interval-too-wide": "the interval is too wide",
}


def latency(milliseconds: float | None) -> str:
    """A latency with its unit; empty for none."""
    return formatting.duration(milliseconds / 1e3) if milliseconds else ""


def interval(row: Measurement) -> str:
    """The interval of a median: 1.2 ms to 1.4 ms; empty where there is none."""
    if row.p50_low_ms is None or row.p50_high_ms is None:
        return ""
    return f"{latency(row.p50_low_ms)} to {latency(row.p50_high_ms)}"


def throughput(each_second: float | None) -> str:
    """Samples per second, of all processes over all of their timed seconds; empty for none."""
    return f"{formatting.figure(each_second)}{formatting.NARROW}/s" if each_second else ""


def energy(row: Measurement) -> str:
    """Energy of 1 000 inferences in joules; an estimate has two digits and a sign for "about"."""
    if row.energy_j is None:
        return ""
    joules = row.energy_j * 1e3
    if row.energy_provenance != "estimated":
        return f"{formatting.figure(joules)}{formatting.NARROW}J"
    return f"≈{formatting.NARROW}{formatting.figure(float(f'{joules:.2g}'))}{formatting.NARROW}J"


def carbon(row: Measurement) -> str:
    """Emissions of 1 000 inferences; empty where none are reported."""
    # Grams of one are kilograms of a thousand.
    return formatting.carbon(row.carbon_g) if row.carbon_g is not None else ""


def runtime_of(row: Measurement) -> str:
    """ONNX Runtime 1.31.1 CUDA, for a result with that provider."""
    words = runtime(row.runtime, row.provider, row.runtime_version)
    return f"{words}, partly on other providers" if row.partial else words


def runtime(name: str, provider: str, version: str = "") -> str:
    """ONNX Runtime 1.31.1 CUDA, for a runtime with that provider."""
    words = f"{labels.runtime(name)} {version}".strip()
    title = PROVIDERS.get(provider, provider.removesuffix("ExecutionProvider"))
    return f"{words} {title}" if title and title not in words else words


def conditions(batch: int, threads: int, scenario: str) -> str:
    """Batch 1, all threads, one inference after another."""
    width = formatting.plural(threads, "thread") if threads else "all threads"
    return f"batch {batch}, {width}, {SCENARIOS.get(scenario, scenario)}"


def shared(row: Measurement, *, with_batch: bool = True) -> str:
    """What results of one key share beside device and runtime, as far as columns say.

    Batches that were chosen by throughput may differ under one key.
    """
    words = conditions(row.batch, row.threads, row.scenario)
    if not with_batch:
        words = words.replace(f"batch {row.batch}", "batch of the highest throughput")
    if row.concurrency > 1:
        words += f", {row.concurrency} in flight"
    if row.latency_bound_ms is not None:
        words += f", latency bound {latency(row.latency_bound_ms)}"
    return words if row.call_style == "run" else f"{words}, {STYLES[row.call_style]}"


def shapes(inputs: Iterable[Any]) -> str:
    """Types and shapes of inputs: float32[1, 3, 224, 224]."""
    words = [
        f"{one[0]}[{', '.join(str(size) for size in one[1])}]"
        for one in inputs
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], list)
    ]
    more = len(words) - SHAPES
    return ", ".join(words[:SHAPES]) + (f" and {more} more" if more > 0 else "")


def reasons(codes: Iterable[str]) -> str:
    """Why a result is not ranked, or what a verdict rests on, in words."""
    return "; ".join(REASONS.get(code, str(code)) for code in codes)


def why(row: Measurement) -> str:
    """Why a result is not ranked; a spread between processes with its own figure and limit."""
    words = reasons(row.reasons)
    if SPREAD not in row.reasons or row.between_process_cv is None:
        return words
    limit = "the limit"
    if "record" not in row.get_deferred_fields():
        gate = row.typed_record.gate
        if "between_process_cv" in gate:
            limit = f"the {formatting.share(summary.limit(gate, 'between_process_cv'))} limit"
    difference = f"the processes differ by {formatting.share(row.between_process_cv)}"
    return words.replace(REASONS[SPREAD], f"{difference}, more than {limit}")


def address(row: Measurement) -> str:
    """The page of a result."""
    return version_head.place(row.variant.version, "benchmark", row.pk)
