"""Few things and what leads from one to another, drawn by the server: boxes in columns, lines.

The drawing is decoration: the page says the same in words, so screen readers skip it. Text of
users is cut to fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from hub.protocol import phrases

WIDTH, HEIGHT = 188, 44
_ACROSS, _DOWN = 236, 58
_WORDS, _NOTE = 23, 29
# A column of more boxes says how many it leaves out.
TALLEST = 6


@dataclass(frozen=True, slots=True)
class Box:
    """One thing: its column from 0, what it is called, and a word on what it is.

    ``kind`` is thing, step or self.
    """

    key: str
    column: int
    words: str
    note: str = ""
    kind: str = "thing"


def draw(boxes: Sequence[Box], lines: Iterable[tuple[str, str]]) -> SafeString:
    """One SVG of boxes, with a line from each key to the next; nothing for a single box."""
    columns: dict[int, list[Box]] = {}
    for box in boxes:
        columns.setdefault(box.column, []).append(box)
    if len(boxes) < 2:
        return mark_safe("")
    fitting = {number: _fitting(number, rows) for number, rows in sorted(columns.items())}
    tallest = max(len(rows) for rows in fitting.values())
    places = {
        box.key: (
            1 + across * _ACROSS,
            1 + (tallest - len(rows)) * _DOWN // 2 + index * _DOWN,
        )
        for across, rows in enumerate(fitting.values())
        for index, box in enumerate(rows)
    }
    width = (len(fitting) - 1) * _ACROSS + WIDTH + 2
    height = (tallest - 1) * _DOWN + HEIGHT + 2
    drawn = [box for rows in fitting.values() for box in rows]
    return format_html(
        '<svg class="drawing" width="{}" height="{}" viewBox="0 0 {} {}" aria-hidden="true"'
        ' focusable="false">{}{}</svg>',
        width,
        height,
        width,
        height,
        _lines(places, lines),
        format_html_join("", "{}", ((_box(box, *places[box.key]),) for box in drawn)),
    )


def _fitting(number: int, rows: list[Box]) -> list[Box]:
    if len(rows) <= TALLEST:
        return rows
    more = Box(f"more-{number}", number, f"and {len(rows) - TALLEST + 1} more")
    return [*rows[: TALLEST - 1], more]


def _lines(places: dict[str, tuple[int, int]], lines: Iterable[tuple[str, str]]) -> SafeString:
    parts = []
    for source, target in dict.fromkeys(lines):
        if source not in places or target not in places:
            continue
        x, y = places[source][0] + WIDTH, places[source][1] + HEIGHT // 2
        to, down = places[target][0], places[target][1] + HEIGHT // 2
        half = (to - x) // 2
        parts.append(f"M{x} {y}C{x + half} {y} {to - half} {down} {to} {down}m-7-4 7 4-7 4")
    return format_html('<path d="{}"/>', "".join(parts)) if parts else mark_safe("")


def _box(box: Box, x: int, y: int) -> SafeString:
    round_ = 2 if box.kind == "step" else 8
    words = format_html(
        '<text x="{}" y="{}">{}</text>',
        x + 10,
        y + (18 if box.note else 27),
        cut(box.words, _WORDS),
    )
    note = (
        format_html(
            '<text class="note" x="{}" y="{}">{}</text>', x + 10, y + 34, cut(box.note, _NOTE)
        )
        if box.note
        else mark_safe("")
    )
    return format_html(
        '<g class="{}"><rect x="{}" y="{}" width="{}" height="{}" rx="{}"/>{}{}</g>',
        box.kind,
        x,
        y,
        WIDTH,
        HEIGHT,
        round_,
        words,
        note,
    )


def cut(words: str, most: int) -> str:
    """The words, or as many as fit and a mark for the rest."""
    return phrases.ellipsis(" ".join(words.split()), most)
