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
    "measured": ("pass", "A run that is stored here gave it; the run is a click away."),
    "recorded": ("accent", "The hub saw it happen and wrote it down."),
    "declared": ("part", "The publisher or the file says so; nobody here has checked it."),
    "estimated": ("part", "A formula gave it, which stands beside it."),
    "none": ("", "Nobody has measured, recorded or declared it."),
}


@register.simple_tag
def kind(word: str, said: str = "") -> SafeString:
    """Give the tag of a kind; ``said`` in its place where there is nothing: not declared."""
    return format_html('<span class="tag {}">{}</span>', KINDS[word][0], said or word)


@register.simple_tag
def kinds() -> dict[str, tuple[str, str]]:
    """Every kind with what it means."""
    return KINDS
