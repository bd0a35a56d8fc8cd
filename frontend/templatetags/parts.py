"""The small repeated parts of pages: icons, states, times, numbers, copy buttons, barcodes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.engine import Engine
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import formatting, highlighting, local_numbers
from frontend.parts import labels as words
from frontend.parts.options import Option
from frontend.parts.svg import barcode as barcodes
from frontend.parts.svg import case_bars as tallies
from frontend.presenters import facts, figures, job_progress, version_head
from frontend.presenters.page_parts import page_parts as parts_of_pages
from hub.protocol import bidi
from hub.protocol.facts import read_barcode
from hub.protocol.figures import Status

register = template.Library()

register.filter("grouped", local_numbers.of(formatting.grouped))
register.filter("quantity", local_numbers.of(formatting.quantity))
register.filter("size", local_numbers.of(formatting.size))
register.filter("carbon", local_numbers.of(formatting.carbon))
register.filter("duration", local_numbers.of(formatting.duration))
register.filter("exact", formatting.exact)
register.filter("figure", formatting.figure)
register.filter("runtime", words.runtime)
register.filter("licence", words.licence)
register.filter("kind_of", words.kind)
register.filter("task", words.task)
register.filter("job_title", job_progress.title)
register.filter("cells", read_barcode)
register.filter("operators", facts.operators)
register.filter("shares", facts.shares)
register.filter("sizes", facts.sizes)
register.filter("address_of", version_head.address_of)
register.filter("basename", posixpath.basename)

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
    "deprecated": ("part", "part"),
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
    "optimiser wrong": ("fail", "fail"),
    "reference wrong": ("part", "part"),
    "timed-out": ("fail", "fail"),
    "absent": ("plain", "none"),
    "lost": ("part", "part"),
    "private": ("plain", "lock"),
    "gated": ("plain", "lock"),
    "info": ("accent", "none"),
    Status.ACCEPTED: ("pass", "pass"),
    Status.NOISY: ("plain", "none"),
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


@register.simple_tag(takes_context=True)
def place(context: template.Context, view: str, *more: object) -> str:
    """Give the address of a page of the version that the page is about."""
    return version_head.place(context["version"], view, *more)


@register.simple_tag(takes_context=True)
def page_parts(context: template.Context, place: str, default: str = "") -> SafeString:
    """Write what capabilities add to a page in one place; where nothing, a default template."""
    pieces = []
    template_values: Any = context.render_context
    values = template_values.setdefault("page_parts", {})
    for part in parts_of_pages:
        if part.place == place:
            if part not in values:
                values[part] = part.values(context)
            with context.push(**values[part]):
                pieces.append(Engine.get_default().get_template(part.template).render(context))
    if not pieces and default:
        pieces.append(Engine.get_default().get_template(default).render(context))
    return mark_safe("".join(pieces))  # noqa: S308 - each template escapes


@register.simple_tag(takes_context=True)
def sign_in_url(context: template.Context) -> str:
    """Give the address of the page to sign in, which leads back to this one.

    Where the parameters of a page are a secret (``secret_parameters``), it leads back without them.
    """
    login = reverse("login")
    request = context["request"]
    if request.path == login:
        return str(request.get_full_path())
    here = request.path if context.get("secret_parameters") else request.get_full_path()
    return f"{login}?{urlencode({'next': here})}"


@register.simple_tag
def scrolls(*label: object) -> SafeString:
    """Give the attributes of a region that scrolls by itself and is named ``label``."""
    return format_html(
        'class="scroll" role="region" tabindex="0" aria-label="{}"', " ".join(map(str, label))
    )


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
    """Tag that shows a state with its own shape and colour."""
    tone, shape = _STATES.get(word, ("plain", "none"))
    return format_html('<span class="tag {}">{}{}</span>', tone, icon(shape), word)


@register.simple_tag
def glyph(word: str) -> SafeString:
    """Only the shape of an outcome; the word stands beside it in the page."""
    tone, shape = _STATES.get(word, ("plain", "none"))
    return format_html('<span class="glyph {}">{}</span>', tone, icon(shape))


@register.simple_tag(takes_context=True)
def runtime_marks(
    context: template.Context, cells: Sequence[tuple[str, str, str]] | None
) -> SafeString:
    """Write one mark for each runtime, shape and outcome; the marks of a page are drawn once."""
    values: Any = context.render_context
    drawn = values.setdefault("runtime_marks", {})
    for cell in cells or ():
        if cell not in drawn:
            runtime, shape, outcome = cell
            drawn[cell] = format_html(
                '<span title="{runtime}: {outcome}">{glyph}\n'
                '  {runtime}<span class="sr">: {outcome}</span></span>',
                runtime=runtime,
                outcome=outcome,
                glyph=glyph(shape),
            )
    marks = mark_safe("".join(drawn[cell] for cell in cells or ()))  # noqa: S308 - each is escaped
    return format_html('<p class="marks">{}</p>', marks) if marks else marks


@register.simple_tag
def when(moment: datetime | None, *, both: bool = False) -> SafeString:
    """Write a time relatively, exact in the title; with ``both`` the exact time is written too.

    Browsers write the exact time in the reader's time zone and format (local.js).
    """
    if moment is None:
        return mark_safe("")
    words = formatting.relative(moment, timezone.now())
    if both:
        return exact_time(moment, words)
    title = formatting.exact(moment)
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), title, words)


@register.simple_tag
def exact_time(moment: datetime, remark: str = "") -> SafeString:
    """Write a time exactly, with a remark in parentheses."""
    exact = formatting.exact(moment)
    return format_html(
        '<time datetime="{}" data-exact="{}">{}</time>',
        moment.isoformat(),
        remark,
        f"{exact} ({remark})" if remark else exact,
    )


@register.simple_tag
def count(number: int, one: str, many: str = "") -> SafeString | str:
    """Give a count with its noun."""
    return local_numbers.mark(formatting.plural(number, one, many))


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
def choices(group: Mapping[str, Any], group_options: Iterable[Option]) -> SafeString:
    """Fields of one filter; a template for each of a hundred takes as long as the rest."""
    options = list(group_options)
    return format_html_join(
        "",
        '{}<label class="choice{}"><input type="{}" name="{}" value="{}"{}>'
        "<span>{}</span>{}</label>",
        (
            (
                format_html('<p class="family">{}</p>', option.family)
                if option.family and option.family != before
                else "",
                " zero" if option.count == 0 else "",
                group["kind"],
                group["name"],
                option.value,
                mark_safe(" checked") if option.on else "",
                option.words,
                ""
                if option.count is None
                else format_html("<small>{}</small>", formatting.grouped(option.count)),
            )
            for before, option in zip(
                ["", *(option.family for option in options)], options, strict=False
            )
        ),
    )


@register.filter
def marked(text: str, search: str) -> SafeString | str:
    """Give the text with what matches a search in ``<mark>``; as it is without a search."""
    if not search:
        return text
    return mark_safe(  # noqa: S308 - each piece is escaped
        "".join(
            format_html("<mark>{}</mark>", part) if hit else conditional_escape(part)
            for part, hit in highlighting.parts(text, search)
        )
    )


@register.simple_tag
def kind(word: str, words: str = "") -> SafeString:
    """Give the tag of how a value is known; ``words`` in its place: not declared."""
    return format_html('<span class="tag {}">{}</span>', figures.KINDS[word][0], words or word)


@register.simple_tag
def kinds() -> dict[str, tuple[str, str]]:
    """Give every kind of evidence with its meaning."""
    return figures.KINDS


@register.filter
def short(digest: str) -> str:
    """Give the first twelve characters of a digest."""
    return digest[:12]


@register.filter(is_safe=True)
def isolated(text: str) -> str:
    """Give a title without controls that reorder the words of the hub beside it."""
    return bidi.without(text)


@register.filter
def spaced(word: str) -> str:
    """Give timed out, for ``timed-out``."""
    return word.replace("-", " ")


@register.filter
def split(text: str) -> list[str]:
    """Give the words between commas, for a template that hands on a few."""
    return text.split(",")


@register.filter
def item(mapping: Mapping[Any, Any], key: Any) -> Any:
    """Give the value of a key that is not a plain word."""
    return mapping.get(key)
