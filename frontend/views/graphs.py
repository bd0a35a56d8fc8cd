"""Models and versions as RDF, at the address of their page with an ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend.views import versions
from hub.protocol import problems
from metadata import negotiation, services
from registry import selectors

if TYPE_CHECKING:
    from django.http import HttpRequest


@require_safe
def version(
    request: HttpRequest, namespace: str, name: str, number: int, ending: str
) -> HttpResponse:
    """The graph of a version that the reader may see; 410 for a withdrawn one."""
    found = selectors.version(request.user, namespace, name, number)
    return _answer(negotiation.of_version(found), ending)


@require_safe
def model(request: HttpRequest, namespace: str, name: str, ending: str) -> HttpResponse:
    """The graph of a model; the page of a model whose very name has that ending."""
    try:
        selectors.model(request.user, namespace, f"{name}.{ending}")
    except problems.NotFound:
        found = selectors.model(request.user, namespace, name)
        return _answer(negotiation.of_model(found), ending)
    return versions.newest(request, namespace, f"{name}.{ending}")


def _answer(nquads: str, ending: str) -> HttpResponse:
    body = negotiation.write(nquads, ending)
    response = HttpResponse(body, content_type=negotiation.FORMATS[ending].media_type)
    # The same triples may be written in another order, so their stored form is what is compared.
    response["ETag"] = f'W/"{services.digest(nquads)}"'
    return response
