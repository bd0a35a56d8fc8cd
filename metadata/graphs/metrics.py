"""The metrics of the hub's vocabulary in the graph, and those that workers' figures are of."""

from __future__ import annotations

from hub.protocol.vocabularies import METRICS
from metadata.rdf.graph import Graph
from metadata.rdf.quads import string, truth, words

# Figures that workers report -> metric, and whether the worst of several is the least.
FIGURES = {
    "max_abs": ("max-abs-difference", max),
    "max_rel": ("max-rel-difference", max),
    "ulp_max": ("max-ulp-difference", max),
    "cosine": ("cosine-similarity", min),
    "top1": ("top1-agreement", min),
}


def describe(graph: Graph, name: str) -> None:
    """Describe a metric; one that cards alone name has no unit."""
    iri = graph.places.metric(name)
    graph.describe(
        iri, "dqv:Metric mls:EvaluationMeasure skos:Concept", {"skos:notation": string(name)}
    )
    metric = METRICS.get(name)
    if metric is None:
        graph.add(iri, "dcterms:title", words(name))
        return
    graph.state(
        iri,
        {
            "dcterms:title skos:prefLabel": string(metric.title, "en"),
            "skos:altLabel": map(string, metric.aliases),
        },
    )
    unit = metric.unit or ("NUM" if metric.scale == "number" else "FRACTION")
    graph.add(iri, "qudt:hasUnit", graph.term(f"unit:{unit}"))
    if metric.needs_no_dataset:
        graph.add(iri, "hub:needsNoDataset", truth(True))
