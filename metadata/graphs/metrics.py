"""The metrics of the hub's vocabulary in the graph, and those that workers' figures are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol.vocabularies import METRICS
from metadata.rdf import quads
from metadata.rdf.terms import DCTERMS, DQV, MLS, QUDT, SKOS, UNIT

if TYPE_CHECKING:
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph


# Figures that workers report -> metric, and whether the worst of several is the least.
FIGURES = {
    "max_abs": ("max-abs-difference", max),
    "max_rel": ("max-rel-difference", max),
    "ulp_max": ("max-ulp-difference", max),
    "cosine": ("cosine-similarity", min),
    "top1": ("top1-agreement", min),
}


def tell(graph: Graph, places: Places, name: str) -> None:
    """Tell what a metric is: what cards alone name has no unit that is known."""
    iri = places.metric(name)
    graph.type(iri, f"{DQV}Metric", f"{MLS}EvaluationMeasure", f"{SKOS}Concept")
    graph.add(iri, f"{SKOS}notation", quads.string(name))
    metric = METRICS.get(name)
    if metric is None:
        graph.add(iri, f"{DCTERMS}title", quads.words(name))
        return
    for predicate in (f"{DCTERMS}title", f"{SKOS}prefLabel"):
        graph.add(iri, predicate, quads.string(metric.title, "en"))
    graph.add(iri, f"{SKOS}altLabel", *map(quads.string, metric.aliases))
    unit = metric.unit or ("NUM" if metric.scale == "number" else "FRACTION")
    graph.add(iri, f"{QUDT}hasUnit", quads.link(f"{UNIT}{unit}"))
    if metric.needs_no_dataset:
        graph.add(iri, places.term("needsNoDataset"), quads.truth(True))
