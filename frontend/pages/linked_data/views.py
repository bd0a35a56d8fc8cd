"""What is at the hub's other IRIs: vocabulary, catalogue, dump, and the things that models name."""

from __future__ import annotations

import re
from urllib.parse import urlencode
from uuid import UUID

import pyoxigraph
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from frontend.pages.benchmarks import views as benchmark_views
from frontend.pages.linked_data import graph_views, statements
from frontend.pages.queue import views as queue_views
from frontend.presenters import profiles
from hub.protocol import problems
from metadata.exports import annotation
from metadata.rdf import vocabulary
from metadata.store import catalogue, dump, entities, negotiation
from registry.api import downloads
from registry.api.parameters import accepts
from registry.models import Blob
from runners.queue import selectors

RETRY_SECONDS = 60


@require_safe
def thing(request: HttpRequest, place: str, name: str) -> HttpResponseBase:
    """A task, an agent, a licence …: what public graphs say of it, and which models have it."""
    entity = entities.find(place, name)
    return graph_views.negotiated(
        request,
        page=lambda: _thing_page(request, place, entity),
        nquads=lambda: entity.nquads,
        address=request.path,
    )


@require_safe
def thing_graph(request: HttpRequest, place: str, name: str, ending: str) -> HttpResponseBase:
    """The same as RDF; the thing whose very name has that ending goes first."""
    if entities.is_known(place, f"{name}.{ending}"):
        return thing(request, place, f"{name}.{ending}")
    return graph_views.answer(entities.find(place, name).nquads, ending, _without(request, ending))


@accepts()
@require_safe
def device(request: HttpRequest, name: str) -> HttpResponseBase:
    """A class of machines: the page of what was measured on it, or its graph."""
    return graph_views.negotiated(
        request,
        page=lambda: benchmark_views.device(request, name),
        nquads=lambda: negotiation.of_device(request.user, name),
        address=request.path,
    )


@require_safe
def device_graph(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    """The graph of a class of machines."""
    nquads = negotiation.of_device(request.user, name)
    return graph_views.answer(nquads, ending, _without(request, ending))


@require_safe
def job(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """A job: its page, or its graph."""
    return graph_views.negotiated(
        request,
        page=lambda: queue_views.job(request, uuid),
        nquads=lambda: negotiation.of_job(selectors.job(request.user, uuid)),
        address=request.path,
    )


@require_safe
def job_graph(request: HttpRequest, uuid: UUID, ending: str) -> HttpResponse:
    """The graph of a job that the reader may see."""
    nquads = negotiation.of_job(selectors.job(request.user, uuid))
    return graph_views.answer(nquads, ending, _without(request, ending))


@require_safe
def terms(request: HttpRequest) -> HttpResponseBase:
    """The hub's vocabulary: a page on which each term is found by its fragment, or RDF."""
    return graph_views.negotiated(
        request, page=lambda: _terms_page(request), nquads=_terms, address=request.path
    )


@require_safe
def terms_graph(request: HttpRequest, ending: str) -> HttpResponse:
    """The vocabulary as RDF."""
    return graph_views.answer(_terms(), ending, _without(request, ending))


@require_safe
def shapes(_request: HttpRequest) -> HttpResponse:
    """The shapes that validate published graphs, as their authors wrote them."""
    turtle = negotiation.FORMATS["ttl"].media_type
    return HttpResponse(vocabulary.read("shapes"), content_type=turtle)


@require_safe
def context(_request: HttpRequest) -> HttpResponse:
    """The JSON-LD context of the front matter that downloads with metadata carry."""
    response = JsonResponse(annotation.context(settings.HUB_PUBLIC_URL))
    response["Content-Type"] = "application/ld+json"
    # A context is there to be read by programs of other pages.
    response["Access-Control-Allow-Origin"] = "*"
    return response


@accepts("after", "profile")
@require_safe
def catalog(request: HttpRequest) -> HttpResponseBase:
    """The catalogue: a page for people, pages of DCAT for harvesters."""
    response = graph_views.negotiated(
        request,
        page=lambda: _catalogue_page(request),
        nquads=lambda: _page(request).nquads,
        address="/catalog",
    )
    if response.has_header("Content-Location") and request.GET:
        response["Content-Location"] += f"?{request.GET.urlencode()}"
    return _with_next(request, response)


@require_safe
def catalog_graph(request: HttpRequest, ending: str) -> HttpResponseBase:
    """A page of the catalogue in one format."""
    page = _page(request)
    return _with_next(request, graph_views.answer(page.nquads, ending, "/catalog"), ending)


@require_safe
def void(request: HttpRequest) -> HttpResponse:
    """The description of all of this as a data set; always RDF, Turtle unless asked otherwise."""
    ending = negotiation.ending_for(request.headers.get("Accept", ""), page=False)
    if ending is None and "text/html" not in request.headers.get("Accept", ""):
        raise negotiation.not_acceptable(())
    response = graph_views.answer(catalogue.description(), ending or "ttl")
    response["Vary"] = "Accept"
    return response


@require_safe
def dumped(request: HttpRequest) -> HttpResponseBase:
    """The nightly dump, or the part of it that was asked for. Raises NotFound and Unavailable."""
    newest = problems.expect(
        dump.newest(),
        problems.NotFound("No dump yet. The first one is created after the hub starts."),
    )
    if dump.tells_too_much(newest):
        raise problems.Unavailable(
            "A public model was withdrawn after the last dump. A new dump is being created.",
            retry_after=RETRY_SECONDS,
        )
    response = downloads.send(
        request,
        Blob(sha256=newest.sha256, size=newest.size),
        dump.FILENAME,
        immutable=False,
        opened=lambda: newest.path.open("rb"),
    )
    if response.status_code in (200, 206):
        response["Content-Type"] = "application/gzip"
    return response


def _thing_page(request: HttpRequest, place: str, entity: entities.Entity) -> HttpResponse:
    group = entity.kind.group
    query = urlencode({group: entity.name}) if group else ""
    return render(
        request,
        "linked/thing.html",
        {
            "section": "models",
            "thing": entity,
            "rows": statements.read(entity.nquads),
            "uses": f"{reverse('models')}?{query}" if query else "",
            "formats": statements.formats(request.path),
            **(profiles.read(entity.name) if place == "agents" else {}),
        },
    )


def _terms_page(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "linked/terms.html",
        {
            "groups": statements.terms(_terms(), f"{settings.HUB_PUBLIC_URL}/ns#"),
            "formats": statements.formats("/ns"),
        },
    )


def _catalogue_page(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "linked/catalog.html",
        {
            "section": "models",
            "models": catalogue.models_count(),
            "dump": dump.servable(),
            "dump_name": dump.FILENAME,
            "formats": statements.formats("/catalog"),
            "page": catalogue.PAGE,
        },
    )


def _page(request: HttpRequest) -> catalogue.CataloguePage:
    after = request.GET.get("after", "")
    if after and not re.fullmatch(r"https?://[!-~]{1,500}", after):
        raise problems.InvalidRequest.at("/after", "after must be the IRI of a model.")
    profile = request.GET.get("profile", "")
    if profile not in ("", catalogue.DCAT_AP):
        raise problems.InvalidRequest.at(
            "/profile", f"Unknown profile. Available: {catalogue.DCAT_AP}."
        )
    return catalogue.page(after, profile=profile)


def _with_next(
    request: HttpRequest, response: HttpResponseBase, ending: str = ""
) -> HttpResponseBase:
    """The first and the next page as typed links beside those that there are."""
    if response.status_code != 200 or response["Content-Type"].startswith("text/html"):
        return response
    page = _page(request)
    home = settings.HUB_PUBLIC_URL
    named = {"first": page.first, "next": page.following}
    links = [
        f'<{home}{_ended(address, ending)}>; rel="{relation}"'
        for relation, address in named.items()
        if address
    ]
    response["Link"] = ", ".join([response["Link"], *links])
    return response


def _ended(address: str, ending: str) -> str:
    path, mark, query = address.partition("?")
    return f"{path}.{ending}{mark}{query}" if ending else address


def _terms() -> str:
    quads = pyoxigraph.parse(vocabulary.read("terms").encode(), format=pyoxigraph.RdfFormat.TURTLE)
    written = pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS)
    return (written or b"").decode()


def _without(request: HttpRequest, ending: str) -> str:
    return request.path.removesuffix(f".{ending}")
