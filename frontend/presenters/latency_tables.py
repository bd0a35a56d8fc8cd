"""Tables of benchmark results: grouped by comparability key, ranked inside one key alone.

Noisy results are grey and have no rank. Unverified ones stand in a table of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting, labels
from frontend.parts.svg import latency_strips
from frontend.presenters import figures, measurements
from hub.protocol.benchmark_metrics import ENERGY
from runners.benchmarks import selectors, timelines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from registry.models import Variant
    from runners.models import Measurement

# Rows of the overview.
OVERVIEW = 8
FILTERS = {
    "device": "Device",
    "runtime": "Runtime",
    "precision": "Precision",
    "batch": "Batch",
    "scenario": "Load",
}
_NO_STRIP = mark_safe("")


@dataclass(frozen=True, slots=True)
class Line:
    """One result, its rank in its group, and its strip on the axis of the table."""

    result: Measurement
    rank: int | None
    strip: SafeString


@dataclass(frozen=True, slots=True)
class Group:
    """Results that may be compared with each other, and what they share."""

    title: str
    about: str
    rows: tuple[Line, ...]
    ranked: int
    by_throughput: bool = False

    @property
    def has_energy(self) -> bool:
        return _has_energy(self.rows)


@dataclass(frozen=True, slots=True)
class Overview:
    """The results of one variant for its overview, and how many its version has."""

    head: SafeString
    rows: tuple[Line, ...]
    count: int

    @property
    def best(self) -> Measurement | None:
        """The fastest trusted result; a noisy one if none is ranked."""
        return next((row.result for row in self.rows if row.result.is_trusted), None)

    @property
    def has_energy(self) -> bool:
        return _has_energy(self.rows)


@dataclass(frozen=True, slots=True)
class Filter:
    """One select of the filters, each value with its words and whether it is chosen."""

    name: str
    title: str
    values: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Groups on one axis; ``unverified`` are those that no enrolled worker signed."""

    head: SafeString
    groups: tuple[Group, ...]
    unverified: tuple[Group, ...]
    left_out: int

    @property
    def count(self) -> int:
        return sum(len(group.rows) for group in (*self.groups, *self.unverified))


def _has_energy(rows: Iterable[Line]) -> bool:
    """Whether a machine of these has an energy meter, or an estimate: a column for its figures."""
    return any(row.result.figure(ENERGY).value is not None for row in rows)


def table(results: Sequence[Measurement], *, most: int = 100, left_out: int = 0) -> Table:
    """Results as groups on one axis; ``left_out`` counts those that a selector left out already."""
    groups: list[selectors.Group] = []
    count = 0
    for group in selectors.groups(results):
        if count and count + len(group.rows) > most:
            break
        groups.append(group)
        count += len(group.rows)
    inputs = timelines.inputs_of(group.key for group in groups)
    strips = latency_strips.together([row for group in groups for row in group.rows])

    def part(group: selectors.Group, rows: Sequence[Measurement]) -> Group:
        first, shapes = group.first, measurements.shapes(inputs.get(group.key, []))
        is_equal = len({row.batch for row in group.rows}) == 1
        about = measurements.shared(first, with_batch=is_equal)
        return Group(
            title=f"{first.device_title}, {measurements.runtime_of(first)}",
            about=f"{about}, {shapes}" if shapes else about,
            rows=tuple(
                Line(row, selectors.rank_of(row, group), strips.drawings.get(row.pk, _NO_STRIP))
                for row in rows
            ),
            ranked=sum(row.is_ranked for row in rows),
            by_throughput=first.is_by_throughput,
        )

    verified = ((group, (*group.ranked, *group.unranked)) for group in groups)
    return Table(
        strips.head,
        tuple(part(group, rows) for group, rows in verified if rows),
        tuple(part(group, group.unverified) for group in groups if group.unverified),
        left_out + len(results) - count,
    )


def overview(results: Sequence[Measurement], variant: Variant | None) -> Overview:
    """The results of one variant, one inference at a time, from the fastest, on one axis.

    Different devices stand on it, each named; that is no ranking.
    """
    candidates = [
        row
        for row in results
        if variant is not None
        and row.variant_id == variant.pk
        and row.p50_ms
        and row.scenario == "single_stream"
        and row.batch == 1
    ]
    candidates.sort(key=selectors.reliability)
    strips = latency_strips.together(candidates[:OVERVIEW])
    rows = tuple(Line(row, None, strips.drawings[row.pk]) for row in candidates[:OVERVIEW])
    return Overview(strips.head, rows, len(results))


def filters(results: Sequence[Measurement], selection: Mapping[str, Any]) -> tuple[Filter, ...]:
    """The filters that tell these results apart, with what is chosen."""
    devices = {row.device: row.device_title for row in results}
    titles: dict[str, Callable[[str], str]] = {
        "device": lambda value: devices.get(value, value),
        "runtime": labels.runtime,
        "scenario": lambda value: measurements.SCENARIOS.get(value, value),
    }
    available = selectors.choices(results)
    fields = []
    for name, title in FILTERS.items():
        values = [str(value) for value in available[name] if value not in ("", None)]
        if len(values) > 1 or selection.get(name):
            words = titles.get(name, str)
            on = str(selection.get(name) or "")
            options = tuple((value, words(value), value == on) for value in values)
            fields.append(Filter(name, title, options))
    return tuple(fields)


def sentence(results: Sequence[Measurement]) -> str:
    """The results of a version in one sentence."""
    if not results:
        return ""
    best = selectors.fastest(results)
    words = formatting.plural(len(results), "result")
    if others := figures.statuses(row.p50 for row in results):
        words += f", {others}"
    if best is None:
        return f"{words}; none ranked"
    return f"{words}; the fastest is {figures.text(best.p50)} on {best.device_title}"
