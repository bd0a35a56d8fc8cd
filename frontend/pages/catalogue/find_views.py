"""A question in words, the models that fit on two figures, and which of them no other beats."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.pages.catalogue import candidates
from frontend.presenters import list_code, list_filters, questions, speed_column
from registry.api.parameters import accepts
from registry.catalogue import accuracies, facets, predictions, speeds
from registry.catalogue.query import Query


@accepts(*list_filters.PARAMETERS, "x", "y")
@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """The page; its address is that of the list with what is plotted, `x` and `y`."""
    known_setups = speeds.offers(request.user)
    data = questions.apply(request.GET, known_setups)
    query = list_filters.settled(list_filters.read(data), known_setups)
    question = questions.of(query, data.get("question", ""), known_setups, reverse("find"))
    axes = {name: value for name in ("x", "y") if (value := str(data.get(name, "")))}
    own = list_filters.parameters(query, question=question["text"] if question else "")
    canonical = _address(own, urlencode(axes))
    if request.get_full_path() != canonical:
        return HttpResponseRedirect(canonical)
    offered = accuracies.offers(request.user)
    setup = query.setup if query.device else speeds.settled(known_setups, query.setup, ())
    choice = candidates.choice(axes, query, setup, offered)
    plot = candidates.of(request.user, query, choice, setup, offered)
    counts = facets.count(request.user, Query())
    offer = next((offer for offer in known_setups if offer.setup == setup), None)
    context = {
        "section": "find",
        "query": query,
        "question": question,
        "text": question["text"] if question else query.text,
        "chips": [chip | {"url": _here(chip["url"], axes)} for chip in list_filters.chips(query)],
        "clear": reverse("find"),
        "kept": parse_qsl(own),
        "plot": plot,
        "setup": speed_column.words(offer) if offer else "",
        "predicted": bool(setup.device and predictions.exist(setup)),
        "list_url": list_filters.address(query),
        "listed_values": {group: [value for value, _ in pairs] for group, pairs in counts.items()},
        "python": list_code.python(query),
    }
    return render(request, "models/find.html", context)


def _address(own: str, axes: str) -> str:
    written = "&".join(filter(None, (own, axes)))
    return f"{reverse('find')}?{written}" if written else reverse("find")


def _here(url: str, axes: dict[str, str]) -> str:
    """This page with the filters of an address of the list."""
    return _address(url.partition("?")[2], urlencode(axes))
