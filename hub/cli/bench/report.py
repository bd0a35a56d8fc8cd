"""A record as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from hub import counting
from hub.protocol.figures import Kind, Status
from hub.protocol.intervals import Level

_READINGS = ("psi_cpu_some", "foreign_cpu", "steal")
# What a machine may not report.
_MACHINE = dict.fromkeys(("cpu_model", "os", "runtime_version", "usable_cpus"))
# Labels of lines and their words, with fields of the record; a time has the format `ms`, an amount
# of memory `size`.
_SETUP = {
    "model": "{name}  {model[entry]}",
    "host": "{environment[cpu_model]}, {environment[usable_cpus]} usable CPU cores, "
    "{environment[os]}",
    "with": "{provider[runtime]} {environment[runtime_version]}, {nodes}, "
    "threads {config[intra_op_threads]}, batch {config[batch]}, {config[scenario]}{overlap}, "
    "{config[call_style]}",
    "inputs": "{ports}",
}
_RATES = {
    "spread": "{between_process_cv:.1%} between processes",
    "throughput": "{throughput_per_s:,.6g} samples per second, over all processes",
}
_COSTS = {
    "processor": "{cpu_ms_per_inference:ms} of CPU time per inference",
    "loading": "{session_load_ms:ms}, first {first_inference_ms:ms}",
    "memory": "peak {peak_rss_bytes:size}, {above_floor_rss_bytes:size} above the runtime alone",
}
_GPU_MEMORY = {"GPU memory": "{peak_device_bytes:size}, its context included"}


class _Words(Formatter):
    """Writes times in milliseconds and amounts of memory, which may not be measured."""

    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "ms":
                return _ms(value)
            case "size":
                return _size(value)
        return str(super().format_field(value, format_spec))


def _lines(templates: Mapping[str, str], fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(label, _Words().vformat(words, (), fields)) for label, words in templates.items()]


def of_record(record: dict[str, Any], name: str) -> list[str]:
    """Sum up one record in lines of a label and its words."""
    config = record["config"]
    fields = record | {
        "name": name,
        "environment": _MACHINE | record["environment"],
        "nodes": _provider(record["provider"]),
        "overlap": _overlap(config),
        "ports": ", ".join(f"{port['name']} {port['shape']}" for port in config["inputs"]),
    }
    lines = [
        *_lines(_SETUP, fields),
        *(_figures(record) if record["stats"] else ()),
        ("energy", _energy(record["energy"])),
        ("carbon", _carbon(record["carbon"])),
        ("status", _status(record)),
    ]
    return [f"{label:<11} {text}" for label, text in lines]


def _overlap(config: dict[str, Any]) -> str:
    count = config.get("concurrency", 1)
    return f" with {count} requests in flight" if count > 1 else ""


def _provider(provider: dict[str, Any]) -> str:
    nodes = ", ".join(f"{name} {count}" for name, count in provider["nodes_by_provider"].items())
    words = f"{provider['claimed']} (nodes: {nodes})" if nodes else str(provider["claimed"])
    options = ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in provider.get("options", {}).items()
    )
    return f"{words} with {options}" if options else words


def _figures(record: dict[str, Any]) -> list[tuple[str, str]]:
    stats = record["stats"]
    latency = stats["latency_ms"]
    between = ""
    if stats["p50_ci95_ms"]:
        low, high = stats["p50_ci95_ms"]
        processes = counting.plural(stats["n_processes"], "process", "processes")
        between = f"   {Level.FIGURE.words} over {processes}: {_ms(low)} to {_ms(high)}"
    lines = [("p50", f"{_ms(stats['p50_of_processes_ms'])}{between}")]
    for name in ("p90", "p99", "p99.9"):
        needed = stats["early_stopping"][name]["samples_needed"]
        few = f"not reported: needs {needed:,} samples, has {stats['n_samples']:,}"
        lines.append((name, few if latency[name] is None else _ms(latency[name])))
    has_device = isinstance(stats["peak_device_bytes"], int)
    return [
        *lines,
        *_lines(_RATES, stats),
        *_load(record),
        *_lines(_COSTS, stats),
        *_lines(_GPU_MEMORY if has_device else {}, stats),
    ]


def _load(record: dict[str, Any]) -> list[tuple[str, str]]:
    """What was found before the measurement: a rate within a bound, a batch."""
    config, lines = record["config"], []
    if bound := record["stats"].get("under_bound"):
        estimate = _ms(bound["estimate_ms"])
        limit = f"within {bound['bound_ms']:g} ms (estimate {estimate})"
        if bound["is_within"]:
            rate = f"{bound['throughput_per_s']:,.6g} samples per second"
            words = f"{rate} with {bound['percentile']} {limit}"
        else:
            rate = f"{config['rate_per_s']:g} requests per second"
            words = f"{bound['percentile']} is not {limit} at {rate}"
        tried = [
            f"{trial['rate_per_s']:g}: {_ms(trial['estimate_ms'])}"
            for trial in config["bound"]["trials"]
        ]
        lines.append(("bound", words))
        if tried:
            lines.append(("rates tried", ", ".join(tried)))
    if tried := config.get("batches", {}).get("tried"):
        rates = [
            f"{trial['batch']}: {trial['batch'] * trial['inferences'] / trial['wall_s']:,.4g}/s"
            for trial in tried
            if trial["wall_s"]
        ]
        ended = config["batches"]["ended"]
        lines.append(("batches", f"{', '.join(rates)} (ended: {ended})"))
    elif "batches" in config:
        lines.append(("batches", f"the model fixes the batch at {config['batch']}"))
    return lines


def _status(record: dict[str, Any]) -> str:
    from runners.engine.benchmark.record import REJECTED  # noqa: PLC0415 - as all of the engine

    counts = record["accounting"]
    status = record["status"]
    if record["failure"]:
        return f"{status}: {record['failure']['message']}"
    if status == REJECTED:
        waited = record["quiet"]["waited_s"]
        return (
            f"{status}: the host was still busy after {waited:.0f} s; use --anyway to measure "
            "regardless"
        )
    processes = counting.plural(counts["attempted"], "process", "processes")
    words = f"{status}: {counts['kept']} of {processes} used"
    if not record["reasons"]:
        return words
    reasons = ", ".join(record["reasons"])
    worst = [f"{name} up to {most:.2f}" for name in _READINGS if (most := _most(record, name))]
    return f"{words} ({reasons}); {', '.join(worst)}"


def _most(record: dict[str, Any], name: str) -> float:
    values = [process["interference"][name] for process in record["processes"]]
    return max((value for value in values if not isinstance(value, str)), default=0.0)


def _energy(energy: dict[str, Any]) -> str:
    joules = energy.get("j_per_inference")
    if joules is None:
        return "none: no energy meter found and --watts-per-core not given"
    is_estimate = energy["provenance"] == Kind.ESTIMATED
    figure = f"≈ {joules:.2g}" if is_estimate else f"{joules:.4g}"
    return f"{figure} J per inference ({energy['provenance']}: {energy['method']})"


def _carbon(carbon: dict[str, Any]) -> str:
    if carbon["provenance"] == "none":
        return "none: needs an energy figure and --region"
    return (
        f"≈ {carbon['g_co2e_per_inference']:.2g} g CO2e per inference "
        f"({carbon['grid_region']} {carbon['grid_year']}, {carbon['grid_g_per_kwh']:g} g/kWh)"
    )


def of_verdict(verdict: dict[str, Any], names: tuple[str, str]) -> list[str]:
    """Say what a comparison found."""
    lines = [f"baseline    {names[0]}", f"candidate   {names[1]}"]
    level = Level.COMPARISON.words
    for label, key in (("p50", "wall_ratio"), ("processor", "cpu_ratio")):
        ratio = verdict[key]
        if ratio:
            lines.append(f"{label:<11} x {ratio[0]:.4g}   {level} {ratio[1]:.4g} to {ratio[2]:.4g}")
    why = f" ({', '.join(verdict['reasons'])})" if verdict["reasons"] else ""
    if verdict["differs"]:
        lines.append(f"differs in  {', '.join(verdict['differs'])}")
    return [*lines, f"verdict     {verdict['word']}{why}"]


def _ms(value: float | None) -> str:
    return str(Status.UNMEASURED) if value is None else f"{value:.4g} ms"


def _size(count: Any) -> str:
    return str(count) if isinstance(count, str) else f"{count / 1e6:.1f} MB"
