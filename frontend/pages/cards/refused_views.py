"""The page of a model's refused cards, for their uploaders and the maintainers."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from frontend.parts.addresses import whole
from hub.protocol import problems
from registry.cards import refused_cards
from registry.models import Version
from registry.versions import selectors

# Drafts in which a refused card can be mended: the newest.
DRAFTS = 3


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """Each refused card with its findings; posting the number of one drops it."""
    model = selectors.model(request.user, namespace, name)
    rows = refused_cards.of_model(request.user, model)
    if request.method == "POST":
        key = problems.expect(
            whole(request.POST.get("card", ""), 18),
            problems.InvalidRequest("Select a refused card."),
        )
        refused_cards.one(request.user, model, key).delete()
        return HttpResponseRedirect(request.path)
    drafts = selectors.versions(request.user, model).filter(state=Version.State.DRAFT)
    return render(
        request,
        "models/refused_cards.html",
        {
            "section": "models",
            "model": model,
            "rows": [(row, refused_cards.text(row), refused_cards.check(row)) for row in rows],
            "drafts": drafts[:DRAFTS],
        },
    )
