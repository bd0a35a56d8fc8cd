"""A stored graph in the formats that people ask for: always the same triples.

The format is the extension of the address, else that of `Accept` (RFC 9110, section 12).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyoxigraph
from django.conf import settings

from hub.protocol import problems
from metadata.graphs import benchmarks, jobs, projection, selectors
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.terms import PREFIXES
from metadata.store import maintenance, texts
from registry.core.permissions import Actor
from registry.models import Dataset, RegisteredModel, Version
from runners.benchmarks import machines, timelines
from runners.models import Job


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing triples: its name, the ending of its addresses, and its media type."""

    title: str
    ending: str
    media_type: str
    writer: pyoxigraph.RdfFormat


FORMATS = {
    form.ending: form
    for form in (
        Format("Turtle", "ttl", "text/turtle; charset=utf-8", pyoxigraph.RdfFormat.TURTLE),
        Format("N-Triples", "nt", "application/n-triples", pyoxigraph.RdfFormat.N_TRIPLES),
        Format("JSON-LD", "jsonld", "application/ld+json", pyoxigraph.RdfFormat.JSON_LD),
        Format(
            "RDF/XML", "rdf", "application/rdf+xml; charset=utf-8", pyoxigraph.RdfFormat.RDF_XML
        ),
    )
}


HTML = "text/html"
# Other names under which people ask for a format.
_ALIASES = {
    "application/xhtml+xml": HTML,
    "application/x-turtle": "text/turtle",
}
_MOST_RANGES = 40


def ending_for(accept: str, *, page: bool = True) -> str | None:
    """The ending that ``Accept`` asks for: empty for the page, one of FORMATS for a graph.

    A page comes first where it is wanted as much as a graph; without a page Turtle does. None where
    nothing fits.
    """
    offers = {_plain(form.media_type): ending for ending, form in FORMATS.items()}
    if page:
        offers = {HTML: ""} | offers
    media_type = best(accept, offers)
    return None if media_type is None else offers[media_type]


def best(accept: str, offers: Iterable[str]) -> str | None:
    """The media type of ``offers``, the first being the default, that ``Accept`` likes best.

    The most specific range decides about each offer. Of what is wanted as much, what was named goes
    before what a wildcard lets through. None where all are refused.
    """
    ranges = _ranges(accept)
    rated = {offer: _rating(offer, ranges) for offer in offers}
    highest = max(rated.values(), default=(0.0, 0))
    return next(
        (offer for offer, rating in rated.items() if rating == highest and rating[0] > 0), None
    )


def not_acceptable(offers: Iterable[str] = ()) -> problems.NotAcceptable:
    """The problem of a reader who wants nothing of what there is."""
    kinds = ", ".join(offers or [HTML, *(_plain(form.media_type) for form in FORMATS.values())])
    return problems.NotAcceptable(
        f"The requested format is not available here. Request one of: {kinds}; or add an "
        f"extension to the address: {', '.join(f'.{ending}' for ending in FORMATS)}. Plain JSON "
        "is available under /api/v1."
    )


def _ranges(accept: str) -> dict[str, float]:
    """Media ranges with their weights; malformed ones are left out."""
    ranges: dict[str, float] = {}
    for part in accept.split(",")[:_MOST_RANGES]:
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if "/" not in name:
            continue
        weight = next((value[2:] for value in parameters if value.startswith("q=")), "1")
        try:
            quality = float(weight)
        except ValueError:
            continue
        name = _ALIASES.get(name, name)
        ranges[name] = max(ranges.get(name, 0.0), min(max(quality, 0.0), 1.0))
    return ranges or ({} if accept.strip() else {"*/*": 1.0})


def _rating(offer: str, ranges: dict[str, float]) -> tuple[float, int]:
    """How much an offer is wanted, and how closely the range that says so names it."""
    whole = f"{offer.partition('/')[0]}/*"
    for closeness, name in ((2, offer), (1, whole), (0, "*/*")):
        if name in ranges:
            return ranges[name], closeness
    return 0.0, 0


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0]


def of_version(version: Version) -> str:
    """The graph of a version that the user may see: stored, or computed for a private one.

    Raises Withdrawn.
    """
    if version.state == "withdrawn":
        raise problems.Withdrawn(f"{version.ref} was withdrawn: {version.reason}")
    stored = texts.of(maintenance.version_iri(version)) if selectors.is_public(version) else ""
    return stored or projection.version_graph(
        selectors.version_facts(version), settings.HUB_PUBLIC_URL
    )


def of_model(model: RegisteredModel) -> str:
    """The graph of a model that the user may see: stored, or computed for a private one."""
    stored = texts.of(maintenance.model_iri(model)) if model.is_public else ""
    return stored or projection.model_graph(selectors.model_facts(model), settings.HUB_PUBLIC_URL)


def of_dataset(dataset: Dataset) -> str:
    """The graph of a data set. Raises Withdrawn."""
    if dataset.withdrawn_at is not None:
        raise problems.Withdrawn(f"{dataset.slug} was withdrawn: {dataset.reason}")
    return texts.of(maintenance.dataset_iri(dataset)) or projection.dataset_graph(
        selectors.dataset_facts(dataset), settings.HUB_PUBLIC_URL
    )


def tombstone(path: str) -> str:
    """The public graph of what was withdrawn or deleted at a path; empty where nothing stays."""
    text = texts.of(graph_of(f"{settings.HUB_PUBLIC_URL}{path}"))
    # A graph that was not written again yet still says what stood there before.
    return text if f"<{PREFIXES['prov']}wasInvalidatedBy>" in text else ""


def of_device(actor: Actor, name: str) -> str:
    """The graph of a device class with the newest results on it that the reader may see.

    Raises NotFound, also for a class that only unverified results claim: graphs have none of these.
    """
    device = machines.device(actor, name)
    if not device.measurements:
        raise problems.NotFound(f"No trusted results found for a device {name}.")
    listing = timelines.of_newest(actor, device=name)
    return benchmarks.device_graph(device, listing.rows, settings.HUB_PUBLIC_URL)


def of_job(job: Job) -> str:
    """The graph of a job that the reader may see, with the steps that its version's graph has."""
    version = job.version
    is_withdrawn = version is not None and version.state == Version.State.WITHDRAWN
    nquads = "" if version is None or is_withdrawn else of_version(version)
    return jobs.job_graph(job, nquads, settings.HUB_PUBLIC_URL)


def write(nquads: str, ending: str) -> bytes:
    """A graph in the format of ``ending``, one of FORMATS."""
    triples = (
        pyoxigraph.Triple(quad.subject, quad.predicate, quad.object)
        for quad in pyoxigraph.parse(nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    )
    prefixes = PREFIXES | {"hub": Places(settings.HUB_PUBLIC_URL).term("")}
    content = pyoxigraph.serialize(triples, format=FORMATS[ending].writer, prefixes=prefixes)
    return bytes(content or b"")
