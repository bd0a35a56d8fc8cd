"""Figures and results of benchmarks in templates."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from frontend.parts import local_numbers
from frontend.presenters import figures, measurements
from hub.protocol import benchmark_metrics
from hub.protocol.figures import Figure
from hub.protocol.intervals import Level
from runners.models import Measurement

register = template.Library()

register.filter("latency", measurements.latency)
register.filter("runtime_of", measurements.runtime_of)
register.filter("why", measurements.why)
register.filter("address", measurements.address)
register.filter("counted", figures.count_words)
register.filter("words", figures.text)
register.filter("interval", figures.interval)
register.filter("interval_basis", figures.interval_basis)
register.filter("or_unmeasured", figures.or_unmeasured)
_BY_NAME = {metric.name: metric for metric in benchmark_metrics.ALL}


@register.filter
def of(row: Measurement, name: str) -> Figure:
    """Give a figure of a result by the name of its metric."""
    return row.figure(_BY_NAME[name])


@register.simple_tag
def interval_of(name: str) -> str:
    """Give a level of intervals by its name, as text: 80 % interval."""
    return Level[name.upper()].words


@register.simple_tag
def figure(
    figure: Figure, url: str = "", *, with_kind: bool = False, with_interval: bool = False
) -> SafeString:
    """Write a figure: its value with a link, what a reader must know beside it, its interval."""
    tone = "" if figure.is_ranked else "muted"
    words = local_numbers.mark(figures.text(figure))
    status, kind = figures.status(figure), figures.kind(figure, always=with_kind)
    ends = figures.interval(figure) if with_interval else ""
    return format_html(
        '<span class="figure" data-status="{}" data-kind="{}">{}{}{}{}</span>',
        figure.status,
        figure.kind,
        format_html('<a class="{}" href="{}">{}</a>', tone, url, words)
        if url and figure.is_known
        else format_html('<span class="{}">{}</span>', tone, words),
        format_html(" <small>{}</small>", status) if status else mark_safe(""),
        format_html(' <span class="tag {}">{}</span>', figures.KINDS[kind][0], kind)
        if kind
        else mark_safe(""),
        format_html(' <small title="{}">{}</small>', figures.interval_basis(figure), ends)
        if ends
        else mark_safe(""),
    )
