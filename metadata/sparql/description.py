"""What this endpoint says of itself. Source: SPARQL 1.1 Service Description."""

from __future__ import annotations

from django.conf import settings

from metadata.rdf.iris import Places
from metadata.rdf.quads import Graph, link, words
from metadata.sparql.protocol import GRAPHS, RESULTS
from metadata.store import negotiation

SD = "http://www.w3.org/ns/sparql-service-description#"
VOID = "http://rdfs.org/ns/void#"
DCTERMS = "http://purl.org/dc/terms/"
_FORMATS = "http://www.w3.org/ns/formats/"
_NAMES = {
    "json": "SPARQL_Results_JSON",
    "xml": "SPARQL_Results_XML",
    "csv": "SPARQL_Results_CSV",
    "tsv": "SPARQL_Results_TSV",
    "turtle": "Turtle",
    "jsonld": "JSON-LD",
    "ntriples": "N-Triples",
    "rdfxml": "RDF_XML",
}
_ENDINGS = {"turtle": "ttl", "jsonld": "jsonld", "ntriples": "nt", "rdfxml": "rdf"}


def write(name: str) -> bytes:
    """The description in one of the formats of GRAPHS."""
    return negotiation.write(_graph().text(), _ENDINGS[name])


def _graph() -> Graph:
    home = settings.HUB_PUBLIC_URL
    endpoint = f"{home}/sparql"
    service, data = f"{endpoint}#service", f"{endpoint}#data"
    graph = Graph(endpoint)
    graph.type(service, f"{SD}Service")
    graph.add(service, f"{SD}endpoint", link(endpoint))
    graph.add(service, f"{SD}supportedLanguage", link(f"{SD}SPARQL11Query"))
    graph.add(service, f"{SD}feature", link(f"{SD}UnionDefaultGraph"))
    for found in (*RESULTS, *GRAPHS):
        graph.add(service, f"{SD}resultFormat", link(f"{_FORMATS}{_NAMES[found.name]}"))
    graph.add(service, f"{SD}defaultDataset", link(data))
    graph.add(service, f"{SD}availableGraphs", link(data))
    graph.type(data, f"{SD}Dataset", f"{SD}GraphCollection")
    graph.add(data, f"{SD}defaultGraph", link(f"{data}-union"))
    graph.add(data, f"{DCTERMS}isPartOf", link(Places(home).catalogue))
    graph.type(f"{data}-union", f"{SD}Graph", f"{VOID}Dataset")
    told = (
        "The union of all public graphs of this hub: one per model, one per version, and the "
        "hub's own."
    )
    graph.add(f"{data}-union", f"{DCTERMS}description", words(told))
    return graph
