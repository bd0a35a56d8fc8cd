"""The tab of a version that shows its family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend import lineage_view
from frontend.views.versions import context
from metadata import descent
from metadata.subjects import SHOWN
from registry import selectors

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Ancestors and descendants, as far as the reader may see them."""
    version = selectors.whole_version(request.user, namespace, name, number)
    up = descent.ancestors(request.user, version)
    down = descent.Descent()
    if version.state in SHOWN:
        down = descent.descendants(request.user, version)
    above, below = lineage_view.above(up.relatives), lineage_view.below(down.relatives)
    own = lineage_view.variants(version)
    return render(
        request,
        "models/lineage.html",
        {
            **context(request, version, "lineage"),
            "above": above,
            "below": below,
            "own": own,
            "drawing": lineage_view.drawn(version, above, own, below),
            "cut_above": up.cut,
            "cut_below": down.cut,
            "steps": (descent.UP, descent.DOWN, descent.MOST),
        },
    )
