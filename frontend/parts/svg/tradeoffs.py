"""Models on two figures as a plot: each point a link, what no other model beats joined by a line.

Places are percentages, so that the words keep their size on every screen. A table beside it says
the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from frontend.parts.svg.charts import ticks
from hub.protocol.intervals import Interval

_LEFT, _RIGHT = 5.0, 95.0
_TOP, _BOTTOM = 7.0, 88.0
_STEPS = (1, 2, 5)
_FEWEST_MARKS, _MOST_MARKS = 3, 5
# Ends of a logarithmic axis lie at least so many times apart: two round numbers are between them.
_SPAN = 6.5
# Names beside points: the widths of pictures that they are placed for, in pixels, with their class;
# the height of the picture, and that of a line of text. They are cut after so many characters.
_WIDTHS = {"at-480": 480.0, "at-280": 280.0}
_HEIGHT, _LINE, _CHARACTER = 352.0, 14.0, 6.6
_LONGEST_NAME = 22
# Right of a point, left of it, above it and below it.
_SIDES = ((10, 4, "start"), (-10, 4, "end"), (0, -11, "middle"), (0, 19, "middle"))


@dataclass(frozen=True, slots=True)
class Point:
    """One model: its figures, their interval across, its name, its address and its words.

    ``mark`` is `predicted`, `grey` or empty; ``is_best`` joins it to the others of its kind.
    """

    x: float
    y: float
    name: str
    url: str
    words: str
    interval: Interval | None = None
    mark: str = ""
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """A figure: how a value of it is written, where a limit of it lies, and how it is laid out.

    ``limit`` is the most that is wanted, or with ``is_maximum`` false the least; no value lies
    outside of ``bounds``.
    """

    title: str
    write: Callable[[float], str]
    limit: float | None = None
    is_logarithmic: bool = True
    is_maximum: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class _Scale:
    axis: Axis
    low: float
    high: float
    first: float
    last: float

    def place(self, value: float) -> float:
        """Where a value lies, in hundredths of the picture; values outside lie at its edge."""
        low, high, at = (self._length(number) for number in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.first + (self.last - self.first) * min(1.0, max(0.0, share)), 2)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Round values inside the axis: their places and words."""
        values = self._powers() if self.axis.is_logarithmic else ticks(self.low, self.high)
        inside = [value for value in values if self.low <= value <= self.high]
        step = max(1, math.ceil(len(inside) / _MOST_MARKS))
        return [(self.place(value), self.axis.write(value)) for value in inside[::step]]

    def _powers(self) -> list[float]:
        """Powers of ten where three lie inside, else also their doubles and halves."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = range(first, last + 1)
        whole = [10.0**power for power in powers]
        if sum(self.low <= value <= self.high for value in whole) >= _FEWEST_MARKS:
            return whole
        return [step * 10.0**power for power in powers for step in _STEPS]

    def _length(self, value: float) -> float:
        return math.log(max(value, 1e-12)) if self.axis.is_logarithmic else value


def draw(points: Sequence[Point], across: Axis, up: Axis, *, title: str) -> SafeString:
    """The plot; nothing for fewer than two points. ``title`` names it to all readers."""
    if len(points) < 2:
        return mark_safe("")
    ends = [end for point in points if (of := point.interval) for end in (of.low, of.high)]
    x = _scale(across, [*(point.x for point in points), *ends], _LEFT, _RIGHT)
    y = _scale(up, [point.y for point in points], _BOTTOM, _TOP)
    return format_html(
        '<svg class="tradeoffs" role="group" aria-label="{}">{}{}{}{}{}{}{}</svg>',
        title,
        _corner(x, y),
        _grid(x, y),
        _line([point for point in points if point.mark != "grey"], x, y, "best"),
        _line([point for point in points if point.mark == "grey"], x, y, "best grey"),
        format_html_join("", "{}", ((_interval(point, x, y),) for point in points)),
        format_html_join("", "{}", ((_mark(point, x, y),) for point in _back_to_front(points))),
        format_html_join("", "{}", ((_names(points, x, y, size),) for size in _WIDTHS)),
    )


def _line(points: Sequence[Point], x: _Scale, y: _Scale, name: str) -> SafeString:
    """The line that joins the best of these points."""
    best = sorted((x.place(point.x), y.place(point.y)) for point in points if point.is_best)
    return format_html_join(
        "",
        '<line class="{}" x1="{}%" y1="{}%" x2="{}%" y2="{}%"/>',
        ((name, *start, *other) for start, other in pairwise(best)),
    )


def _names(points: Sequence[Point], x: _Scale, y: _Scale, size: str) -> SafeString:
    """The names that fit beside their points in a picture of a size: those of the best first.

    Links have the names as well, so that readers of the text alone get them once.
    """
    width = _WIDTHS[size]
    at = {id(point): (x.place(point.x), y.place(point.y)) for point in points}
    places = [(across * width / 100, down * _HEIGHT / 100) for across, down in at.values()]
    boxes = [(left - 7, top - 7, left + 7, top + 7) for left, top in places]
    texts: list[tuple[str, float, float, int, int, str, str]] = []
    for point in reversed(_back_to_front(points)):
        across, down = at[id(point)]
        left, top = across * width / 100, down * _HEIGHT / 100
        name = Truncator(point.name).chars(_LONGEST_NAME)
        length = len(name) * _CHARACTER
        for dx, dy, anchor in _SIDES:
            start = left + dx - {"start": 0, "end": length, "middle": length / 2}[anchor]
            box = (start, top + dy - _LINE + 3, start + length, top + dy + 3)
            if box[0] < 0 or box[2] > width or any(_overlap(box, other) for other in boxes):
                continue
            boxes.append(box)
            texts.append((size, across, down, dx, dy, anchor, name))
            break
    return format_html_join(
        "",
        '<text class="name {}" x="{}%" y="{}%" dx="{}" dy="{}" text-anchor="{}"'
        ' aria-hidden="true">{}</text>',
        texts,
    )


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    """Whether two boxes, each left, top, right and bottom, share an area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scale(axis: Axis, values: Sequence[float], first: float, last: float) -> _Scale:
    low, high = min(values), max(values)
    if axis.is_logarithmic:  # what is zero lies at the edge
        positive = [value for value in values if value > 0] or [1.0]
        low, high = min(positive), max(positive)
        room = max(1.25, math.sqrt(_SPAN * low / high))
        low, high = low / room, high * room
    else:
        room = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
        low, high = max(low - room, axis.bounds[0]), min(high + room, axis.bounds[1])
    return _Scale(axis, low, high, first, last)


def _grid(x: _Scale, y: _Scale) -> SafeString:
    gridlines = format_html_join(
        "",
        '<line class="grid" x1="0%" x2="100%" y1="{0}%" y2="{0}%"/>'
        '<text x="0" y="{0}%" dy="-4">{1}</text>',
        y.marks,
    )
    steps = format_html_join("", '<text x="{}%" y="96%" text-anchor="middle">{}</text>', x.marks)
    return format_html('<g aria-hidden="true">{}{}</g>', gridlines, steps)


def _corner(x: _Scale, y: _Scale) -> SafeString:
    """Where both limits hold: to the left of one, on the wanted side of the other."""
    if x.axis.limit is None and y.axis.limit is None:
        return mark_safe("")
    right = 100.0 if x.axis.limit is None else x.place(x.axis.limit)
    top, bottom = 0.0, _BOTTOM + 3
    if y.axis.limit is not None:
        edge = y.place(y.axis.limit)
        top, bottom = (edge, bottom) if y.axis.is_maximum else (top, edge)
    return format_html(
        '<rect class="corner" x="0" y="{}%" width="{}%" height="{}%"/>',
        top,
        right,
        round(bottom - top, 2),
    )


def _interval(point: Point, x: _Scale, y: _Scale) -> SafeString:
    if point.interval is None:
        return mark_safe("")
    return format_html(
        '<line class="interval {}" x1="{}%" x2="{}%" y1="{}%" y2="{}%"/>',
        point.mark,
        x.place(point.interval.low),
        x.place(point.interval.high),
        *(y.place(point.y),) * 2,
    )


def _mark(point: Point, x: _Scale, y: _Scale) -> SafeString:
    return format_html(
        '<a href="{}" aria-label="{}"><circle class="{}" cx="{}%" cy="{}%" r="{}"/>'
        "<title>{}</title></a>",
        point.url,
        point.words,
        " ".join(filter(None, (point.mark, "best" if point.is_best else ""))),
        x.place(point.x),
        y.place(point.y),
        7 if point.is_best else 5,
        point.words,
    )


def _back_to_front(points: Sequence[Point]) -> list[Point]:
    """Those of the line last, so that nothing covers them; else from left to right."""
    return sorted(points, key=lambda point: (point.is_best, point.x, point.y, point.words))
