"""Models beside each other: a page whose address is its whole state, and the same as CSV."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.query import page
from frontend.presenters import comparison as presenter_comparison
from frontend.presenters import comparison_facts, differences
from hub.protocol import problems
from metadata.sparql import comparison
from registry.api.parameters import accepts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest


@accepts("m")
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; 404 where no reference leads to anything that the reader may see."""
    wanted = presenter_comparison.read(request.GET.getlist("m"))
    canonical = presenter_comparison.address(wanted)
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    columns, refused = presenter_comparison.find(request.user, wanted)
    shown = [column.ref for column in columns]
    rows = comparison_facts.rows(columns) if columns else []
    pinned = presenter_comparison.address([column.pinned for column in columns])
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
        "room": presenter_comparison.MOST - len(columns),
        "few": len(columns) < presenter_comparison.FEWEST,
        "csv": presenter_comparison.address(shown, "compare-csv") if columns else "",
        "pinned": "" if pinned == canonical else pinned,
        **_question(columns),
    }
    status = 404 if wanted and not columns else 200
    return render(request, "compare/compare.html", context, status=status)


@accepts("m")
@require_safe
def table(request: HttpRequest) -> HttpResponse:
    """The table as CSV; raises NotFound for a reference that leads to nothing."""
    wanted = presenter_comparison.read(request.GET.getlist("m"))
    columns, refused = presenter_comparison.find(request.user, wanted)
    if refused or not columns:
        found = (
            refused[0]
            if refused
            else presenter_comparison.Refused("", "Add models with the parameter m.")
        )
        raise problems.NotFound(f"{found.ref}: {found.words}" if found.ref else found.words)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="compare.csv"'
    csv.writer(response).writerows(comparison_facts.csv(columns))
    return response


def _head(column: presenter_comparison.Column, shown: Sequence[str]) -> dict[str, Any]:
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
        "left": presenter_comparison.address(presenter_comparison.moved(shown, column.ref, -1))
        if at
        else "",
        "right": presenter_comparison.address(presenter_comparison.moved(shown, column.ref, 1))
        if at + 1 < len(shown)
        else "",
        "remove": presenter_comparison.address(presenter_comparison.without(shown, column.ref)),
    }


def _graphs(left: presenter_comparison.Column, right: presenter_comparison.Column) -> str:
    """Where the graphs of two columns are compared; nowhere unless they are of one model."""
    if left.version.model_id != right.version.model_id or not (left.variant and right.variant):
        return ""
    if left.variant.pk == right.variant.pk:
        return ""
    if not left.version.is_served or not right.version.is_served:
        return ""
    return differences.between(left.version, left.variant, right.version, right.variant)


def _question(columns: Sequence[presenter_comparison.Column]) -> dict[str, Any]:
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
        if column.variant and column.version.is_served and column.version.model.is_public
    ]
    if not public:
        return {"query": "", "query_url": "", "untold": 0}
    text = comparison.of(public, settings.HUB_PUBLIC_URL)
    return {
        "query": text,
        "query_url": page.address(text, ()),
        "untold": len(columns) - len(public),
    }
