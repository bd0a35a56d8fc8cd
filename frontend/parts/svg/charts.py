"""Small charts of few points: throughput against batch, latency over versions; drawn by the server.

Beside each stands a table that says the same. A plot has axes too, and its words below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting

_LEFT, _RIGHT = 4.0, 96.0
_TOP, _BOTTOM = 8.0, 92.0


@dataclass(frozen=True, slots=True)
class Point:
    """One point: where it lies, and its colour; what has no rank beats and joins nothing."""

    x: float
    y: float
    mark: str = ""
    is_ranked: bool = True


def line(points: Sequence[Point], *, logarithmic: bool = True) -> SafeString:
    """Points in order, joined; nothing for fewer than two."""
    if len(points) < 2:
        return mark_safe("")
    across = _scale([point.x for point in points], _LEFT, _RIGHT, logarithmic=logarithmic)
    down = _scale([point.y for point in points], _BOTTOM, _TOP, logarithmic=logarithmic)
    places = list(zip(across, down, strict=True))
    path = "M" + "L".join(f"{x} {y}" for x, y in places)
    return _svg(places, points, path)


def frontier(points: Sequence[Point]) -> SafeString:
    """Points on logarithmic axes, less is better in both; those that nothing beats are joined."""
    return _frontier(points, points, logarithmic=True)


def rising(points: Sequence[Point]) -> SafeString:
    """Points over a logarithmic axis, more is better upwards; what nothing beats is joined."""
    costs = [replace(point, y=-point.y) for point in points]
    return _frontier(points, costs, logarithmic=False)


def _frontier(points: Sequence[Point], costs: Sequence[Point], *, logarithmic: bool) -> SafeString:
    if len(points) < 2:
        return mark_safe("")
    across = _scale([point.x for point in points], _LEFT, _RIGHT, logarithmic=True)
    down = _scale([point.y for point in points], _BOTTOM, _TOP, logarithmic=logarithmic)
    places = list(zip(across, down, strict=True))
    best = zip(places, undominated(costs), strict=True)
    joined = sorted({place for place, stands in best if stands})
    path = "M" + "L".join(f"{x} {y}" for x, y in joined) if len(joined) > 1 else ""
    return _svg(places, points, path)


def undominated(points: Sequence[Point]) -> list[bool]:
    """For each point whether no other is at least as good in both and better in one."""
    ranked = [point for point in points if point.is_ranked]
    return [
        point.is_ranked
        and not any(
            other.x <= point.x and other.y <= point.y and (other.x < point.x or other.y < point.y)
            for other in ranked
        )
        for point in points
    ]


def plot(
    points: Sequence[Point], *, across: str, down: str, words: str, joined: bool = True
) -> SafeString:
    """Points over whole numbers, on two linear axes with titles; nothing for fewer than two.

    ``words`` say what the picture shows, to all readers and to those who do not see it.
    """
    if len(points) < 2:
        return mark_safe("")
    gridlines = ticks(min(point.y for point in points), max(point.y for point in points))
    axes = _Axes((points[0].x, points[-1].x), (gridlines[0], gridlines[-1]))
    places = [(axes.left(point.x), axes.top(point.y)) for point in points]
    path = "M" + "L".join(f"{left} {top}" for left, top in places) if joined else ""
    chart = _svg(places, points, path, axes.grid(gridlines))
    return _framed(chart, axes, gridlines, across=across, down=down, words=words)


@dataclass(frozen=True, slots=True)
class Column:
    """A column over a whole number: what counts, and on top of it what does not, in grey."""

    x: int
    y: int
    grey: int = 0


def columns(columns: Sequence[Column], *, across: str, down: str, words: str) -> SafeString:
    """Columns from zero over whole numbers, with the axes of a plot; nothing for fewer than two."""
    if len(columns) < 2:
        return mark_safe("")
    gridlines = ticks(0, max(1, *(column.y + column.grey for column in columns)), whole=True)
    first, last = columns[0].x, columns[-1].x
    axes = _Axes((first, last), (gridlines[0], gridlines[-1]))
    width = round(min(8.0, 0.7 * (_RIGHT - _LEFT) / (last - first)), 2)

    def bars(spans: Sequence[tuple[int, int, int]]) -> str:
        return "".join(
            f"M{axes.left(x) - width / 2:g} {axes.top(low)}h{width}V{axes.top(high)}h-{width}z"
            for x, low, high in spans
            if high > low
        )

    chart = format_html(
        '<svg class="chart" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false"><path class="grid" d="{}"/><path class="column" d="{}"/>'
        '<path class="column grey" d="{}"/></svg>',
        axes.grid(gridlines),
        bars([(column.x, 0, column.y) for column in columns]),
        bars([(column.x, column.y, column.y + column.grey) for column in columns]),
    )
    return _framed(chart, axes, gridlines, across=across, down=down, words=words)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Two linear axes, each by its least and its most value."""

    across: tuple[float, float]
    down: tuple[float, float]

    def left(self, value: float) -> float:
        return _place(value, self.across, _LEFT, _RIGHT)

    def top(self, value: float) -> float:
        return _place(value, self.down, _BOTTOM, _TOP)

    def grid(self, gridlines: Sequence[float]) -> str:
        return "".join(f"M0 {self.top(gridline)}h100" for gridline in gridlines)


def _framed(
    chart: SafeString,
    axes: _Axes,
    gridlines: Sequence[float],
    *,
    across: str,
    down: str,
    words: str,
) -> SafeString:
    first, last = axes.across
    steps = [step for step in ticks(first, last, whole=True) if first <= step <= last]
    return format_html(
        '<figure class="axed"><p class="ends down">{} ↑</p>'
        '<svg class="scale" aria-hidden="true" focusable="false">{}</svg>{}'
        '<svg class="ticks" aria-hidden="true" focusable="false">{}</svg>'
        '<p class="ends across">{}</p><figcaption class="small">{}</figcaption></figure>',
        down,
        format_html_join(
            "",
            '<text x="100%" y="{}%" text-anchor="end" dominant-baseline="central">{}</text>',
            ((axes.top(gridline), formatting.figure(gridline)) for gridline in gridlines),
        ),
        chart,
        format_html_join(
            "",
            '<text x="{}%" y="11" text-anchor="middle">{}</text>',
            ((axes.left(step), formatting.grouped(int(step))) for step in steps),
        ),
        across,
        words,
    )


def ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Three to six round numbers, from at or below ``low`` to at or above ``high``."""
    room = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(room / 4))
    step = next(power * factor for factor in (1, 2, 5, 10) if room / (power * factor) <= 4)
    step = max(1.0, float(round(step))) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = first - 1, last + 1
    return [number * step for number in range(first, last + 1)]


def _place(value: float, ends: tuple[float, float], first: float, last: float) -> float:
    low, high = ends
    share = (value - low) / (high - low) if high > low else 0.5
    return round(first + (last - first) * share, 2)


def _scale(values: list[float], first: float, last: float, *, logarithmic: bool) -> list[float]:
    lengths = [math.log(max(value, 1e-12)) if logarithmic else value for value in values]
    low, high = min(lengths), max(lengths)
    room = high - low
    return [
        round(first + (last - first) * ((value - low) / room if room else 0.5), 2)
        for value in lengths
    ]


def _svg(
    places: Sequence[tuple[float, float]], points: Sequence[Point], path: str, grid: str = ""
) -> SafeString:
    marks: dict[str, list[str]] = {}
    for (x, y), point in zip(places, points, strict=True):
        marks.setdefault(point.mark, []).append(f"M{x} {y}h0")
    return format_html(
        '<svg class="chart" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false">{}<path class="joined" d="{}"/>{}</svg>',
        format_html('<path class="grid" d="{}"/>', grid) if grid else "",
        path,
        format_html_join(
            "",
            '<path class="point {}" d="{}"/>',
            ((mark, "".join(parts)) for mark, parts in marks.items()),
        ),
    )
