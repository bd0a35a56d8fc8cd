"""The list of models, whose every state is its address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import filters, formatting, heads
from registry import search

if TYPE_CHECKING:
    from django.http import HttpRequest

    from registry.permissions import Actor


@require_safe
def models(request: HttpRequest) -> HttpResponse:
    query = filters.read(request.GET)
    cursor = request.GET.get("cursor", "")[:500]
    canonical = filters.address(query, cursor)
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    page = search.find(request.user, query, cursor=cursor)
    chips = filters.chips(query)
    counts = search.facets(request.user, query)
    # Values that the choices leave without a model stay in sight.
    values = search.facets(request.user, search.Query()) if chips else counts
    total = search.totals(request.user)["models"] if chips else page.count
    return render(
        request,
        "models/list.html",
        {
            "section": "models",
            "query": query,
            "chips": chips,
            "kept": filters.kept(query),
            "groups": filters.groups(query, counts, values),
            "counts_capped": formatting.grouped(search.FACET_MATCHES) if counts.capped else "",
            "sorts": [
                {"value": value, "words": text, "on": value == query.sort}
                for value, text in filters.SORTS.items()
            ],
            "rows": [heads.row(document) for document in page.items],
            "shown": formatting.grouped(page.count) + ("+" if page.capped else ""),
            "total": formatting.grouped(total) + ("+" if page.capped and not chips else ""),
            "first": filters.address(query) if cursor else "",
            "next": filters.address(query, page.next) if page.next else "",
            "hint": _hint(request.user, query, chips) if chips and not page.items else None,
        },
    )


def _hint(actor: Actor, query: search.Query, chips: list[filters.Chip]) -> dict[str, object] | None:
    """The filter whose removal brings back most, for a list that is empty."""
    best: dict[str, object] | None = None
    for chip in chips[:6]:
        wider = replace(query, text="") if chip.group == "q" else query.without(chip.group)
        count = search.find(actor, wider, limit=1).count
        if count and (best is None or count > int(str(best["count"]))):
            best = {
                "title": chip.title,
                "words": chip.words,
                "count": count,
                "url": filters.address(wider),
            }
    return best
