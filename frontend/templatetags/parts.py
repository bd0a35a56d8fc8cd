"""The small repeated parts of pages: icons, states, times, numbers, copy buttons, barcodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting
from frontend.parts import labels as words
from frontend.parts.svg import barcode as barcodes
from frontend.parts.svg import case_bars as tallies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from frontend.presenters.list_filters import Choice, Group

register = template.Library()

register.filter("grouped", formatting.grouped)
register.filter("quantity", formatting.quantity)
register.filter("size", formatting.size)
register.filter("carbon", formatting.carbon)
register.filter("duration", formatting.duration)
register.filter("exact", formatting.exact)
register.filter("figure", formatting.figure)
register.filter("runtime", words.runtime)

# word of a state or outcome -> (tone of its tag, icon)
_STATES = {
    "passed": ("pass", "pass"),
    "published": ("pass", "pass"),
    "succeeded": ("pass", "pass"),
    "ready": ("pass", "pass"),
    "failed": ("fail", "fail"),
    "errored": ("part", "part"),
    "warning": ("part", "part"),
    "yanked": ("part", "part"),
    "withdrawn": ("fail", "fail"),
    "error": ("fail", "fail"),
    "refused": ("fail", "fail"),
    "running": ("accent", "wait"),
    "submitted": ("accent", "wait"),
    "silent": ("part", "part"),
    "queued": ("plain", "wait"),
    "pending": ("plain", "wait"),
    "draft": ("plain", "none"),
    "cancelled": ("plain", "none"),
    "not run": ("plain", "none"),
    "ok": ("pass", "pass"),
    "invalid": ("fail", "fail"),
    "unsupported": ("part", "part"),
    "crashed": ("fail", "fail"),
    "timed out": ("fail", "fail"),
    "out of memory": ("fail", "fail"),
    "can't tell": ("part", "part"),
    "does not apply": ("plain", "none"),
    "not tested": ("plain", "none"),
    "not completed": ("part", "part"),
    "does not run": ("part", "part"),
    "data wrong": ("part", "part"),
    "reference wrong": ("part", "part"),
    "timed-out": ("fail", "fail"),
    "absent": ("plain", "none"),
    "lost": ("part", "part"),
    "private": ("plain", "lock"),
    "gated": ("plain", "lock"),
    "info": ("accent", "none"),
    "accepted": ("pass", "pass"),
    "noisy": ("plain", "none"),
    "rejected": ("part", "part"),
    "open": ("accent", "wait"),
    "closing": ("part", "part"),
    "aggregated": ("pass", "pass"),
    "used": ("pass", "pass"),
    "received": ("plain", "none"),
    "late": ("part", "part"),
    "paused": ("plain", "none"),
    "halted": ("fail", "fail"),
    "finished": ("pass", "pass"),
    "active": ("pass", "pass"),
    "suspended": ("part", "part"),
    "revoked": ("fail", "fail"),
}


@register.simple_tag
def icon(name: str, words: str = "") -> SafeString:
    """Give one symbol of the sprite; with ``words`` it speaks, without it is decoration."""
    spoken = (
        format_html('role="img" aria-label="{}"', words)
        if words
        else mark_safe('aria-hidden="true"')
    )
    return format_html(
        '<svg class="icon" {} focusable="false"><use href="{}#{}"/></svg>',
        spoken,
        static("frontend/icons.svg"),
        name,
    )


@register.simple_tag
def state(word: str) -> SafeString:
    """Tag that names a state in words, with its own shape and colour."""
    tone, shape = _STATES.get(word, ("plain", "none"))
    return format_html('<span class="tag {}">{}{}</span>', tone, icon(shape), word)


@register.simple_tag
def glyph(word: str) -> SafeString:
    """Only the shape of an outcome; the word stands beside it in the page."""
    tone, shape = _STATES.get(word, ("plain", "none"))
    return format_html('<span class="glyph {}">{}</span>', tone, icon(shape))


@register.simple_tag
def when(moment: datetime | None, *, both: bool = False) -> SafeString:
    """Write a time relatively, exact in the title; with ``both`` the exact time is written too."""
    if moment is None:
        return mark_safe("")
    exact = formatting.exact(moment)
    words = formatting.relative(moment, timezone.now())
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        exact,
        f"{exact} ({words})" if both else words,
    )


@register.simple_tag
def count(number: int, one: str, many: str = "") -> str:
    """Give a count with its noun."""
    return formatting.plural(number, one, many)


@register.simple_tag
def barcode(cells: Sequence[str] | None) -> SafeString:
    return barcodes.draw(cells or ())


@register.simple_tag
def tally(totals: dict[str, int]) -> SafeString:
    return tallies.draw(totals)


@register.simple_tag
def copy(text: str, what: str, words: str = "") -> SafeString:
    """Button that copies ``text``; it shows only where scripts can do it."""
    label = format_html("<span>{}</span>", words) if words else mark_safe("")
    return format_html(
        '<button type="button" class="copy{}" data-copy="{}" aria-label="Copy {}" hidden>{}{}'
        "</button>",
        "" if words else " bare",
        text,
        what,
        icon("copy"),
        label,
    )


@register.simple_tag
def swatch(category: str, family: str = "op") -> SafeString:
    """Give the colour of an operator's category, or with ``family`` of something else."""
    return format_html(
        '<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true" focusable="false">'
        '<path class="{}-{}" d="M0 0h1v1H0z"/></svg>',
        family,
        category,
    )


@register.simple_tag
def choices(group: Group, shown: Iterable[Choice]) -> SafeString:
    """Fields of one filter; a template for each of a hundred takes as long as the rest."""
    listed = list(shown)
    return format_html_join(
        "",
        '{}<label class="choice{}"><input type="{}" name="{}" value="{}"{}>'
        "<span>{}</span>{}</label>",
        (
            (
                format_html('<p class="family">{}</p>', one.family)
                if one.family and one.family != before
                else "",
                " zero" if one.count == 0 else "",
                group.kind,
                group.name,
                one.value,
                mark_safe(" checked") if one.on else "",
                one.words,
                "" if one.count is None else _small(one.count),
            )
            for before, one in zip(["", *(one.family for one in listed)], listed, strict=False)
        ),
    )


def _small(count: int) -> SafeString:
    return format_html("<small>{}</small>", formatting.grouped(count))


@register.filter
def short(digest: str) -> str:
    """Give the first twelve characters of a digest."""
    return digest[:12]


@register.filter
def spaced(word: str) -> str:
    """Give timed out, for ``timed-out``."""
    return word.replace("-", " ")


@register.filter
def listed(text: str) -> list[str]:
    """Give the words between commas, for a template that hands on a few."""
    return text.split(",")


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    """Give the value of a key that is not a plain word."""
    return mapping.get(key)
