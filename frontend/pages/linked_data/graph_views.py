"""Models and versions as RDF: at the address of their page by `Accept`, or with an ending."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from frontend.pages.models import views
from hub.protocol import problems
from metadata import exports
from metadata.exports import signposting
from metadata.rdf.iris import Places
from metadata.store import negotiation, services
from registry.cards import licences
from registry.models import RegisteredModel, Version
from registry.versions import selectors


def negotiated(
    request: HttpRequest,
    *,
    page: Callable[[], HttpResponseBase],
    nquads: Callable[[], str],
    address: str,
) -> HttpResponseBase:
    """The page of a thing or its graph, as ``Accept`` asks; ``address`` is the thing's own path.

    A graph names the address that has it in this format always. Raises NotAcceptable.
    """
    ending = negotiation.ending_for(request.headers.get("Accept", ""))
    if ending is None:
        raise negotiation.not_acceptable()
    if not ending:
        response = page()
    else:
        response = answer_or_tombstone(nquads, ending, address)
        response["Content-Location"] = f"{address}.{ending}"
    patch_vary_headers(response, ["Accept"])
    return response


def answer(nquads: str, ending: str, describes: str = "") -> HttpResponse:
    """A graph in the format of ``ending``; ``describes`` is the path of the page that it is of."""
    body = negotiation.write(nquads, ending)
    response = HttpResponse(body, content_type=negotiation.FORMATS[ending].media_type)
    # The same triples may be written in another order, so their stored form is what is compared.
    # Each format has its own tag: an address that has several must not take one for another.
    response["ETag"] = f'W/"{services.digest(nquads)[:32]}-{ending}"'
    if describes:
        page = f"{settings.HUB_PUBLIC_URL}{describes}"
        response["Link"] = signposting.back(page, ("describes", "collection"))
    return response


def answer_or_tombstone(nquads: Callable[[], str], ending: str, describes: str) -> HttpResponse:
    """A graph; with the status 410 what stays of a thing that was withdrawn or deleted.

    Raises Withdrawn and Deleted where nothing public stays.
    """
    try:
        return answer(nquads(), ending, describes)
    except (problems.Withdrawn, problems.Deleted):
        tombstone = negotiation.tombstone(describes)
        if not tombstone:
            raise
    response = answer(tombstone, ending, describes)
    response.status_code = 410
    return response


@require_safe
def version_page(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponseBase:
    """A version at its IRI: its page, or its graph."""
    return negotiated(
        request,
        page=lambda: views.overview(request, namespace, name, number),
        nquads=lambda: negotiation.of_version(
            selectors.version(request.user, namespace, name, number)
        ),
        address=request.path,
    )


@require_safe
def model_page(request: HttpRequest, namespace: str, name: str) -> HttpResponseBase:
    """A model at its IRI: the page of its newest version, or its own graph."""

    def page() -> HttpResponseBase:
        row = selectors.model(request.user, namespace, name)
        response = views.newest(request, row)
        # A model's page has its own links, not those of the version that it shows.
        if response.status_code == 200 and row.first_published_at is not None:
            home = Places(settings.HUB_PUBLIC_URL).model(row.namespace.slug, row.name)
            response["Link"] = signposting.header(_model_links(row, request), home)
        return response

    return negotiated(
        request,
        page=page,
        nquads=lambda: negotiation.of_model(selectors.model(request.user, namespace, name)),
        address=request.path,
    )


@require_safe
def version(
    request: HttpRequest, namespace: str, name: str, number: int, ending: str
) -> HttpResponse:
    """The graph of a version that the reader may see; 410 for a withdrawn one."""

    def nquads() -> str:
        return negotiation.of_version(selectors.version(request.user, namespace, name, number))

    return answer_or_tombstone(nquads, ending, _path(request, ending))


@require_safe
def model(request: HttpRequest, namespace: str, name: str, ending: str) -> HttpResponseBase:
    """The graph of a model; the page of a model whose very name has that ending."""
    try:
        selectors.model(request.user, namespace, f"{name}.{ending}")
    except problems.NotFound:

        def nquads() -> str:
            return negotiation.of_model(selectors.model(request.user, namespace, name))

        return answer_or_tombstone(nquads, ending, _path(request, ending))
    return model_page(request, namespace, f"{name}.{ending}")


@require_safe
def version_links(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """All typed links of a version, its files and its descriptions (RFC 9264)."""
    row = selectors.version(request.user, namespace, name, number)
    sheet = exports.read(row)
    return _linkset(signposting.of_version(sheet, exports.addresses(sheet.iri)))


@require_safe
def model_links(request: HttpRequest, namespace: str, name: str) -> HttpResponse:
    """All typed links of a model."""
    return _linkset(_model_links(selectors.model(request.user, namespace, name), request))


@require_safe
def export(
    request: HttpRequest, namespace: str, name: str, number: int, filename: str
) -> HttpResponse:
    """A version in a format of another community; raises NotFound for one there is not."""
    row = selectors.version(request.user, namespace, name, number)
    file_format = exports.EXPORTS.get(filename)
    if file_format is None:
        names = ", ".join(exports.EXPORTS)
        raise problems.NotFound(f"There is no export {filename}; there are {names}.")
    response = HttpResponse(file_format.write(row), content_type=file_format.media_type)
    page = Places(settings.HUB_PUBLIC_URL).version(
        row.model.namespace.slug, row.model.name, row.number
    )
    response["Link"] = signposting.back(page, ("describes", "collection"))
    response["Content-Disposition"] = f'inline; filename="{filename}"'
    return response


def _path(request: HttpRequest, ending: str) -> str:
    return request.path.removesuffix(f".{ending}")


def _linkset(links: list[signposting.Link]) -> HttpResponse:
    return HttpResponse(signposting.linkset(links), content_type=signposting.LINKSET)


def _model_links(of: RegisteredModel, request: HttpRequest) -> list[signposting.Link]:
    places = Places(settings.HUB_PUBLIC_URL)
    space, name = of.namespace.slug, of.name
    newest: Version | None = selectors.latest(request.user, of)
    version_url = places.version(space, name, newest.number) if newest else ""
    names = licences.of_column(of.license, newest.typed_card.licenses if newest else ())
    addresses = [places.licence(name) for name in names]
    return signposting.of_model(places.model(space, name), version_url, addresses)
