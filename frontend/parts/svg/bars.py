"""Bars from zero and values with their interval, one a cell, on an axis that a row has in common.

The numbers stand beside them as text; the pictures are hidden from readers that speak.
"""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

_WIDTH = 100.0


def bar(value: float, most: float) -> SafeString:
    """A bar from zero; ``most`` is the value of the longest one, above zero."""
    return format_html(
        '<svg class="amount" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false"><path class="room" d="M0 0h100v8H0z"/>'
        '<path class="of" d="M0 0h{}v8H0z"/></svg>',
        round(max(0.5, _WIDTH * value / most), 2),
    )


def interval(value: float, low: float, high: float, axis: tuple[float, float]) -> SafeString:
    """A value between the ends of its interval, on an axis from one value to another."""
    first, last = axis
    room = (last - first) or 1.0
    at, left, right = (round(2 + 96 * (number - first) / room, 2) for number in (value, low, high))
    return format_html(
        '<svg class="amount" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false"><path class="room" d="M0 0h100v8H0z"/>'
        '<path class="ends" d="M{} 1v6M{} 4H{}M{} 1v6"/><path class="at" d="M{} 0v8"/></svg>',
        left,
        left,
        right,
        right,
        at,
    )
