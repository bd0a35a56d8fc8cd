"""The service description of this endpoint. Source: SPARQL 1.1 Service Description."""

from __future__ import annotations

from django.conf import settings

from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places
from metadata.rdf.quads import link, words
from metadata.sparql.protocol import GRAPHS, RESULTS, Format
from metadata.store import negotiation

SD = "http://www.w3.org/ns/sparql-service-description#"
VOID = "http://rdfs.org/ns/void#"
_FORMATS = "http://www.w3.org/ns/formats/"


def write(form: Format) -> bytes:
    """The description in one of the formats of GRAPHS."""
    return negotiation.write(_graph().text(), form.writer.file_extension)


def _graph() -> Graph:
    places = Places(settings.HUB_PUBLIC_URL)
    endpoint = f"{places.home}/sparql"
    service, data = f"{endpoint}#service", f"{endpoint}#data"
    formats = [form.name for form in (*RESULTS, *GRAPHS)]
    graph = Graph(endpoint, places)
    graph.describe(
        service,
        f"{SD}Service",
        {
            f"{SD}endpoint": link(endpoint),
            f"{SD}supportedLanguage": link(f"{SD}SPARQL11Query"),
            f"{SD}feature": link(f"{SD}UnionDefaultGraph"),
            f"{SD}resultFormat": [link(f"{_FORMATS}{name}") for name in formats],
            f"{SD}defaultDataset {SD}availableGraphs": link(data),
        },
    )
    graph.type(data, f"{SD}Dataset", f"{SD}GraphCollection")
    graph.state(
        data,
        {f"{SD}defaultGraph": link(f"{data}-union"), "dcterms:isPartOf": link(places.catalogue)},
    )
    graph.type(f"{data}-union", f"{SD}Graph", f"{VOID}Dataset")
    union = (
        "The union of all public graphs of this hub: one per model, one per version, and the "
        "hub's own."
    )
    graph.add(f"{data}-union", "dcterms:description", words(union))
    return graph
