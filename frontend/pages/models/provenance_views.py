"""The tab of a version that says where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.models import provenance
from frontend.presenters import statements
from frontend.presenters.version_page import context
from metadata.graphs import relatives, subjects
from metadata.store import negotiation
from registry.versions import selectors

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def show(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Sentences, a drawing of them, and the first lines of the graph that they are in."""
    version = selectors.whole_version(request.user, namespace, name, number)
    shown = context(request, version, "provenance")
    gone = version.state == version.State.WITHDRAWN
    nquads = "" if gone else negotiation.of_version(version)
    bases = relatives.ancestors(request.user, version, depth=1)
    private = gone or not subjects.is_public(version)
    story = provenance.tell(
        subjects.version_facts(version), bases.relatives, nquads, private=private
    )
    turtle, more = provenance.turtle(negotiation.write(story.nquads, "ttl"))
    return render(
        request,
        "models/provenance.html",
        {
            **shown,
            "story": story,
            "private": private,
            "gone": gone,
            "turtle": turtle,
            "more_lines": more,
            "formats": () if gone else statements.formats(shown["head"].graph_url),
        },
    )
