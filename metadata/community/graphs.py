"""Collections: the graph of a public one, as its readers see it, in the words of schema.org.

Models that are not public are not in it: neither by name nor by a gap in the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import count, link, moment, string, words
from registry.models import Collection
from registry.models.registered_models import listed_for_everybody


def iri(ref: str) -> str:
    """The named graph of a collection, which is `namespace/name`."""
    return graph_of(Places(settings.HUB_PUBLIC_URL).collection(*ref.split("/")))


def public() -> Iterator[tuple[str, str]]:
    """The graphs of all public collections, each with its IRI."""
    for collection in Collection.objects.filter(visibility="public").select_related("namespace"):
        yield iri(collection.ref), of_collection(collection)


def of_collection(of: Collection) -> str:
    """The graph of a collection, with its public models in order."""
    places = Places(settings.HUB_PUBLIC_URL)
    publisher = of.namespace.slug
    collection = places.collection(publisher, of.slug)
    entries = of.entries.filter(listed_for_everybody("model__")).order_by("position")
    entries = entries.select_related("model__namespace")
    graph = Graph(graph_of(collection), places)
    graph.describe(
        collection,
        "schema:Collection schema:ItemList dcat:Resource",
        {
            "dcterms:title schema:name": words(of.title),
            "dcterms:description schema:description": words(of.description),
            "dcterms:identifier": string(of.ref),
            "dcterms:created": moment(of.created_at),
            "dcterms:modified": moment(of.updated_at),
            "dcterms:publisher": link(places.agent(publisher)),
            "schema:numberOfItems": count(len(entries)),
        },
    )
    for position, entry in enumerate(entries, 1):
        node = f"{collection}#{position}"
        model = link(places.model(entry.model.namespace.slug, entry.model.name))
        graph.state(collection, {"schema:hasPart": model, "schema:itemListElement": link(node)})
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
