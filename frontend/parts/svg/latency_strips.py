"""Latency as a strip: one dot an inference, the middle half as a box, median and p95 as bars.

Positions are shares of one logarithmic axis that all strips of a page have in common. The numbers
stand beside it as text; the picture is hidden from readers that speak.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from redis.exceptions import RedisError

from frontend.parts import formatting
from hub.protocol import problems
from registry.core import waiting
from runners.benchmarks import browser_runs, samples
from runners.models import Measurement

DOTS = 120
# Dots lie on so many lines, so that equal ones can be told apart.
_LINES = 5
_HEIGHT = 28
# A page reads so many records at most; what comes after has its box without dots.
MOST_READ = 24
_REMEMBERED_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Spread:
    """The latencies of a result in milliseconds: some of its samples in order, and its quarters."""

    dots: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, ...]:
        """The least and the largest dot."""
        return (min(self.dots), max(self.dots)) if self.dots else ()


@dataclass(frozen=True, slots=True)
class Strips:
    """Strips on one axis by the keys of their results, and the words of the axis."""

    head: SafeString
    drawings: Mapping[int, SafeString]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis: its place in hundredths, and its words."""

    place: float
    words: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis in milliseconds."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value lies, in hundredths of the axis."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The powers of ten on it; its ends where there are none."""
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        marks = [10.0**power for power in range(first, last + 1)]
        marks = marks if len(marks) > 1 else [self.low, self.high]
        return tuple(Tick(self.place(mark), formatting.duration(mark / 1e3)) for mark in marks)


def axis_of(values: Iterable[float | None]) -> Axis | None:
    """An axis on which all these have room, from one third of a power of ten to another."""
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return None
    low = 10 ** (math.floor(math.log10(min(positive)) * 3) / 3)
    high = 10 ** (math.ceil(math.log10(max(positive)) * 3) / 3)
    return Axis(low, high if high > low * 1.01 else low * 10 ** (1 / 3))


def together(rows: Sequence[Measurement]) -> Strips:
    """Strips of results on one axis; those without a median have none."""
    spreads = {row.pk: spread_of(row) for row in rows[:MOST_READ] if row.p50_ms}
    axis = axis_of(
        value
        for row in rows
        for value in (row.p50_ms, row.p95_ms, *spreads.get(row.pk, Spread()).ends)
    )
    if axis is None:
        return Strips(mark_safe(""), {})
    drawings = {
        row.pk: draw(
            axis,
            spreads.get(row.pk, Spread()),
            median=row.p50_ms,
            p95=row.p95_ms,
            tone=tone(row),
        )
        for row in rows
        if row.p50_ms
    }
    return Strips(head(axis), drawings)


def tone(row: Measurement) -> str:
    """What colours a result: where it ran; one without a rank is grey."""
    if not row.is_ranked:
        return "grey"
    return "web" if row.runtime == browser_runs.RUNTIME else row.device_kind


def spread_of(row: Measurement) -> Spread:
    """A result's samples for a strip; none where its record is no longer stored, or not at hand."""
    try:
        return _spread(row)
    except (problems.Problem, OSError):
        return Spread()


def _spread(row: Measurement) -> Spread:
    """From the record once; afterwards it is remembered, as a record never changes."""
    name = f"drawn:{row.record_sha256}:{row.ordinal}"
    with suppress(RedisError):
        if isinstance(spread := cache.get(name), Spread):
            return spread
    basis = samples.basis(row, samples.of(row, seconds=waiting.BRIEF_SECONDS))
    spread = _summed([sample / 1e6 for process in basis for sample in process.samples_ns])
    with suppress(RedisError):
        cache.set(name, spread, _REMEMBERED_SECONDS)
    return spread


def _summed(pooled: Sequence[float]) -> Spread:
    if not pooled:
        return Spread()
    step = max(1, math.ceil(len(pooled) / DOTS))
    ordered = sorted(pooled)
    return Spread(
        tuple(pooled[::step]),
        ordered[(len(ordered) - 1) // 4],
        ordered[3 * (len(ordered) - 1) // 4],
    )


def draw(
    axis: Axis,
    spread: Spread,
    *,
    median: float,
    p95: float | None = None,
    tone: str = "cpu",
) -> SafeString:
    """One strip; ``tone`` is that of its result."""
    grid = "".join(f"M{tick.place} 0v{_HEIGHT}" for tick in axis.ticks)
    parts = [format_html('<path class="grid" d="{}"/>', grid)]
    if spread.low is not None and spread.high is not None:
        left, right = axis.place(spread.low), axis.place(spread.high)
        parts.append(
            format_html(
                '<rect class="half" x="{}" y="5" width="{}" height="{}"/>',
                left,
                round(max(right - left, 0.2), 2),
                _HEIGHT - 10,
            )
        )
    if spread.dots:
        parts.append(format_html('<path class="dots" d="{}"/>', _dots(axis, spread.dots)))
    parts.append(format_html('<path class="median" d="M{} 2v{}"/>', axis.place(median), 24))
    if p95 is not None:
        parts.append(format_html('<path class="p95" d="M{} 8v12"/>', axis.place(p95)))
    return format_html(
        '<svg class="strip of-{}" viewBox="0 0 100 {}" preserveAspectRatio="none"'
        ' aria-hidden="true" focusable="false">{}</svg>',
        tone,
        _HEIGHT,
        format_html_join("", "{}", ((part,) for part in parts)),
    )


def _dots(axis: Axis, values: Iterable[float]) -> str:
    return "".join(
        f"M{axis.place(value)} {6 + (index * 2) % _LINES * 4}h0"
        for index, value in enumerate(values)
        if value > 0
    )


def head(axis: Axis) -> SafeString:
    """The words of the axis, for the head of the column of strips."""
    return format_html(
        '<svg class="ticks" aria-hidden="true" focusable="false">{}</svg>',
        format_html_join(
            "",
            '<text x="{}%" y="11" text-anchor="{}">{}</text>',
            (
                (
                    tick.place,
                    "start" if tick.place < 8 else "end" if tick.place > 92 else "middle",
                    tick.words,
                )
                for tick in axis.ticks
            ),
        )
        or mark_safe(""),
    )
