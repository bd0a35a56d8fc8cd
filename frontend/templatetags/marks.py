"""Marking what was searched for in what was found."""

from __future__ import annotations

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import highlighting

register = template.Library()


@register.filter
def marked(text: str, asked: str) -> SafeString | str:
    """The text with its matches in ``<mark>``; as it is where nothing was asked for."""
    if not asked:
        return text
    return mark_safe(  # noqa: S308 - each piece is escaped
        "".join(
            format_html("<mark>{}</mark>", part) if hit else conditional_escape(part)
            for part, hit in highlighting.parts(text, asked)
        )
    )
