"""What a result of a benchmark tells beside its samples: processes, machine, operators, command.

A contributed record may hold anything where its format is open: what is no number is no figure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from frontend.parts import formatting
from frontend.presenters import measurements
from hub.protocol.stored import mapping
from hub.protocol.stored import rows as objects
from runners.benchmarks import browser_runs
from runners.engine.benchmark import batches, bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runners.benchmarks import samples as stored
    from runners.models import Measurement

OPERATORS_SHOWN = 40
_HIDDEN = {"not-exposed": "not reported by the machine", "not-applicable": "not applicable"}


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a run in words."""

    ordinal: int
    state: str
    why: str
    samples: int
    p50: str
    load: str
    first: str
    warmup: str
    memory: str
    switches: str
    readings: str
    url: str


def told(processes: Sequence[stored.Process]) -> list[Process]:
    """The processes as a table, each with the range of its own samples."""
    rows, at = [], 0
    for one in processes:
        size = len(one.samples_ns)
        ordered = sorted(one.samples_ns)
        report = one.told
        rows.append(
            Process(
                ordinal=one.ordinal,
                state="excluded" if one.rejected else "counts",
                why=measurements.reasons(one.reasons),
                samples=size,
                p50=measurements.latency(ordered[(size - 1) // 2] / 1e6) if size else "",
                load=_milliseconds(report.get("session_load_ms")),
                first=_milliseconds(report.get("first_inference_ms")),
                warmup=f"{report.get('warmup_count', '')}",
                memory=_bytes(report.get("peak_rss_bytes")),
                switches=reading(report.get("involuntary_switches")),
                readings=_readings(report.get("interference")),
                url=f"?{urlencode({'from': at, 'to': at + size})}#samples" if size else "",
            )
        )
        at += size
    return rows


def _readings(readings: Any) -> str:
    """What else the machine did meanwhile."""
    if not isinstance(readings, dict):
        return ""
    named = {
        "psi_cpu_some": "waiting",
        "foreign_cpu": "others",
        "steal": "stolen",
        "throttled": "stopped",
        "foreign_gpu_pids": "on the GPU",
    }
    shares = {"psi_cpu_some", "foreign_cpu", "steal"}
    return ", ".join(
        f"{words} {formatting.share(readings[name]) if name in shares else readings[name]}"
        for name, words in named.items()
        if isinstance(readings.get(name), int | float)
    )


def _milliseconds(value: Any) -> str:
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
        return ", ".join(reading(one) for one in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {reading(one)}" for name, one in value.items()) or "none"
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


def figures(row: Measurement) -> list[tuple[str, str, str]]:
    """What else was measured of a result: name, value, the kind of its evidence."""
    stats = row.record.get("stats") or {}
    memory = formatting.size(row.peak_rss_bytes) if row.peak_rss_bytes else ""
    emissions = (
        f"{formatting.figure(row.carbon_g * 1e3)} g CO₂e" if row.carbon_g is not None else ""
    )
    options = mapping(mapping(row.record.get("provider")).get("options"))
    rows = [
        *((f"Option {name}", reading(value), "declared") for name, value in options.items()),
        ("Throughput, of all processes", measurements.throughput(row.throughput_per_s), "measured"),
        *_loads(row),
        ("Processor time, mean of processes", measurements.latency(row.cpu_ms), "measured"),
        ("Peak memory", memory, "measured"),
        ("Loading", _typical(stats.get("session_load_ms")), "measured"),
        ("First inference", _typical(stats.get("first_inference_ms")), "measured"),
        ("Energy of 1 000 inferences", measurements.energy(row), row.energy_provenance),
        ("Carbon of 1 000 inferences", emissions, row.carbon_provenance),
    ]
    return [
        (name, value or measurements.NOT_MEASURED, kind if value else "none")
        for name, value, kind in rows
    ]


def _typical(value: Any) -> str:
    return measurements.latency(value) if isinstance(value, int | float) else ""


def percentiles(row: Measurement) -> list[tuple[str, str, str]]:
    """Name, latency, and what it takes to say more: of too few samples none is published."""
    stats = row.record.get("stats") or {}
    latency = stats.get("latency_ms") or {}
    stopping = stats.get("early_stopping") or {}
    rows = []
    # Its interval is of this one, and not of the median of all samples.
    middle = stats.get("p50_of_processes_ms")
    if isinstance(middle, int | float):
        between = measurements.interval(row)
        note = f"95 % interval {between}" if between else ""
        rows.append(("p50 of processes", measurements.latency(middle), note))
    for name in ("min", "p50", "p90", "p95", "p99", "p99.9", "max"):
        value = latency.get(name)
        needed = (stopping.get(name) or {}).get("samples_needed")
        if isinstance(value, int | float):
            rows.append(
                (name, measurements.latency(value), "of all samples" if name == "p50" else "")
            )
        elif name in stopping:
            requirement = f"needs {formatting.grouped(needed)} samples" if needed else ""
            rows.append((name, "not published", requirement))
    return rows


def operators(row: Measurement) -> list[dict[str, Any]]:
    """What each operator took in the profiled process, the longest first."""
    rows = objects(mapping(row.record.get("per_operator")).get("operators"))
    times = [_positive(one.get("time_ms")) or 0.0 for one in rows]
    whole = sum(times) or 1.0
    listed: list[dict[str, Any]] = []
    for one, time in zip(rows, times, strict=True):
        share_reported = _positive(one.get("share"))
        share = time / whole if share_reported is None else share_reported
        provider = str(one.get("provider", ""))
        listed.append(
            {
                "operator": str(one.get("operator", one.get("op", ""))),
                "inside": one.get("contains_others") is True,
                "count": one.get("nodes", one.get("count", "")),
                "provider": measurements.PROVIDERS.get(provider, provider),
                "time": measurements.latency(time),
                "share": formatting.share(min(1.0, share)),
                "bar": round(100 * min(1.0, share), 2),
            }
        )
    order = sorted(range(len(listed)), key=lambda place: -times[place])
    return [listed[place] for place in order[:OPERATORS_SHOWN]]


def _loads(row: Measurement) -> list[tuple[str, str, str]]:
    """What a bound and a choice of batches make of the throughput."""
    config, stats = mapping(row.record.get("config")), mapping(row.record.get("stats"))
    rows = []
    if bound := mapping(stats.get("under_bound")):
        words = f"Throughput with {bound['percentile']} within {bound['bound_ms']:g} ms"
        value = measurements.throughput(_positive(bound.get("throughput_per_s")))
        rows.append((words, value or "not met", "measured"))
        rows += [
            (
                _at_rate(one),
                _estimate(one, str(bound["percentile"])),
                "measured",
            )
            for one in objects(mapping(config.get("bound")).get("trials"))
        ]
    tried = mapping(config.get("batches"))
    rows += [
        (
            f"Throughput of batch {one['batch']}",
            measurements.throughput(batches.throughput(one)),
            "measured",
        )
        for one in objects(tried.get("tried"))
    ]
    if tried.get("choice") == batches.FIXED:
        rows.append(("Batch", f"{row.batch}, fixed by the model", "measured"))
    return rows


def _at_rate(trial: dict[str, Any]) -> str:
    rate = trial["rate_per_s"]
    words = formatting.grouped(round(rate)) if rate >= 100 else formatting.figure(rate)
    all_of_them = f", {trial['processes']} processes" if trial["processes"] > 1 else ""
    return f"At {words} arrivals per second{all_of_them}"


def _estimate(trial: dict[str, Any], percentile: str) -> str:
    estimate = _positive(trial.get("estimate_ms"))
    words = f"{percentile} estimate {measurements.latency(estimate)}" if estimate else ""
    return words or f"too few samples for {percentile}"


def _load_options(row: Measurement, config: dict[str, Any]) -> list[str]:
    """The options of `hub bench` for the load of a result."""
    parts = []
    bound, chosen = mapping(config.get("bound")), mapping(config.get("batches"))
    rate = _positive(config.get("rate_per_s"))
    if rate and bound.get("rate") != bounds.SEARCH:
        parts.append(f"--rate {rate:g}")
    if row.concurrency > 1:
        parts.append(f"--concurrency {row.concurrency}")
    if row.latency_bound_ms is not None:
        parts.append(f"--latency-bound {row.latency_bound_ms:g}")
        if bound.get("percentile") != "p99":
            parts.append(f"--percentile {bound.get('percentile')}")
    if chosen.get("choice") == batches.CHOSEN:
        parts.append(f"--most-batch {chosen.get('most')}")
    elif row.batch != 1 and not chosen:
        parts.append(f"--batch {row.batch}")
    return parts


def _positive(value: Any) -> float | None:
    """A number from nought up; a contributed record may hold anything here."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return float(value)


def command(row: Measurement) -> str:
    """What repeats the run on the reader's own machine; empty for what ran on a page."""
    if row.runtime == browser_runs.RUNTIME:
        return ""
    version = row.variant.version
    config = row.record.get("config") or {}
    parts = [f"hub bench {version.ref}:{row.variant.name}"]
    if row.runtime != "onnxruntime":
        parts.append(f"--runtime {row.runtime}")
    if row.provider and row.provider != "CPUExecutionProvider":
        parts.append(f"--provider {row.provider}")
    options = mapping(mapping(row.record.get("provider")).get("options"))
    parts += [f"--option {name}={json.dumps(value).strip(chr(34))}"
              for name, value in options.items()]  # fmt: skip
    if row.scenario != "single_stream":
        parts.append(f"--scenario {row.scenario}")
    parts += _load_options(row, config)
    if row.threads not in (0, 1):
        parts.append(f"--threads {row.threads}")
    if row.call_style != "run":
        parts.append(f"--call-style {row.call_style}")
    if config.get("seed"):
        parts.append(f"--seed {config['seed']}")
    return " ".join(parts)
