"""Collections: the graph of a public one, as its readers see it, in the words of schema.org.

Models that are not public are not in it: neither by name nor by a gap in the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import count, link, moment, string, words

if TYPE_CHECKING:
    from metadata.graphs.facts import CollectionFacts


def collection_graph(of: CollectionFacts, home: str) -> str:
    """The named graph of a collection: what it says of itself, and its public models in order."""
    places = Places(home)
    collection = places.collection(of.publisher.name, of.slug)
    graph = Graph(graph_of(collection), places)
    graph.describe(
        collection,
        "schema:Collection schema:ItemList dcat:Resource",
        {
            "dcterms:title schema:name": words(of.title),
            "dcterms:description schema:description": words(of.description),
            "dcterms:identifier": string(f"{of.publisher.name}/{of.slug}"),
            "dcterms:created": moment(of.created_at),
            "dcterms:modified": moment(of.updated_at),
            "dcterms:publisher": link(places.agent(of.publisher.name)),
            "schema:numberOfItems": count(len(of.entries)),
        },
    )
    for position, entry in enumerate(of.entries, 1):
        node = f"{collection}#{position}"
        model = link(places.model(entry.namespace, entry.name))
        graph.add(collection, "schema:hasPart", model)
        graph.add(collection, "schema:itemListElement", link(node))
        graph.describe(
            node,
            "schema:ListItem",
            {
                "schema:position": count(position),
                "schema:item": model,
                "schema:description": words(entry.note),
            },
        )
    return graph.text()
