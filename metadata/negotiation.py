"""A stored graph in the formats that people ask for: always the same triples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph
from django.conf import settings

from hub.protocol import problems
from metadata import projection, subjects, upkeep
from metadata.models import NamedGraph
from metadata.places import Places
from metadata.terms import PREFIXES

if TYPE_CHECKING:
    from registry.models import RegisteredModel, Version


@dataclass(frozen=True, slots=True)
class Format:
    """A way of writing triples: the ending of its addresses, and its media type."""

    ending: str
    media_type: str
    writer: pyoxigraph.RdfFormat


FORMATS = {
    found.ending: found
    for found in (
        Format("ttl", "text/turtle; charset=utf-8", pyoxigraph.RdfFormat.TURTLE),
        Format("nt", "application/n-triples", pyoxigraph.RdfFormat.N_TRIPLES),
        Format("jsonld", "application/ld+json", pyoxigraph.RdfFormat.JSON_LD),
        Format("rdf", "application/rdf+xml; charset=utf-8", pyoxigraph.RdfFormat.RDF_XML),
    )
}


def of_version(version: Version) -> str:
    """The graph of a version that somebody may see: the stored one, or made for a private one.

    Raises Withdrawn.
    """
    if version.state == "withdrawn":
        raise problems.Withdrawn(f"{version.ref} was withdrawn: {version.reason}")
    stored = _stored(upkeep.version_iri(version)) if subjects.is_public(version) else ""
    return stored or projection.version_graph(
        subjects.version_facts(version), settings.HUB_PUBLIC_URL
    )


def of_model(model: RegisteredModel) -> str:
    """The graph of a model that somebody may see: the stored one, or made for a private one."""
    stored = _stored(upkeep.model_iri(model)) if model.is_public else ""
    return stored or projection.model_graph(subjects.model_facts(model), settings.HUB_PUBLIC_URL)


def write(nquads: str, ending: str) -> bytes:
    """A graph in the format of ``ending``, one of FORMATS."""
    triples = (
        pyoxigraph.Triple(quad.subject, quad.predicate, quad.object)
        for quad in pyoxigraph.parse(nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    )
    prefixes = PREFIXES | {"hub": Places(settings.HUB_PUBLIC_URL).term("")}
    written = pyoxigraph.serialize(triples, format=FORMATS[ending].writer, prefixes=prefixes)
    return bytes(written or b"")


def _stored(iri: str) -> str:
    found = NamedGraph.objects.filter(iri=iri).values_list("nquads", flat=True).first()
    return found or ""
