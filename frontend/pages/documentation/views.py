"""The documentation, one page for each file of `docs`, and a search in it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.documentation import documents
from hub.protocol import problems
from registry.api.parameters import accepts

LONGEST_SEARCH = 200


@accepts("q")
@require_safe
def show(request: HttpRequest, name: str = "") -> HttpResponse:
    """A page, beside the navigation; of the first page, what a search found."""
    page = problems.expect(
        documents.document(name),
        problems.NotFound(
            f"The documentation has no page {name}. Its first page, /docs, lists all of them."
        ),
    )
    words = "" if name else request.GET.get("q", "")[:LONGEST_SEARCH]
    values = {
        "page": page,
        "groups": documents.navigation(),
        "words": words,
        "hits": documents.search(words) if words.strip() else None,
    }
    return render(request, "documentation.html", values)
