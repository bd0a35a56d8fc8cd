"""Models beside each other: a page whose address is its whole state, and the same as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import pairwise

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.compare import fact_rows
from frontend.presenters import comparison as presenter
from frontend.presenters import differences
from hub.protocol import problems
from registry.api.parameters import accepts


@accepts("m")
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; 404 where no reference leads to anything that the reader may see."""
    refs = presenter.read(request.GET.getlist("m"))
    canonical = presenter.address(refs)
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    columns, refused = presenter.find(request.user, refs)
    compared = [column.ref for column in columns]
    rows = fact_rows.rows(columns) if columns else []
    pinned = presenter.address([column.pinned for column in columns])
    context = {
        "section": "models",
        "columns": [(column, *_moves(compared, column.ref)) for column in columns],
        "graphs": [
            (left.pinned, right.pinned, _graphs(left, right))
            for left, right in pairwise(columns)
            if _graphs(left, right)
        ],
        "refused": refused,
        "kept": compared,
        "different": [row for row in rows if not row.is_equal],
        "equal": [row for row in rows if row.is_equal],
        "room": presenter.MOST - len(columns),
        "few": len(columns) < presenter.FEWEST,
        "csv": presenter.address(compared, "compare-csv") if columns else "",
        "pinned": "" if pinned == canonical else pinned,
    }
    status = 404 if refs and not columns else 200
    return render(request, "compare/compare.html", context, status=status)


@accepts("m")
@require_safe
def table(request: HttpRequest) -> HttpResponse:
    """The table as CSV; raises NotFound for a reference that leads to nothing."""
    refs = presenter.read(request.GET.getlist("m"))
    columns, refused = presenter.find(request.user, refs)
    for reference in refused:
        raise problems.NotFound(f"{reference['ref']}: {reference['words']}")
    if not columns:
        raise problems.NotFound("Add models with the parameter m.")
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="compare.csv"'
    csv.writer(response).writerows(fact_rows.csv(columns))
    return response


def _moves(refs: Sequence[str], ref: str) -> tuple[str, str, str]:
    """The addresses that move a column to the left or right, where they can, or remove it."""
    at, last = refs.index(ref), len(refs) - 1
    steps = ((-1, at > 0), (1, at < last))
    left, right = (
        presenter.address(presenter.moved(refs, ref, step)) if can_move else ""
        for step, can_move in steps
    )
    return left, right, presenter.address(presenter.without(refs, ref))


def _graphs(left: presenter.Column, right: presenter.Column) -> str:
    """Where the graphs of two columns are compared; nowhere unless they are of one model."""
    if left.version.model_id != right.version.model_id or not (left.variant and right.variant):
        return ""
    if left.variant.pk == right.variant.pk:
        return ""
    if not left.version.is_served or not right.version.is_served:
        return ""
    return differences.between(left.version, left.variant, right.version, right.variant)
