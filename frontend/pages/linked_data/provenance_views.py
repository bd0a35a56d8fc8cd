"""The tab of a version about its provenance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from frontend.pages.linked_data import provenance, statements
from frontend.presenters.version_page import context, of_whole_version
from metadata.graphs import relatives, selectors
from metadata.store import negotiation
from registry.models import Version


@require_safe
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    """Sentences, a drawing of them, and the first lines of the graph that they are in."""
    template_context = context(request, version, "provenance")
    gone = version.state == version.State.WITHDRAWN
    nquads = "" if gone else negotiation.of_version(version)
    bases = relatives.ancestors(request.user, version, depth=1)
    private = gone or not selectors.is_public(version)
    story = provenance.tell(
        selectors.version_facts(version), bases.relatives, nquads, private=private
    )
    turtle, more = provenance.turtle(negotiation.write(story.nquads, "ttl"))
    return render(
        request,
        "linked/provenance.html",
        {
            **template_context,
            "story": story,
            "private": private,
            "gone": gone,
            "turtle": turtle,
            "more_lines": more,
            "formats": () if gone else statements.formats(template_context["head"]["graph_url"]),
        },
    )
