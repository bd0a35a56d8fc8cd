"""Models beside each other: a page whose address is its whole state, and the same as CSV."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import compare, compare_facts, differences, query_page
from hub.protocol import problems
from metadata import comparison
from metadata.subjects import SHOWN
from registry.api.parameters import accepts
from runners.verification import RELEASED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest


@accepts("m")
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; 404 where no reference leads to anything that the reader may see."""
    wanted = compare.read(request.GET.getlist("m"))
    canonical = compare.address(wanted)
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    columns, refused = compare.find(request.user, wanted)
    shown = [column.ref for column in columns]
    rows = compare_facts.rows(columns) if columns else []
    pinned = compare.address([column.pinned for column in columns])
    context = {
        "section": "models",
        "columns": [_head(column, shown) for column in columns],
        "graphs": [
            (left.pinned, right.pinned, _graphs(left, right))
            for left, right in pairwise(columns)
            if _graphs(left, right)
        ],
        "refused": refused,
        "kept": shown,
        "different": [row for row in rows if not row.is_equal],
        "equal": [row for row in rows if row.is_equal],
        "room": compare.MOST - len(columns),
        "few": len(columns) < compare.FEWEST,
        "csv": compare.address(shown, "compare-csv") if columns else "",
        "pinned": "" if pinned == canonical else pinned,
        **_question(columns),
    }
    status = 404 if wanted and not columns else 200
    return render(request, "compare/compare.html", context, status=status)


@accepts("m")
@require_safe
def table(request: HttpRequest) -> HttpResponse:
    """The table as CSV; raises NotFound for a reference that leads to nothing."""
    wanted = compare.read(request.GET.getlist("m"))
    columns, refused = compare.find(request.user, wanted)
    if refused or not columns:
        found = refused[0] if refused else compare.Refused("", "Name the models with m=.")
        raise problems.NotFound(f"{found.ref}: {found.words}" if found.ref else found.words)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="compare.csv"'
    csv.writer(response).writerows(compare_facts.csv(columns))
    return response


def _head(column: compare.Column, shown: Sequence[str]) -> dict[str, Any]:
    """A column's heading, with the addresses that move or remove it."""
    at = shown.index(column.ref)
    model = column.version.model
    return {
        "namespace": model.namespace.slug,
        "name": model.name,
        "number": column.version.number,
        "variant": "" if column.is_main or not column.variant else column.variant.name,
        "state": column.version.state,
        "private": not model.is_public,
        "url": column.url,
        "ref": column.ref,
        "left": compare.address(compare.moved(shown, column.ref, -1)) if at else "",
        "right": compare.address(compare.moved(shown, column.ref, 1))
        if at + 1 < len(shown)
        else "",
        "remove": compare.address(compare.without(shown, column.ref)),
    }


def _graphs(left: compare.Column, right: compare.Column) -> str:
    """Where the graphs of two columns are compared; nowhere unless they are of one model."""
    if left.version.model_id != right.version.model_id or not (left.variant and right.variant):
        return ""
    if left.variant.pk == right.variant.pk:
        return ""
    if left.version.state not in RELEASED or right.version.state not in RELEASED:
        return ""
    return differences.between(left.version, left.variant, right.version, right.variant)


def _question(columns: Sequence[compare.Column]) -> dict[str, Any]:
    """The table as SPARQL, of those of which everybody may know, and how many others there are."""
    public = [
        comparison.Compared(
            column.pinned,
            column.version.model.namespace.slug,
            column.version.model.name,
            column.version.number,
            column.variant.name,
        )
        for column in columns
        if column.variant and column.version.state in SHOWN and column.version.model.is_public
    ]
    if not public:
        return {"query": "", "query_url": "", "untold": 0}
    text = comparison.of(public, settings.HUB_PUBLIC_URL)
    return {
        "query": text,
        "query_url": query_page.address(text, ()),
        "untold": len(columns) - len(public),
    }
