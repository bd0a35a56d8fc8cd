"""The graph tab of a version: nodes, drawing, and the difference from another graph."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from frontend.pages.graphs import costs, netron, network
from frontend.parts import addresses
from frontend.presenters import differences, version_head
from frontend.presenters.version_page import context, of_whole_version
from hub.protocol import problems
from registry.api import downloads
from registry.models import Variant, Version
from registry.versions import selectors
from runners.graphs import differences as compared
from runners.graphs import networks
from runners.models import Job
from runners.queue.selectors import why_waiting

OTHERS_SHOWN = 12
YEAR_SECONDS = 31_536_000


@require_safe
@of_whole_version
def show(request: HttpRequest, version: Version) -> HttpResponse:
    """Barcode, operators, properties and the table of nodes; the drawing stands behind a link."""
    template_context = context(request, version, "graph")
    variant = template_context["variant"]
    graph = networks.Network()
    if variant is not None and version.is_served:
        graph = networks.of(variant)
    here = variant.name if template_context["head"]["choice"] else ""
    listing = network.listing(
        networks.table(graph), request.GET, here, with_values=template_context["may_have"]
    )
    return render(
        request,
        "models/graph.html",
        {
            **template_context,
            "properties": network.properties(template_context["head"]["facts"]),
            "found": graph,
            "listing": listing,
            "costs": costs.table(networks.costs(graph), request.GET),
            "named": network.OPERATORS_SHOWN,
            "choice": here,
            "left_out": network.left_out(graph.left_out),
            "many": listing is not None and listing["total"] > network.MANY,
            "viewer": netron.version(),
            "frame_url": version_head.place(version, "network-frame")
            + template_context["head"]["choice"],
            "skeleton_url": version_head.place(version, "network-skeleton")
            + template_context["head"]["choice"],
            "waits": _waits(graph.job),
            "released": version.is_served,
            "others": _others(request, version, variant),
        },
    )


@require_POST
@of_whole_version
def make(request: HttpRequest, version: Version) -> HttpResponse:
    """Have the graph of a variant drawn; leads back to its tab, which says how far it is."""
    variant = version_head.required_variant(version, request.POST.get("variant", ""))
    networks.request(request.user, version=version, variant=variant)
    url = version_head.place(version, "network")
    return HttpResponseRedirect(url + version_head.choice_of(version, variant))


@require_safe
def skeleton(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponseBase:
    """The model's graph without weights. Small ones are in it, so it needs access to the files."""
    _, variant, graph = _drawn(request, namespace, name, number)
    assert graph.skeleton is not None  # noqa: S101 - told the type checker what was looked up
    stem = variant.entry.path.rsplit("/", 1)[-1].removesuffix(".onnx")
    response = downloads.send(
        request, graph.skeleton.blob, f"{stem}.skeleton.onnx", immutable=False
    )
    # Its address has its digest in it where the viewer asks: then it never changes.
    if request.GET.get("sha256", "") == graph.skeleton.blob_id:
        response["Cache-Control"] = f"private, max-age={YEAR_SECONDS}, immutable"
    return response


@require_safe
def frame(request: HttpRequest, namespace: str, name: str, number: int) -> HttpResponse:
    """Netron's first page, which opens the skeleton.

    ``version`` names another version of the model to show: two frames of one page have one address
    before the question mark, so the viewer's files are fetched once.
    """
    other = addresses.whole(request.GET.get("version", ""))
    later = number if other is None else other
    version, variant, graph = _drawn(request, namespace, name, later)
    assert graph.skeleton is not None  # noqa: S101 - as above
    query = {"sha256": graph.skeleton.blob_id}
    if choice := version_head.choice_of(version, variant):
        query["variant"] = variant.name
    # The viewer tells a format by the ending of the address, so the name comes last.
    base = variant.entry.path.rsplit("/", 1)[-1]
    query["file"] = base if base.lower().endswith(".onnx") else f"{base}.onnx"
    title = f"Graph of {version.ref}{f':{variant.name}' if choice else ''}"
    try:
        place = ".." if later == number else f"../../../{later}/graph"
        page = netron.page(
            title, f"{place}/skeleton.onnx?{urlencode(query)}", base, static("frontend/frame.js")
        )
    except KeyError as missing:
        raise problems.Unavailable(
            "The viewer (the Python package netron) is not installed on this hub. Use the "
            "table of nodes."
        ) from missing
    response = HttpResponse(page)
    response["Content-Security-Policy"] = netron.POLICY
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Cache-Control"] = "private, no-cache"
    response.set_cookie(
        netron.COOKIE,
        "1",
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


@require_safe
def viewer_file(request: HttpRequest, filename: str, **_place: object) -> HttpResponseBase:
    """A file of the viewer's package: public, and the same whatever the address says before it."""
    try:
        content, kind = netron.read(filename)
    except KeyError as missing:
        raise problems.NotFound(f"The viewer has no file {filename[:64]}.") from missing
    response = HttpResponse(content, content_type=kind)
    etag = f'"{netron.PACKAGE}-{netron.version()}-{filename}"'
    response["ETag"] = etag
    response["Cache-Control"] = "public, no-cache"
    return get_conditional_response(request, etag=etag, response=response) or response


@require_http_methods(["GET", "HEAD", "POST"])
@of_whole_version
def difference(request: HttpRequest, version: Version, earlier: int) -> HttpResponse:
    """What the graph of a version has that another one has not; POST has it computed."""
    model = version.model
    other = selectors.whole_version(request.user, model.namespace.slug, model.name, earlier)
    template_context = context(request, version, "graph")
    for side in (version, other):
        if side.state == side.State.WITHDRAWN:
            raise problems.Withdrawn(f"{side.ref} was withdrawn: {side.reason}")
    after = version_head.required_variant(version, request.GET.get("variant", ""))
    before = _counterpart(other, request.GET.get("with", ""), after)
    if before.pk == after.pk:
        raise problems.InvalidRequest("Choose two different variants.")
    if request.method == "POST":
        compared.request(request.user, before=before, after=after)
        return HttpResponseRedirect(request.get_full_path())
    job = compared.of(before, after)
    query = {key: request.GET[key] for key in ("variant", "with") if request.GET.get(key)}
    done = job is not None and job.state == job.State.SUCCEEDED
    report = (
        compared.report_of(job, may_have=template_context["may_have"])
        if job is not None and done
        else None
    )
    sides = ((other, before), (version, after))
    return render(
        request,
        "models/graph_difference.html",
        {
            **template_context,
            "before": _named(other, before),
            "after": _named(version, after),
            "job": job,
            "waits": _waits(job),
            "can_raise": bool(
                job and request.user.is_authenticated and compared.can_be_raised(job)
            ),
            "released": version.is_served and other.is_served,
            "difference": differences.read((report or {}).get("facts", {}), request.GET, query)
            if done
            else None,
            "whole_url": addresses.join(request.path, query),
            "one_list": request.GET.get("list", "") in differences.LISTS,
            "frames": [
                (f"Graph of version {_named(side, variant)}", _frame_url(version, side, variant))
                for side, variant in sides
            ],
            "undrawn": [
                (_named(side, variant), _graph_tab(side, variant))
                for side, variant in sides
                if side.is_served and networks.of(variant).skeleton is None
            ],
            "viewer": netron.version(),
            "turned_url": differences.between(other, before, version, after),
            "graph_tab": _graph_tab(version, after),
        },
    )


def _counterpart(other: Version, name: str, after: Variant) -> Variant:
    """The variant to compare with: the named one, else that of the same name, else the main one."""
    same = next((row.name for row in version_head.variants(other) if row.name == after.name), "")
    row = version_head.required_variant(other, name or same)
    if row.pk == after.pk and not name:
        return next((row for row in version_head.variants(other) if row.pk != after.pk), row)
    return row


def _drawn(
    request: HttpRequest, namespace: str, name: str, number: int
) -> tuple[Version, Variant, networks.Network]:
    """What a drawing needs; raises NotFound, AccessNeeded, Withdrawn, VariantMissing."""
    version = selectors.whole_version(request.user, namespace, name, number)
    selectors.require_files(request.user, version.model)
    if version.state == version.State.WITHDRAWN:
        raise problems.Withdrawn(f"{version.ref} was withdrawn: {version.reason}")
    variant = version_head.required_variant(version, request.GET.get("variant", ""))
    graph = networks.of(variant) if version.is_served else networks.Network()
    if graph.skeleton is None:
        raise problems.NotFound(f"The graph of {version.ref} has not been prepared yet.")
    return version, variant, graph


def _waits(job: Job | None) -> str:
    return why_waiting(job) if job is not None and job.state == job.State.QUEUED else ""


def _graph_tab(version: Version, variant: Variant) -> str:
    return version_head.place(version, "network") + version_head.choice_of(version, variant)


def _frame_url(page: Version, version: Version, variant: Variant) -> str:
    """The viewer of one side of a difference, below the address of the version whose page it is."""
    parts = {
        "version": "" if version.pk == page.pk else version.number,
        "variant": variant.name if version_head.choice_of(version, variant) else "",
    }
    return addresses.join(version_head.place(page, "network-frame"), parts)


def _named(version: Version, variant: Variant) -> str:
    choice = version_head.choice_of(version, variant)
    return f"{version.number}, {variant.name}" if choice else str(version.number)


def _others(
    request: HttpRequest, version: Version, variant: Variant | None
) -> list[tuple[str, str]]:
    if variant is None or not version.is_served:
        return []
    links = [
        (f"variant {row.name}", differences.between(version, row, version, variant))
        for row in version_head.variants(version)
        if row.pk != variant.pk
    ]
    rows = selectors.versions(request.user, version.model).filter(state__in=Version.SERVED)
    near = rows.exclude(pk=version.pk).prefetch_related("variants")[:OTHERS_SHOWN]
    for other in near:
        rival = _counterpart(other, "", variant) if version_head.variants(other) else None
        if rival is not None:
            words = f"version {other.number}"
            links.append((words, differences.between(other, rival, version, variant)))
    return links[: 2 * OTHERS_SHOWN]
