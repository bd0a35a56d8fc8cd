"""How something is known, as a tag beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils.html import format_html

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

register = template.Library()

# Kind -> (tone of its tag, what it means). Nothing has a kind beside these.
KINDS = {
    "measured": ("pass", "Measured in a stored run; follow the link for details."),
    "recorded": ("accent", "Recorded by the hub."),
    "declared": ("part", "Stated by the publisher or the file; not verified by the hub."),
    "estimated": ("part", "Computed with the formula shown."),
    "none": ("", "Not measured, recorded or declared."),
}


@register.simple_tag
def kind(word: str, said: str = "") -> SafeString:
    """Give the tag of a kind; ``said`` in its place where there is nothing: not declared."""
    return format_html('<span class="tag {}">{}</span>', KINDS[word][0], said or word)


@register.simple_tag
def kinds() -> dict[str, tuple[str, str]]:
    """Every kind with what it means."""
    return KINDS
