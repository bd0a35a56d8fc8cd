"""The list of models, whose every state is its address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.pages.catalogue import fit_lines
from frontend.parts import formatting, highlighting, labels
from frontend.presenters import list_code, list_filters, questions, runtime_columns, speed_column
from registry.api.parameters import accepts
from registry.catalogue import accuracies, facets, predictions, search, searchable, speeds
from registry.catalogue.query import Query

if TYPE_CHECKING:
    from registry.core.permissions import Actor

# Groups of filters that are in sight; the others are behind one more.
FIRST_GROUPS = 6
SUGGESTIONS = 8
# Columns of a document that a suggestion shows.
SUGGESTED = ("pk", "title", "task")


@accepts(*list_filters.PARAMETERS)
@require_safe
def models(request: HttpRequest) -> HttpResponse:
    known_setups = speeds.offers(request.user)
    data = questions.apply(request.GET, known_setups)
    query = list_filters.settled(list_filters.read(data), known_setups)
    cursor = data.get("cursor", "")[:500]
    question = questions.of(query, data.get("question", ""), known_setups, reverse("models"))
    canonical = list_filters.address(query, cursor, question["text"] if question else "")
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    page = search.find(request.user, query, cursor=cursor)
    chips = list_filters.chips(query)
    counts = facets.count(request.user, query)
    # Values that the choices leave without a model stay in sight.
    values = facets.count(request.user, Query()) if chips else counts
    listed_values = {group: [value for value, _ in pairs] for group, pairs in values.items()}
    column = speed_column.of(query, known_setups, page.items, is_first=not cursor)
    groups = list_filters.groups(query, counts, values)
    total = facets.totals(request.user)["models"] if chips else page.count
    return render(
        request,
        "models/list.html",
        {
            "section": "models",
            "query": query,
            "chips": chips,
            "question": question,
            "latency": list_filters.latency_limit(query),
            "kept": list_filters.hidden_fields(query),
            "first_groups": groups[:FIRST_GROUPS],
            "more_groups": groups[FIRST_GROUPS:],
            "is_more_chosen": any(group["choice_count"] for group in groups[FIRST_GROUPS:]),
            "counts_capped": formatting.grouped(facets.MATCHES) if counts.capped else "",
            "measures": list_filters.measures(query, accuracies.offers(request.user)),
            "bound": list_filters.bound(query),
            "sorts": list_filters.sorts(query, known_setups),
            "order_reason": list_filters.order_reason(query),
            "offers_predictions": bool(column and predictions.exist(column["setup"])),
            "withdrawn": (
                searchable.documents_on_withdrawn_data([row.pk for row in page.items])
                if searchable.asks_of_data(query)
                else ()
            ),
            "fits": fit_lines.of(query, page.items, column["rows"] if column else {}),
            "rows": page.items,
            "column": column,
            "without_setup": query.sort == search.FASTEST and not query.device,
            "passing": runtime_columns.of(listed_values["passes_on"], page.items),
            "shown": formatting.grouped(page.count) + ("+" if page.capped else ""),
            "total": formatting.grouped(total) + ("+" if page.capped and not chips else ""),
            "first": list_filters.address(query) if cursor else "",
            "next": list_filters.address(query, page.next) if page.next else "",
            "find_url": canonical.replace(reverse("models"), reverse("find"), 1),
            "python": list_code.python(query),
            "feed_url": list_filters.feed(query),
            "listed_values": listed_values,
            "hint": _hint(request.user, query, chips) if chips and not page.items else None,
        },
    )


@accepts("q")
@require_safe
def suggest(request: HttpRequest) -> JsonResponse:
    """The first models of the list for a text, for the field in the head of every page.

    Each with its address, its task, and its name in pieces: those that match are marked.
    """
    text = request.GET.get("q", "").strip()[:200]
    query = Query.of(text=text)
    page = search.find(request.user, query, limit=SUGGESTIONS, columns=SUGGESTED) if text else None
    rows = [
        {
            "url": reverse("model", args=row.title.split("/", 1)),
            "parts": highlighting.parts(row.title, text),
            "task": labels.task(row.task),
        }
        for row in (page.items if page else [])
    ]
    return JsonResponse({"items": rows})


def _hint(actor: Actor, query: Query, chips: list[dict[str, Any]]) -> dict[str, object] | None:
    best: dict[str, object] | None = None
    for chip in chips[:6]:
        wider = (
            replace(query, text="")
            if chip["group"] == "q"
            else list_filters.without(query, chip["group"])
        )
        count = search.find(actor, wider, limit=1).count
        if count and (best is None or count > int(str(best["count"]))):
            best = {
                "title": chip["title"],
                "words": chip["words"],
                "count": count,
                "url": list_filters.address(wider),
            }
    return best
