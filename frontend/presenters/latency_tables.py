"""Tables of benchmark results: grouped by comparability key, ranked inside one key alone.

Noisy results are grey and have no rank. Unverified ones stand in a table of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.utils.safestring import mark_safe

from frontend.parts import formatting, labels
from frontend.parts.svg import latency_strips
from frontend.presenters import figures, measurements
from hub.protocol.benchmark_metrics import ENERGY
from registry.models import Variant
from runners.benchmarks import selectors, timelines
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


def _has_energy(rows: Iterable[Measurement]) -> bool:
    """Whether a machine of these has an energy meter, or an estimate: a column for its figures."""
    return any(row.figure(ENERGY).value is not None for row in rows)


def table(results: Sequence[Measurement], *, most: int = 100, left_out: int = 0) -> dict[str, Any]:
    """Results as groups on one axis; ``left_out`` counts those that a selector left out already.

    Those that no enrolled worker signed are apart, as unverified.
    """
    groups: list[selectors.Group] = []
    count = 0
    for group in selectors.groups(results):
        if count and count + len(group.rows) > most:
            break
        groups.append(group)
        count += len(group.rows)
    inputs = timelines.inputs_of(group.key for group in groups)
    strips = latency_strips.together([row for group in groups for row in group.rows])

    def part(group: selectors.Group, rows: Sequence[Measurement]) -> dict[str, Any]:
        first, shapes = rows[0], measurements.shapes(inputs.get(group.key, []))
        is_equal = len({row.batch for row in group.rows}) == 1
        about = measurements.shared(first, with_batch=is_equal)
        return {
            "title": f"{first.device_label}, {measurements.runtime_of(first)}",
            "about": f"{about}, {shapes}" if shapes else about,
            "rows": [
                {
                    "result": row,
                    "rank": selectors.rank_of(row, group),
                    "strip": strips.drawings.get(row.pk, _NO_STRIP),
                }
                for row in rows
            ],
            "ranked": sum(row.is_ranked for row in rows),
            "by_throughput": first.is_by_throughput,
            "has_energy": _has_energy(rows),
        }

    verified = ((group, (*group.ranked, *group.unranked)) for group in groups)
    return {
        "head": strips.head,
        "groups": [part(group, rows) for group, rows in verified if rows],
        "unsigned": [part(group, group.unverified) for group in groups if group.unverified],
        "left_out": left_out + len(results) - count,
    }


def overview(results: Sequence[Measurement], variant: Variant | None) -> dict[str, Any]:
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
    rows = candidates[:OVERVIEW]
    strips = latency_strips.together(rows)
    return {
        "head": strips.head,
        "rows": [{"result": row, "strip": strips.drawings[row.pk]} for row in rows],
        "count": len(results),
        "candidates": candidates,
        # The fastest trusted result; a noisy one if none is ranked.
        "best": next((row for row in rows if row.is_trusted), None),
        "has_energy": _has_energy(rows),
    }


def filters(
    results: Sequence[Measurement], selection: Mapping[str, Any]
) -> tuple[dict[str, Any], ...]:
    """The filters that tell these results apart, with what is chosen."""
    devices = {row.device: row.device_label for row in results}
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
            fields.append(
                {
                    "name": name,
                    "title": title,
                    "values": options,
                }
            )
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
    return f"{words}; the fastest is {figures.text(best.p50)} on {best.device_label}"
