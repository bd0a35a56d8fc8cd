"""Models beside each other: a page whose address is its whole state, and the same as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.compare import fact_rows
from frontend.presenters import comparison as presenter
from frontend.presenters import differences
from hub.protocol import problems
from registry.api.parameters import accepts
from registry.models.saved_comparisons import FEWEST_COMPARED, MOST_COMPARED

if TYPE_CHECKING:
    from frontend.presenters.comparison_facts import Fact


@accepts("m", "chart")
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; 404 where no reference leads to anything that the reader may see."""
    refs = presenter.read(request.GET.getlist("m"))
    selection = fact_rows.read_charts(request.GET.getlist("chart"))
    canonical = presenter.address(refs, charts=selection)
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    return page(request, refs, "compare/compare.html")


def page(
    request: HttpRequest,
    refs: Sequence[str],
    template: str,
    context: Mapping[str, Any] = MappingProxyType({}),
) -> HttpResponse:
    """Models beside each other, with the charts that the address asks for, and ``context``."""
    selection = fact_rows.read_charts(request.GET.getlist("chart"))
    columns, refused = presenter.find(request.user, refs)
    template_context = {
        "section": "models",
        "refused": refused,
        **(_table(columns, selection) if columns else {}),
        "room": MOST_COMPARED - len(columns),
        "few": len(columns) < FEWEST_COMPARED,
    }
    status = 404 if refs and not columns else 200
    return render(request, template, {**template_context, **context}, status=status)


def _table(columns: Sequence[presenter.Column], selection: Sequence[str]) -> dict[str, Any]:
    """The rows, the charts that were chosen, and what can be done with the columns."""
    compared = [column.ref for column in columns]
    pinned = [column.pinned for column in columns]
    rows = fact_rows.rows(columns)
    charts = fact_rows.charts(rows, selection)
    return {
        "columns": [(column, *_moves(compared, column.ref, selection)) for column in columns],
        "graphs": [
            (left.pinned, right.pinned, _graphs(left, right))
            for left, right in pairwise(columns)
            if _graphs(left, right)
        ],
        "kept": compared,
        "kept_charts": selection,
        "different": [row for row in rows if not row.is_folded],
        "equal": [row for row in rows if row.is_folded],
        "charts": [(row, _drawn(compared, row)) for row, is_drawn in charts if is_drawn],
        "chart_choices": [
            (row.title, is_drawn, _toggle_address(compared, charts, row.key))
            for row, is_drawn in charts
        ],
        "csv": presenter.address(compared, "compare-csv"),
        "pinned": "" if pinned == compared else presenter.address(pinned, charts=selection),
    }


def _drawn(refs: Sequence[str], row: fact_rows.FactRow) -> list[tuple[str, Fact]]:
    """The names and cells of a chart; models without a picture are left out."""
    return [(ref, cell) for ref, cell in zip(refs, row.cells, strict=True) if cell.picture]


def _toggle_address(
    refs: Sequence[str], charts: Sequence[tuple[fact_rows.FactRow, bool]], key: str
) -> str:
    """The address with one chart more or less."""
    names = [row.key for row, is_drawn in charts if is_drawn != (row.key == key)]
    return presenter.address(refs, charts=names or [fact_rows.NO_CHART])


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


def _moves(refs: Sequence[str], ref: str, charts: Sequence[str]) -> tuple[str, str, str]:
    """The addresses that move a column to the left or right, where they can, or remove it."""
    at, last = refs.index(ref), len(refs) - 1
    steps = ((-1, at > 0), (1, at < last))
    left, right = (
        presenter.address(presenter.moved(refs, ref, step), charts=charts) if can_move else ""
        for step, can_move in steps
    )
    return left, right, presenter.address(presenter.without(refs, ref), charts=charts)


def _graphs(left: presenter.Column, right: presenter.Column) -> str:
    """Where the graphs of two columns are compared; nowhere unless they are of one model."""
    if left.version.model_id != right.version.model_id or not (left.variant and right.variant):
        return ""
    if left.variant.pk == right.variant.pk:
        return ""
    if not left.version.is_served or not right.version.is_served:
        return ""
    return differences.between(left.version, left.variant, right.version, right.variant)
