"""Figures in words: the one place that writes a value, how it is known, and why there is none.

Templates write a figure with the tag `figure`; whatever else a page says of the status of figures
stands here or in the templates of the folder `figures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from frontend.parts import formatting
from hub.protocol.figures import Compliance, Figure, Kind, Status, Unit, count
from hub.protocol.vocabularies import METRICS, unit_of

# Joules and grams are of 1 000 inferences: those of one are too few to read.
_THOUSAND = 1e3
_FORMATS: dict[Unit, Callable[[float], str]] = {
    Unit.MILLISECOND: lambda value: formatting.duration(value / 1e3),
    Unit.PER_SECOND: lambda value: f"{formatting.figure(value)}{formatting.NARROW}/s",
    Unit.BYTE: lambda value: formatting.size(int(value)),
    Unit.JOULE: lambda value: f"{formatting.figure(value * _THOUSAND)}{formatting.NARROW}J",
    # A thousand times a gram is a kilogram.
    Unit.GRAM: formatting.carbon,
    Unit.SHARE: lambda value: f"{100 * value:.4g}{formatting.NARROW}%",
    Unit.NUMBER: lambda value: f"{value:.4g}",
    Unit.COUNT: lambda value: formatting.quantity(int(value)),
}
# How a value is known -> (tone of its tag, what it means). Some are of facts that are no figures.
KINDS = {
    Kind.MEASURED: ("pass", "Measured in a stored run; follow the link for details."),
    "recorded": ("accent", "Recorded by the hub."),
    Kind.PREDICTED: ("part", "Predicted from measurements of other models in the same setup."),
    Kind.CLAIMED: ("part", "Stated by the publisher or the file; not verified by the hub."),
    Kind.ESTIMATED: ("part", "Computed with the formula shown."),
    "none": ("", "Not measured, recorded or declared."),
}
_PLAIN_KINDS = {Kind.MEASURED, Kind.COUNT}
_ABSENT = {Kind.COUNT: "not counted", Kind.CLAIMED: "not declared"}
_COMPLIANCE = {
    Compliance.WITHIN: "within the limits",
    Compliance.OUTSIDE: "outside the limits",
    Compliance.UNKNOWN: "not known to fit",
}
SPREAD = "spread-between-processes"
# Why a figure is not accepted, or what a verdict rests on; a code that is not here stands as it is.
REASONS = {
    "no-files": "no files",
    "too-few-samples": "too few samples",
    "no-grid": "grid region not set",
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
    "urgent-work": "urgent work of the hub ran beside it",
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


SECTIONS = {
    Status.NOISY: {
        "status": Status.NOISY,
        "title": "Noisy, not ranked",
        "about": "The machine was busy, or the processes differ by more than the limit. Listed by "
        "name, only for models without an accepted result.",
    },
    Status.UNVERIFIED: {
        "status": Status.UNVERIFIED,
        "title": "Unverified, not ranked",
        "about": "Contributed from other machines and not signed by an enrolled worker. Excluded "
        "from filters and graphs.",
    },
}


def number(value: float, unit: Unit) -> str:
    """A value with its unit: 1.2 ms, 98.33 %, 3 M."""
    return _FORMATS[unit](value)


def amount(metric: str, value: float) -> str:
    """A value of a metric with its unit: shares in per cent."""
    return number(value, unit_of(metric))


def title(metric: str) -> str:
    """A metric's name for people."""
    entry = METRICS.get(metric)
    return entry.title if entry else metric


def text(figure: Figure) -> str:
    """The value with its unit, or why there is none; what is not exact has a sign for "about"."""
    if figure.value is None:
        if figure.reasons:
            return reasons(figure.reasons)
        is_absent = figure.status is Status.UNMEASURED
        return _ABSENT.get(figure.kind, figure.status) if is_absent else figure.status
    if figure.kind in (Kind.ESTIMATED, Kind.PREDICTED):
        value = float(f"{figure.value:.2g}") if figure.kind is Kind.ESTIMATED else figure.value
        return f"≈{formatting.NARROW}{number(value, figure.unit)}"
    return number(figure.value, figure.unit)


def status(figure: Figure) -> str:
    """The status of a value that is not accepted: noisy, unverified."""
    return "" if figure.status is Status.ACCEPTED or not figure.is_known else figure.status


def kind(figure: Figure, *, always: bool = False) -> str:
    """How a value is known, where that is not what readers expect: predicted, estimated."""
    is_plain = figure.kind in _PLAIN_KINDS and not always
    return "" if is_plain or not figure.is_known else figure.kind


def note(figure: Figure, *, with_kind: bool = False) -> str:
    """What a reader must know beside a value: noisy, estimated."""
    return ", ".join(filter(None, (status(figure), kind(figure, always=with_kind))))


def sentence(figure: Figure, *, with_kind: bool = False) -> str:
    """The value and what a reader must know beside it: 1.2 ms, noisy."""
    return ", ".join(filter(None, (text(figure), note(figure, with_kind=with_kind))))


def unranked(figure: Figure) -> str:
    """Why a value has no rank: (noisy, so not ranked)."""
    return "" if figure.is_ranked else f" ({note(figure)}, so not ranked)"


def interval(figure: Figure) -> str:
    """The interval with its level: 95 %: 1.2 ms to 1.4 ms; empty where there is none."""
    return f"{level(figure)}: {ends(figure)}" if figure.interval else ""


def interval_sentence(figure: Figure) -> str:
    """The interval within a sentence: 95 % interval 1.2 ms to 1.4 ms; empty where there is none."""
    return f"{level(figure)} interval {ends(figure)}" if figure.interval else ""


def level(figure: Figure) -> str:
    """The level of the interval: 95 %; empty where there is none."""
    return f"{int(figure.interval.level)}{formatting.NARROW}%" if figure.interval else ""


def ends(figure: Figure) -> str:
    """The ends of the interval: 1.2 ms to 1.4 ms; empty where there is none."""
    of = figure.interval
    return f"{number(of.low, figure.unit)} to {number(of.high, figure.unit)}" if of else ""


def interval_basis(figure: Figure) -> str:
    """How the interval was computed, and what that covers; empty where there is none."""
    of = figure.interval
    return f"{of.method}, {of.method.coverage}" if of else ""


def reasons(codes: Iterable[str]) -> str:
    """Why a figure is not accepted, or what a verdict rests on."""
    return "; ".join(REASONS.get(code, str(code)) for code in codes)


def count_words(value: int | None) -> str:
    """A count of something in a file, such as parameters."""
    return text(count(value))


def or_unmeasured(words: str) -> str:
    """Words about something that is measured, or that it was not."""
    return words or Status.UNMEASURED


def statuses(figures: Iterable[Figure]) -> str:
    """How many of these are not accepted: 2 noisy, 1 unverified."""
    counts = Counter(figure.status for figure in figures if figure.value is not None)
    parts = [
        f"{formatting.grouped(counts[status])} {status}"
        for status in (Status.NOISY, Status.UNVERIFIED)
        if counts[status]
    ]
    return ", ".join(parts)


def compliance(of: Compliance) -> str:
    """What is said beside a model about the limits; nothing where it keeps them."""
    return "" if of is Compliance.WITHIN else _COMPLIANCE[of]


def compliances(models: Iterable[Compliance]) -> str:
    """How many models keep the limits: 2 within the limits, 7 not known to fit."""
    counts = Counter(models)
    return ", ".join(
        f"{formatting.grouped(counts[limits])} {words}"
        for limits, words in _COMPLIANCE.items()
        if counts[limits]
    )
