"""The op barcode: a graph's nodes in order of execution, coloured by what kind of work they do.

However long the graph, the picture has at most 200 cells and one path per category.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

CELLS = 200

# Category as the engine names it -> its words in a legend. The order is that of the legend.
CATEGORIES = {
    "conv": "Convolution",
    "matmul": "MatMul, Gemm",
    "attention": "Attention",
    "norm": "Normalisation",
    "activation": "Activation",
    "elementwise": "Element-wise",
    "pool": "Pooling, reduction",
    "shape": "Shape, layout",
    "quantise": "Quantise",
    "recurrent": "Recurrent",
    "gather": "Gather",
    "trees": "Trees, classical",
    "other": "Other",
}
REST = "other"


def binned(cells: Sequence[str]) -> list[str]:
    """At most 200 cells; a bin of several takes its commonest category."""
    if len(cells) <= CELLS:
        return list(cells)
    edges = [len(cells) * step // CELLS for step in range(CELLS + 1)]
    return [Counter(cells[start:stop]).most_common(1)[0][0] for start, stop in pairwise(edges)]


def bands(cells: Sequence[str]) -> list[str]:
    """At most 200 categories of the legend."""
    return binned([cell if cell in CATEGORIES else REST for cell in cells])


def draw(cells: Sequence[str]) -> SafeString:
    """One SVG band; nothing at all for a graph without nodes."""
    if not cells:
        return mark_safe("")
    band = bands(cells)
    paths: dict[str, list[str]] = {}
    start = 0
    while start < len(band):
        stop = start
        while stop < len(band) and band[stop] == band[start]:
            stop += 1
        paths.setdefault(band[start], []).append(f"M{start} 0h{stop - start}v1H{start}z")
        start = stop
    body = format_html_join(
        "",
        '<path class="op-{}" d="{}"/>',
        ((category, "".join(parts)) for category, parts in paths.items()),
    )
    return format_html(
        '<svg class="barcode" viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false">{}</svg>',
        len(band),
        body,
    )
