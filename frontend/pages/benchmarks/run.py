"""One result of a benchmark: every sample in order, how they are spread, and what surrounded them.

The line is drawn by the server for the range of samples that the address names, so that zooming
needs no script and every view can be sent. A range of many samples is drawn as a band from the
least to the largest in each column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from urllib.parse import urlencode

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import addresses, formatting
from frontend.presenters.measurements import latency
from hub.protocol import problems
from runners.benchmarks import samples as stored
from runners.engine.benchmark.typed_record import Process
from runners.models import Measurement

COLUMNS, BINS = 500, 40
LEAST = 10
_WIDTH, _HEIGHT = 1000, 240


@dataclass(frozen=True, slots=True)
class Window:
    """Which samples are shown, from 0, the last one left out."""

    first: int
    last: int
    whole: int

    @property
    def size(self) -> int:
        return self.last - self.first

    @property
    def start(self) -> int:
        """The first one, counted from 1."""
        return self.first + 1

    @property
    def is_whole(self) -> bool:
        return self.size == self.whole


def processes(row: Measurement) -> tuple[Process, ...]:
    """The processes with their samples; none where the record is no longer stored."""
    try:
        return stored.of(row)
    except (problems.NotFound, problems.Withdrawn, OSError):
        return ()


def window(query: Mapping[str, str], whole: int) -> Window:
    """The range that an address names, made to fit."""
    first = addresses.whole(query.get("from", ""), 11) or 0
    last = addresses.whole(query.get("to", ""), 11)
    last = min(max(whole if last is None else last, LEAST), whole)
    first = max(0, min(first, last - min(LEAST, whole)))
    return Window(first, last, whole)


def line(processes: Sequence[Process], query: Mapping[str, str]) -> dict[str, Any] | None:
    """Every sample of the range in order; None where there is no sample."""
    values = [sample / 1e6 for process in processes for sample in process.samples_ns]
    if not values:
        return None
    view = window(query, len(values))
    part = values[view.first : view.last]
    low, high = min(part), max(part)
    # Where a new process begins.
    edges = accumulate(len(process.samples_ns) for process in processes[:-1])
    return {
        "drawing": _drawn(part, low, high, [edge - view.first for edge in edges]),
        "window": view,
        "low": latency(low),
        "high": latency(high),
        "links": tuple(_links(view)),
        "sentence": _sentence(part, view),
    }


def _sentence(part: Sequence[float], view: Window) -> str:
    ordered = sorted(part)
    middle = ordered[(len(ordered) - 1) // 2]
    place = f"samples {formatting.grouped(view.first + 1)} to {formatting.grouped(view.last)}"
    whole = f"all {formatting.grouped(view.whole)} samples" if view.is_whole else place
    ends = f"minimum {latency(ordered[0])}, maximum {latency(ordered[-1])}"
    return f"Of {whole} the median is {latency(middle)}, {ends}."


def _links(view: Window) -> list[tuple[str, str]]:
    size, middle = view.size, (view.first + view.last) // 2
    ranges: list[tuple[str, int, int]] = []
    if size > 2 * LEAST:
        ranges.append(("Nearer", middle - size // 4, middle + size // 4))
    if not view.is_whole:
        ranges.append(("Further", middle - size, middle + size))
    if view.first:
        ranges.append(("Earlier", view.first - size, view.first))
    if view.last < view.whole:
        ranges.append(("Later", view.last, view.last + size))
    links = []
    for words, raw_first, raw_last in ranges:
        first, last = max(0, raw_first), min(view.whole, raw_last)
        if (first, last) != (0, view.whole):
            links.append((words, f"?{urlencode({'from': first, 'to': last})}#samples"))
    return [*links, *([] if view.is_whole else [("All", "?#samples")])]


def _drawn(part: Sequence[float], low: float, high: float, edges: Sequence[int]) -> SafeString:
    room = (high - low) or high or 1.0

    def down(value: float) -> float:
        return round(_HEIGHT - 8 - (value - low) / room * (_HEIGHT - 16), 1)

    across = _WIDTH / max(1, len(part) - 1)
    marks = "".join(
        f"M{round(edge * across, 1)} 0v{_HEIGHT}" for edge in edges if 0 < edge < len(part)
    )
    if len(part) <= COLUMNS:
        points = " ".join(
            f"{round(index * across, 1)},{down(value)}" for index, value in enumerate(part)
        )
        body = format_html('<polyline class="line" points="{}"/>', points)
    else:
        body = _band(part, down)
    return format_html(
        '<svg class="samples" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false"><path class="edge" d="{}"/>{}</svg>',
        _WIDTH,
        _HEIGHT,
        marks,
        body,
    )


def _band(part: Sequence[float], down: Any) -> SafeString:
    upper, lower, medians = [], [], []
    for column in range(COLUMNS):
        first = column * len(part) // COLUMNS
        last = max(first + 1, (column + 1) * len(part) // COLUMNS)
        ordered = sorted(part[first:last])
        x = round(column * _WIDTH / (COLUMNS - 1), 1)
        upper.append(f"{x},{down(ordered[-1])}")
        lower.append(f"{x},{down(ordered[0])}")
        medians.append(f"{x},{down(ordered[(len(ordered) - 1) // 2])}")
    return format_html(
        '<polygon class="band" points="{} {}"/><polyline class="line" points="{}"/>',
        " ".join(upper),
        " ".join(reversed(lower)),
        " ".join(medians),
    )


def histogram(row: Measurement, processes: Sequence[Process]) -> tuple[dict[str, Any], ...]:
    """How many samples that count lie in each of equal parts of a logarithmic axis."""
    basis = stored.basis(row, processes)
    values = [sample / 1e6 for process in basis for sample in process.samples_ns if sample > 0]
    if not values:
        return ()
    low, high = math.log(min(values)), math.log(max(values))
    step = (high - low) / BINS or 1.0
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int((math.log(value) - low) / step))] += 1
    tallest = max(counts)
    return tuple(
        {
            "words": f"{latency(math.exp(low + index * step))} to "
            f"{latency(math.exp(low + (index + 1) * step))}",
            "count": count,
            "place": index * 100 / BINS,
            "height": round(100 * count / tallest, 2),
        }
        for index, count in enumerate(counts)
    )


def bars(rows: Sequence[dict[str, Any]]) -> SafeString:
    """A histogram as one picture."""
    if not rows:
        return mark_safe("")
    width = 100 / BINS
    return format_html(
        '<svg class="histogram" viewBox="0 0 100 100" preserveAspectRatio="none"'
        ' aria-hidden="true" focusable="false">{}</svg>',
        format_html_join(
            "",
            '<rect x="{}" y="{}" width="{}" height="{}"/>',
            ((bar["place"], 100 - bar["height"], width * 0.92, bar["height"]) for bar in rows),
        ),
    )
