"""What a result of a benchmark tells beside its samples: processes, machine, operators, command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from frontend.parts import formatting
from frontend.presenters import figures, measurements
from hub.protocol import benchmark_metrics
from hub.protocol.figures import Unit
from runners.benchmarks import browser_runs
from runners.engine.benchmark import batches, bounds, typed_record

if TYPE_CHECKING:
    from runners.engine.benchmark.typed_record import Reading
    from runners.models import Measurement

OPERATORS_SHOWN = 40
# Latencies stand above these.
_METRICS = [
    metric
    for metric in benchmark_metrics.ALL
    if metric.unit is not Unit.MILLISECOND or metric.source
]
_HIDDEN = {"not-exposed": "not reported by the machine", "not-applicable": "not applicable"}


def table(processes: Sequence[typed_record.Process]) -> list[dict[str, Any]]:
    """The processes as a table, each with the range of its own samples."""
    rows, at = [], 0
    for process in processes:
        size = len(process.samples_ns)
        ordered = sorted(process.samples_ns)
        rows.append(
            {
                "ordinal": process.ordinal,
                "state": "excluded" if process.rejected else "counts",
                "why": figures.reasons(process.reasons),
                "samples": size,
                "p50": measurements.latency(ordered[(size - 1) // 2] / 1e6) if size else "",
                "load": _milliseconds(process.session_load_ms),
                "first": _milliseconds(process.first_inference_ms),
                "warmup": str(process.warmup_count),
                "memory": _bytes(process.peak_rss_bytes),
                "switches": reading(process.involuntary_switches),
                "readings": _interference(process.interference),
                "url": f"?{urlencode({'from': at, 'to': at + size})}#samples" if size else "",
            }
        )
        at += size
    return rows


def _interference(readings: Mapping[str, float]) -> str:
    """What else the machine did meanwhile."""
    names = {
        "psi_cpu_some": "waiting",
        "foreign_cpu": "others",
        "steal": "stolen",
        "throttled": "stopped",
        "foreign_gpu_pids": "on the GPU",
    }
    shares = {"psi_cpu_some", "foreign_cpu", "steal"}
    return ", ".join(
        f"{words} {formatting.share(readings[name]) if name in shares else readings[name]}"
        for name, words in names.items()
        if name in readings
    )


def _milliseconds(value: Reading) -> str:
    return measurements.latency(value) if isinstance(value, int | float) else reading(value)


def _bytes(value: Any) -> str:
    return formatting.size(int(value)) if isinstance(value, int | float) else reading(value)


def reading(value: Any) -> str:
    """A reading in words: what a machine hides is said, never blank."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return formatting.figure(value)
    if isinstance(value, list):
        return ", ".join(reading(part) for part in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {reading(part)}" for name, part in value.items()) or "none"
    return _HIDDEN.get(str(value), str(value))


def environment(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The machine as it was, each part by its name."""
    return [
        (
            str(name).replace("_", " "),
            _bytes(value) if str(name).endswith("_bytes") else reading(value),
        )
        for name, value in parts.items()
    ]


def facts(row: Measurement) -> list[tuple[str, str, str]]:
    """What else was measured of a result: name, value, the kind of its evidence."""
    record = row.typed_record
    options = record.provider.options.items()
    metrics = [(metric.label, row.figure(metric)) for metric in _METRICS]
    rows = [
        *((f"Option {name}", reading(value), "declared") for name, value in options),
        *(
            (label, figures.text(figure), figure.kind if figure.is_known else "")
            for label, figure in metrics
        ),
        *_loads(row),
        *_gpu_memory(record.stats.peak_device_bytes),
        ("Loading", _typical(record.stats.session_load_ms), "measured"),
        ("First inference", _typical(record.stats.first_inference_ms), "measured"),
    ]
    return [
        (name, figures.or_unmeasured(value), kind if value and kind else "none")
        for name, value, kind in rows
    ]


def _gpu_memory(count: int | None) -> list[tuple[str, str, str]]:
    return [] if count is None else [("GPU memory", formatting.size(count), "measured")]


def _typical(value: float | None) -> str:
    return "" if value is None else measurements.latency(value)


def percentiles(row: Measurement) -> list[tuple[str, str, str]]:
    """Name, latency, and what it takes to say more: of too few samples none is published."""
    stats = row.typed_record.stats
    rows = []
    # Its interval is of this one, and not of the median of all samples.
    if stats.p50_of_processes_ms is not None:
        note = figures.interval_sentence(row.p50)
        rows.append(("p50 of processes", measurements.latency(stats.p50_of_processes_ms), note))
    for name in ("min", "p50", "p90", "p95", "p99", "p99.9", "max"):
        if name in stats.latency_ms:
            note = "of all samples" if name == "p50" else ""
            rows.append((name, measurements.latency(stats.latency_ms[name]), note))
        elif name in stats.samples_needed:
            needed = formatting.grouped(stats.samples_needed[name])
            rows.append((name, "not published", f"needs {needed} samples"))
    return rows


def operators(row: Measurement) -> list[dict[str, Any]]:
    """What each operator took in the profiled process, the longest first."""
    rows = sorted(row.typed_record.operators, key=lambda operator: -(operator.time_ms or 0))
    whole = sum(operator.time_ms or 0 for operator in rows) or 1.0
    return [
        {
            "operator": operator.operator,
            "inside": operator.contains_others,
            "count": "" if operator.nodes is None else str(operator.nodes),
            "provider": measurements.PROVIDERS.get(operator.provider, operator.provider),
            "time": measurements.latency(operator.time_ms),
            "share": formatting.share(share),
            "bar": round(100 * share, 2),
        }
        for operator in rows[:OPERATORS_SHOWN]
        for share in [
            min(1.0, (operator.time_ms or 0) / whole if operator.share is None else operator.share)
        ]
    ]


def _loads(row: Measurement) -> list[tuple[str, str, str]]:
    """What a bound and a choice of batches make of the throughput."""
    load, stats = row.typed_record.load, row.typed_record.stats
    rows = []
    if stats.n_samples and load.latency_bound_ms is not None:
        words = f"Throughput with {load.percentile} within {load.latency_bound_ms:g} ms"
        rate = stats.under_bound_per_s
        value = "not met" if rate is None else figures.number(rate, Unit.PER_SECOND)
        rows.append((words, value, "measured"))
        rows += [
            (_at_rate(trial), _estimate(trial, load.percentile), "measured") for trial in load.rates
        ]
    rows += [
        (
            f"Throughput of batch {batch.batch}",
            figures.number(batch.throughput_per_s, Unit.PER_SECOND),
            "measured",
        )
        for batch in load.batches
    ]
    if load.batch_choice == batches.FIXED:
        rows.append(("Batch", f"{row.batch}, fixed by the model", "measured"))
    return rows


def _at_rate(trial: bounds.RateTrial) -> str:
    rate = trial.rate_per_s
    words = formatting.grouped(round(rate)) if rate >= 100 else formatting.figure(rate)
    all_of_them = f", {trial.processes} processes" if trial.processes > 1 else ""
    return f"At {words} arrivals per second{all_of_them}"


def _estimate(trial: bounds.RateTrial, percentile: str) -> str:
    if not trial.estimate_ms:
        return f"too few samples for {percentile}"
    return f"{percentile} estimate {measurements.latency(trial.estimate_ms)}"


def command(row: Measurement) -> str:
    """What repeats the run on the reader's own machine; empty for what ran on a page."""
    if row.runtime == browser_runs.RUNTIME:
        return ""
    record, bound = row.typed_record, row.latency_bound_ms
    load, rate = record.load, record.config.rate_per_s
    is_by_throughput = load.batch_choice == batches.BY_THROUGHPUT
    # Each option of `hub bench`, its value, and the value that it has where it is left out.
    options = [
        ("--runtime", row.runtime, "onnxruntime"),
        ("--provider", row.provider, "CPUExecutionProvider"),
        *(
            ("--option", f"{name}={json.dumps(value).strip(chr(34))}", "")
            for name, value in record.provider.options.items()
        ),
        ("--scenario", row.scenario, "single_stream"),
        ("--rate", f"{rate:g}" if rate and load.rate != bounds.SEARCH else "", ""),
        ("--concurrency", row.concurrency, 1),
        ("--latency-bound", "" if bound is None else f"{bound:g}", ""),
        ("--percentile", "" if bound is None else load.percentile, "p99"),
        ("--most-batch", load.most_batch if is_by_throughput else "", ""),
        ("--batch", "" if load.batch_choice else row.batch, 1),
        ("--threads", row.threads, 1),
        ("--call-style", row.call_style, "run"),
        ("--seed", record.config.seed, ""),
    ]
    parts = [f"{name} {value}" for name, value, default in options if value and value != default]
    return " ".join([f"hub bench {row.variant.version.ref}:{row.variant.name}", *parts])
