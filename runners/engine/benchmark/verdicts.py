"""Whether one model is slower than another: pure functions of two records.

Of records made in turns each process holds both models, so that its two medians belong together:
what a neighbour does to one he does to the other, and only their ratio counts. Bulej and others
("Duet Benchmarking", ICPE 2020) run both at the same time for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from hub.protocol import intervals
from runners.engine.benchmark import record as form
from runners.engine.benchmark import record_shape, summary
from runners.engine.benchmark.record import Document, Process
from runners.engine.benchmark.statistics import rounded

Pair = tuple[Document, Document]

FORMAT = "onnx-model-hub/speed-comparison"


class SpeedChange(StrEnum):
    """The speed of the candidate against the baseline; the key `word` of a stored verdict."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


BY_CPU_TIME = "by-cpu-time"
REJECTED_USED = "rejected-processes-used"
# Fewer pairs have no interval, nor have fewer processes of a side that was made apart.
LEAST_PAIRS = 8
# What a ratio must be beyond before anybody speaks of a difference; by the clock of a noisy host
# it takes more.
MARGIN, WIDE_MARGIN = 1.03, 1.10
_KEYS = frozenset(
    {"format", "format_version", "method", "order", "baseline", "candidate", "verdict"}
)
_SIDES = ("baseline", "candidate")
# The share of the host's processors that others may have while several threads are compared.
_MOST_TAKEN = 0.25


def judge(baseline: Document, candidate: Document) -> dict[str, Any]:
    """Say slower, faster, same or inconclusive of two records made in turns, with the reasons.

    Median latency decides, and processor time must have moved to the same side. Where a side is
    noisy, or processes are used that do not count, nothing is the same. But one thread takes at
    least its processor time, so that decides instead there, if latency moved to the same side.
    Several threads on a crowded host wait for each other: there only processes count that had
    room, and latency must be beyond the wide margin. Processor times of different numbers of
    threads are not held against each other.
    """
    sides = (baseline, candidate)
    noise = _noise(sides)
    pairs, is_mixed = _pairs(baseline, candidate)
    if is_mixed:
        noise = [*noise, REJECTED_USED]
    threads = [side["config"]["intra_op_threads"] for side in sides]
    is_single = threads == [1, 1] and all(
        side["comparability"]["device"] == "cpu" for side in sides
    )
    if noise and not is_single:
        pairs = [pair for pair in pairs if _had_room(pair[0])]
    wall = _paired(pairs, summary.medians_ms)
    cpu = _paired(pairs, summary.cpu_ms)
    if wall is None or cpu is None:
        change, reasons = SpeedChange.INCONCLUSIVE, ["too-few-processes"]
    elif noise and is_single:
        change, reasons = _by_cpu_time(wall, cpu)
    else:
        against = cpu if threads[0] == threads[1] else wall
        change, reasons = _change(wall, against, WIDE_MARGIN if noise else MARGIN)
    if noise and change == SpeedChange.SAME:
        change = SpeedChange.INCONCLUSIVE
    return _verdict(sides, change, [*noise, *reasons], wall, cpu)


def judge_apart(baseline: Document, candidate: Document) -> dict[str, Any]:
    """The same of two records that were made one after the other: a noisy side decides nothing.

    The interval is a bootstrap over the processes of each side.
    """
    sides = (baseline, candidate)
    used = [[process for process in side["processes"] if not process["rejected"]] for side in sides]
    wall = _apart([summary.medians_ms(processes) for processes in used])
    cpu = _apart([summary.cpu_ms(processes) for processes in used])
    noise = _noise(sides)
    change, reasons = SpeedChange.INCONCLUSIVE, noise
    if wall is None or cpu is None:
        reasons = [*noise, "too-few-processes"]
    elif not noise:
        change, reasons = _change(wall, cpu, MARGIN)
    return _verdict(sides, change, reasons, wall, cpu)


def _verdict(
    sides: tuple[Document, Document],
    change: SpeedChange,
    reasons: list[str],
    wall: list[float] | None,
    cpu: list[float] | None,
) -> dict[str, Any]:
    baseline, candidate = sides
    return {
        "word": change,
        "reasons": reasons,
        "wall_ratio": wall,
        "cpu_ratio": cpu,
        "differs": sorted(
            name
            for name, value in candidate["comparability"].items()
            if baseline["comparability"].get(name) != value
        ),
    }


def _noise(sides: tuple[Document, Document]) -> list[str]:
    return [
        f"{name}-{side['status']}"
        for name, side in zip(_SIDES, sides, strict=True)
        if side["status"] != form.ACCEPTED
    ]


def _pairs(baseline: Document, candidate: Document) -> tuple[list[Pair], bool]:
    """The processes of both sides, of those that count on both; of all where these are too few.

    Tells also whether there are such among them that do not count.
    """
    both = list(zip(baseline["processes"], candidate["processes"], strict=True))
    finished = [pair for pair in both if all(process["samples_ns"] for process in pair)]
    counting = [pair for pair in finished if not any(process["rejected"] for process in pair)]
    if len(counting) >= LEAST_PAIRS:
        return counting, False
    return finished, len(finished) > len(counting)


def _had_room(process: Process) -> bool:
    """Whether others left most of the host's processors to a process, as far as it shows."""
    shares = [process["interference"][name] for name in ("foreign_cpu", "steal")]
    return not any(isinstance(share, str) for share in shares) and sum(shares) <= _MOST_TAKEN


def _paired(
    pairs: list[Pair], figures: Callable[[list[Process]], list[float]]
) -> list[float] | None:
    """The ratio with the ends of its interval; None for too few pairs, or one that took no time."""
    sides = [figures([pair[place] for pair in pairs]) for place in (0, 1)]
    if not all(len(values) == len(pairs) and min(values, default=0) > 0 for values in sides):
        return None
    interval = intervals.paired_ratio(sides[0], sides[1])
    return None if interval is None else [rounded(value) for value in interval]


def _apart(sides: list[list[float]]) -> list[float] | None:
    if not all(len(values) >= LEAST_PAIRS and min(values) > 0 for values in sides):
        return None
    return [rounded(value) for value in intervals.ratio_of_medians(sides[0], sides[1], 0)]


def _change(wall: list[float], cpu: list[float], margin: float) -> tuple[SpeedChange, list[str]]:
    """The change by two ratios with their intervals, and why it is inconclusive.

    The whole interval of the wall time must lie beyond the margin, and the ratio of the processor
    time on the same side of 1. It is the same if the interval lies within the margin.
    """
    _, low, high = wall
    if low > margin and cpu[0] > 1:
        return SpeedChange.SLOWER, []
    if high < 1 / margin and cpu[0] < 1:
        return SpeedChange.FASTER, []
    if low > margin or high < 1 / margin:
        return SpeedChange.INCONCLUSIVE, ["cpu-time-disagrees"]
    if low >= 1 / margin and high <= margin:
        return SpeedChange.SAME, []
    return SpeedChange.INCONCLUSIVE, ["interval-too-wide"]


def _by_cpu_time(wall: list[float], cpu: list[float]) -> tuple[SpeedChange, list[str]]:
    change, reasons = _change(cpu, wall, MARGIN)
    if reasons == ["cpu-time-disagrees"]:
        return change, ["latency-disagrees"]
    return change, [BY_CPU_TIME] if change in (SpeedChange.SLOWER, SpeedChange.FASTER) else reasons


def complete(baseline: Document, candidate: Document, order: str) -> dict[str, Any]:
    """Give the whole comparison, both records included."""
    return {
        "format": FORMAT,
        "format_version": form.FORMAT_VERSION,
        "method": form.COMPARISON_METHOD_VERSION,
        "order": order,
        "baseline": baseline,
        "candidate": candidate,
        "verdict": judge(baseline, candidate),
    }


def check(data: Any) -> dict[str, Any]:
    """Give the data back if it has the shape of a comparison; raises InvalidRecordError."""
    if not isinstance(data, dict) or data.keys() != _KEYS or data["format"] != FORMAT:
        raise form.InvalidRecordError(f"comparison: it must be of the format {FORMAT}")
    if data["method"] != form.COMPARISON_METHOD_VERSION:
        words = f"comparison.method: it must be {form.COMPARISON_METHOD_VERSION}"
        raise form.InvalidRecordError(words)
    if not isinstance(data["verdict"], dict):
        raise form.InvalidRecordError("comparison: its verdict must be an object")
    if not isinstance(data["order"], str) or set(data["order"]) - {"A", "B"}:
        raise form.InvalidRecordError("comparison: its order must be made of A and B")
    ordinals = [
        [process["ordinal"] for process in record_shape.check(data[name])["processes"]]
        for name in _SIDES
    ]
    if ordinals[0] != ordinals[1]:
        raise form.InvalidRecordError("comparison: its processes are no pairs")
    comparison: dict[str, Any] = data
    return comparison


def without_samples(comparison: Document) -> dict[str, Any]:
    """The comparison with its records as they are queried and shown."""
    slim = {name: form.without_samples(comparison[name]) for name in _SIDES}
    return {**comparison, **slim}
