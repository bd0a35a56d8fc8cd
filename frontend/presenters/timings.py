"""Results of benchmarks as rows of tables: by comparability key, ranked inside it alone.

Noisy results are grey and have no rank. What nobody has verified stands in a table of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting, labels
from frontend.parts.svg import latency_strips
from frontend.presenters import version_head
from runners.benchmarks import browser_runs, selectors, timelines
from runners.engine.benchmark import summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from registry.models import Variant
    from runners.models import Measurement

NOT_MEASURED = "not measured"
# Rows of the overview.
OVERVIEW = 8
SHAPES = 3
SCENARIOS = {
    "single_stream": "one inference after another",
    "multi_stream": "eight consecutive inferences per query",
    "server": "random arrival times",
    "offline": "one inference after another, for throughput",
}
STYLES = {"run": "arrays in and out", "io_binding": "bound inputs and outputs"}
PROVIDERS = {
    "CPUExecutionProvider": "CPU",
    "CUDAExecutionProvider": "CUDA",
    "TensorrtExecutionProvider": "TensorRT",
    "OpenVINOExecutionProvider": "OpenVINO",
    "WasmExecutionProvider": "WASM",
}
FILTERS = {
    "device": "Device",
    "runtime": "Runtime",
    "precision": "Precision",
    "batch": "Batch",
    "scenario": "Load",
}
SPREAD = "spread-between-processes"
# The reasons of a record in words; one that is not here stands as it is.
REASONS = {
    "too-few-processes": "too few processes finished",
    "nothing-readable": "the machine does not report its load",
    "gpu-not-readable": "other processes on the GPU could not be detected",
    "interference": "the machine was busy during too many processes",
    "spread-between-processes": "the processes differ by more than the limit",
    "host-busy": "the machine was never idle",
    "every-process-died": "all processes crashed",
    "cpu-pressure": "tasks waited for a CPU",
    "foreign-cpu": "other tasks used the CPU",
    "steal": "the hypervisor took CPU time",
    "throttled": "its control group was throttled",
    "foreign-gpu-process": "other processes used the GPU",
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


@dataclass(frozen=True, slots=True)
class Timing:
    """One result as a table shows it."""

    url: str
    title: str
    about: str
    device: str
    device_url: str
    variant: str
    precision: str
    ref: str
    ref_url: str
    rank: int | None
    status: str
    reasons: str
    contributor: str
    # What vouches for a contributed result; empty where nothing does.
    worker: str
    p50: str
    interval: str
    p95: str
    throughput: str
    energy: str
    energy_kind: str
    memory: str
    samples: int
    processes: int
    at: Any
    strip: SafeString


@dataclass(frozen=True, slots=True)
class Group:
    """Results that may be compared with each other, and what they share."""

    title: str
    about: str
    key: str
    rows: tuple[Timing, ...]
    ranked: int


@dataclass(frozen=True, slots=True)
class Brief:
    """One result in a few words."""

    p50: str
    device: str
    runtime: str
    url: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The results of one variant for its overview, and how many its version has."""

    axis: latency_strips.Axis | None
    rows: tuple[Timing, ...]
    count: int

    @property
    def head(self) -> SafeString:
        return latency_strips.head(self.axis) if self.axis else mark_safe("")


@dataclass(frozen=True, slots=True)
class Choice:
    """One select of the filters."""

    name: str
    title: str
    values: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Groups on one axis."""

    axis: latency_strips.Axis | None
    groups: tuple[Group, ...]
    left_out: int = 0
    # What people sent and no enrolled worker signed.
    unverified: tuple[Group, ...] = ()

    @property
    def head(self) -> SafeString:
        return latency_strips.head(self.axis) if self.axis else mark_safe("")

    @property
    def count(self) -> int:
        return sum(len(group.rows) for group in (*self.groups, *self.unverified))


def table(
    rows: Sequence[Measurement], *, most: int = 100, named: bool = False, left_out: int = 0
) -> Table:
    """Results as groups on one axis; ``named`` says of which model each is.

    ``left_out`` counts those that were left out of the rows already.
    """
    found = selectors.groups(rows)
    kept: list[selectors.Group] = []
    shown = 0
    for group in found:
        if shown and shown + len(group.rows) > most:
            break
        kept.append(group)
        shown += len(group.rows)
    inputs = timelines.inputs_of(group.key for group in kept)
    listed = [row for group in kept for row in group.rows][: latency_strips.MOST_READ]
    spreads = {row.pk: latency_strips.spread_of(row) for row in listed if row.p50_ms}
    axis = latency_strips.axis_of(
        value
        for group in kept
        for row in group.rows
        for value in (row.p50_ms, row.p95_ms, *spreads.get(row.pk, latency_strips.Spread()).ends)
    )
    shaped = [(group, shapes(inputs.get(group.key, []))) for group in kept]
    return Table(
        axis,
        tuple(
            _group(group, (*group.ranked, *group.unranked), axis, spreads, shape, named=named)
            for group, shape in shaped
            if group.ranked or group.unranked
        ),
        left_out + len(rows) - shown,
        tuple(
            _group(group, group.unverified, axis, spreads, shape, named=named)
            for group, shape in shaped
            if group.unverified
        ),
    )


def _group(
    group: selectors.Group,
    listed: Sequence[Measurement],
    axis: latency_strips.Axis | None,
    spreads: Mapping[int, latency_strips.Spread],
    inputs: str,
    *,
    named: bool,
) -> Group:
    first = group.first
    return Group(
        title=f"{first.device_title}, {runtime_of(first)}",
        about=f"{shared(first)}, {inputs}" if inputs else shared(first),
        key=group.key,
        rows=tuple(
            timing(row, axis, spreads.get(row.pk), selectors.rank_of(row, group), named=named)
            for row in listed
        ),
        ranked=sum(row.is_ranked for row in listed),
    )


def timing(
    row: Measurement,
    axis: latency_strips.Axis | None = None,
    spread: latency_strips.Spread | None = None,
    rank: int | None = None,
    *,
    named: bool = False,
) -> Timing:
    """One result in words."""
    variant = row.variant
    version = variant.version
    drawn = (
        latency_strips.draw(
            axis,
            spread or latency_strips.Spread(),
            median=row.p50_ms,
            p95=row.p95_ms,
            tone=tone(row),
            noisy=not row.is_ranked,
        )
        if axis is not None and row.p50_ms
        else mark_safe("")
    )
    title = f"{variant.name}, {variant.precision or 'precision not read'}"
    return Timing(
        url=address(row),
        title=title,
        about=f"{runtime_of(row)}, {variant.precision or variant.name}",
        device=row.device_title,
        device_url=reverse("device", args=[row.device]),
        variant=variant.name,
        precision=variant.precision,
        ref=f"{version.ref}:{variant.name}" if named else "",
        ref_url=_version_url(row) if named else "",
        rank=rank,
        status=row.status,
        reasons=why(row),
        contributor=row.contributor.username if row.contributor else "",
        worker=row.enrolled_worker.name if row.enrolled_worker and row.is_trusted else "",
        p50=latency(row.p50_ms),
        interval=interval(row),
        p95=latency(row.p95_ms),
        throughput=throughput(row.throughput_per_s),
        energy=energy(row),
        energy_kind=row.energy_provenance,
        memory=formatting.size(row.peak_rss_bytes) if row.peak_rss_bytes else "",
        samples=row.samples,
        processes=row.processes,
        at=row.at,
        strip=drawn,
    )


def tone(row: Measurement) -> str:
    """What colours a result: where it ran."""
    return "web" if row.runtime == browser_runs.RUNTIME else row.device_kind


def brief(row: Measurement) -> Brief:
    """A result where there is room for little."""
    return Brief(
        latency(row.p50_ms), row.device_title, runtime_of(row), reverse("device", args=[row.device])
    )


def overview(rows: Sequence[Measurement], variant: Variant | None) -> Overview:
    """The results of one variant, one inference at a time, from the fastest, on one axis.

    Different devices stand on it, each named; that is no ranking.
    """
    mine = [
        row
        for row in rows
        if variant is not None
        and row.variant_id == variant.pk
        and row.p50_ms
        and row.scenario == "single_stream"
        and row.batch == 1
    ]
    mine.sort(key=lambda row: (not row.is_trusted, not row.is_ranked, row.p50_ms or 0))
    listed = mine[:OVERVIEW]
    spreads = {row.pk: latency_strips.spread_of(row) for row in listed}
    axis = latency_strips.axis_of(
        value
        for row in listed
        for value in (row.p50_ms, row.p95_ms, *spreads.get(row.pk, latency_strips.Spread()).ends)
    )
    return Overview(
        axis, tuple(timing(row, axis, spreads.get(row.pk)) for row in listed), len(rows)
    )


def latency(milliseconds: float | None) -> str:
    """A latency in words; empty where it is not told."""
    return formatting.duration(milliseconds / 1e3) if milliseconds else ""


def interval(row: Measurement) -> str:
    """The interval of a median: 1.2 ms to 1.4 ms; empty where there is none."""
    if row.p50_low_ms is None or row.p50_high_ms is None:
        return ""
    return f"{latency(row.p50_low_ms)} to {latency(row.p50_high_ms)}"


def throughput(each_second: float | None) -> str:
    """Samples in a second, of all processes over all of their timed seconds; empty if not told."""
    return f"{formatting.figure(each_second)}{formatting.NARROW}/s" if each_second else ""


def energy(row: Measurement) -> str:
    """Energy of a thousand inferences, in joules; an estimate has two digits and says about."""
    if row.energy_j is None:
        return ""
    joules = row.energy_j * 1e3
    if row.energy_provenance != "estimated":
        return f"{formatting.figure(joules)}{formatting.NARROW}J"
    return f"≈{formatting.NARROW}{formatting.figure(float(f'{joules:.2g}'))}{formatting.NARROW}J"


def runtime_of(row: Measurement) -> str:
    """ONNX Runtime 1.31.1 CUDA, for a result with that provider."""
    said = runtime(row.runtime, row.provider, row.runtime_version)
    return f"{said}, partly on other providers" if row.partial else said


def runtime(name: str, provider: str, version: str = "") -> str:
    """ONNX Runtime 1.31.1 CUDA, for a runtime with that provider."""
    said = f"{labels.runtime(name)} {version}".strip()
    named = PROVIDERS.get(provider, provider.removesuffix("ExecutionProvider"))
    return f"{said} {named}" if named and named not in said else said


def shared(row: Measurement) -> str:
    """What results of one key share beside device and runtime, as far as columns tell."""
    threads = formatting.plural(row.threads, "thread") if row.threads else "all threads"
    said = f"batch {row.batch}, {threads}, {SCENARIOS.get(row.scenario, row.scenario)}"
    return said if row.call_style == "run" else f"{said}, {STYLES[row.call_style]}"


def shapes(inputs: Iterable[Any]) -> str:
    """Types and shapes of inputs: float32[1, 3, 224, 224]."""
    said = [
        f"{one[0]}[{', '.join(str(size) for size in one[1])}]"
        for one in inputs
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], list)
    ]
    more = len(said) - SHAPES
    return ", ".join(said[:SHAPES]) + (f" and {more} more" if more > 0 else "")


def reasons(codes: Iterable[str]) -> str:
    """Why a result is not ranked, or what a verdict rests on, in words."""
    return "; ".join(REASONS.get(code, str(code)) for code in codes)


def why(row: Measurement) -> str:
    """Why a result is not ranked; a spread between processes with its own figure and limit."""
    said = reasons(row.reasons)
    if SPREAD not in row.reasons or row.between_process_cv is None:
        return said
    found = f"the processes differ by {formatting.share(row.between_process_cv)}"
    limit = None
    if "record" not in row.get_deferred_fields():
        limit = (row.record.get("gate") or {}).get("between_process_cv")
    told = "the limit"
    if isinstance(limit, int | float):
        told = f"the {formatting.share(summary.limit(row.record['gate'], 'between_process_cv'))}"
        told += " limit"
    return said.replace(REASONS[SPREAD], f"{found}, more than {told}")


def address(row: Measurement) -> str:
    """The page of a result."""
    return version_head.place(row.variant.version, "benchmark", row.pk)


def _version_url(row: Measurement) -> str:
    version = row.variant.version
    url = version_head.place(version, "version-benchmarks")
    return f"{url}?{urlencode({'variant': row.variant.name})}"


def choices(rows: Sequence[Measurement], chosen: Mapping[str, Any]) -> tuple[Choice, ...]:
    """The filters that tell these results apart, with what is chosen."""
    titles = {row.device: row.device_title for row in rows}
    known = selectors.choices(rows)
    made = []
    for name, title in FILTERS.items():
        values = [value for value in known[name] if value not in ("", None)]
        if len(values) < 2 and not chosen.get(name):
            continue
        shown = tuple(
            (str(value), _words(name, value, titles), str(value) == str(chosen.get(name) or ""))
            for value in values
        )
        made.append(Choice(name, title, shown))
    return tuple(made)


def _words(name: str, value: Any, titles: Mapping[str, str]) -> str:
    if name == "device":
        return titles.get(str(value), str(value))
    if name == "runtime":
        return labels.runtime(str(value))
    return SCENARIOS.get(str(value), str(value)) if name == "scenario" else str(value)


def sentence(rows: Sequence[Measurement]) -> str:
    """What the results of a version say in one sentence."""
    if not rows:
        return ""
    counted = Counter(row.status for row in rows)
    best = selectors.fastest(rows)
    said = formatting.plural(len(rows), "result")
    if counted["noisy"]:
        said += f", {formatting.grouped(counted['noisy'])} of them noisy"
    if unverified := sum(not row.is_trusted for row in rows):
        said += f", {formatting.grouped(unverified)} unverified"
    if best is None:
        return f"{said}; none ranked"
    return f"{said}; the fastest is {latency(best.p50_ms)} on {best.device_title}"
