"""One result of a benchmark in words: its conditions, and why it is not ranked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from frontend.parts import formatting, labels
from frontend.presenters import figures, version_head
from hub.protocol import phrases
from hub.protocol.figures import Unit
from runners.engine.benchmark import summary
from runners.models import Measurement

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


def latency(milliseconds: float | None) -> str:
    """A latency with its unit; empty for none."""
    return figures.number(milliseconds, Unit.MILLISECOND) if milliseconds else ""


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
        f"{port[0]}[{', '.join(str(size) for size in port[1])}]"
        for port in inputs
        if isinstance(port, list) and len(port) == 2 and isinstance(port[1], list)
    ]
    return phrases.enumeration(words, SHAPES)


def why(row: Measurement) -> str:
    """Why a result is not ranked; a spread between processes with its own figure and limit."""
    words = figures.reasons(row.reasons)
    if figures.SPREAD not in row.reasons or row.between_process_cv is None:
        return words
    limit = "the limit"
    if "record" not in row.get_deferred_fields():
        gate = row.typed_record.gate
        if "between_process_cv" in gate:
            limit = f"the {formatting.share(summary.limit(gate, 'between_process_cv'))} limit"
    difference = f"the processes differ by {formatting.share(row.between_process_cv)}"
    return words.replace(figures.REASONS[figures.SPREAD], f"{difference}, more than {limit}")


def address(row: Measurement) -> str:
    """The page of a result."""
    return version_head.place(row.variant.version, "benchmark", row.pk)
