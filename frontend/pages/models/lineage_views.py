"""The tab of a version that shows its family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.models import lineage
from frontend.presenters.version_page import context
from metadata.graphs import relatives
from registry.versions import selectors

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Ancestors and descendants, as far as the reader may see them."""
    version = selectors.whole_version(request.user, namespace, name, number)
    up = relatives.ancestors(request.user, version)
    down = relatives.Descent()
    if version.is_served:
        down = relatives.descendants(request.user, version)
    above, below = lineage.above(up.relatives), lineage.below(down.relatives)
    own = lineage.variants(version)
    return render(
        request,
        "models/lineage.html",
        {
            **context(request, version, "lineage"),
            "above": above,
            "below": below,
            "own": own,
            "drawing": lineage.drawn(version, above, own, below),
            "cut_above": up.cut,
            "cut_below": down.cut,
            "steps": (relatives.UP, relatives.DOWN, relatives.MOST),
        },
    )
