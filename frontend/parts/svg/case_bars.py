"""A bar of how many cases ended in each way; the numbers stand beside it as text."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


def draw(totals: Mapping[str, int]) -> SafeString:
    """One SVG band, a part for each outcome that has cases; nothing at all where none has."""
    cases = sum(totals.values())
    if not cases:
        return mark_safe("")
    parts, start = [], 0
    for outcome, many in totals.items():
        if many:
            parts.append((outcome, start, many, start))
        start += many
    body = format_html_join("", '<path class="end-{}" d="M{} 0h{}v1H{}z"/>', parts)
    return format_html(
        '<svg class="barcode" viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false">{}</svg>',
        cases,
        body,
    )
