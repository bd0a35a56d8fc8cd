"""Metrics that the hub knows: what they are called, their units, and which need no data set.

Those that cards report are of registry/cards/metrics.py; the others are what the hub's workers
take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metadata.rdf import quads
from metadata.rdf.terms import DCTERMS, DQV, MLS, QUDT, SKOS, UNIT
from registry.cards import metrics

if TYPE_CHECKING:
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph


class Metric(NamedTuple):
    """Its title, its unit in QUDT, and whether a value means something without a data set."""

    title: str
    unit: str = "NUM"
    needs_no_dataset: bool = False


KNOWN = {
    **{
        name: Metric(one.title, "NUM" if one.scale == "number" else "FRACTION")
        for name, one in metrics.REPORTED.items()
    },
    "latency-p50": Metric("Median latency", "MilliSEC", True),
    "latency-p90": Metric("Latency that nine of ten queries keep", "MilliSEC", True),
    "latency-p99": Metric("Latency that 99 of 100 queries keep", "MilliSEC", True),
    "throughput": Metric("Samples per second, of all processes", "PER-SEC", True),
    "cpu-time": Metric("Processor time of an inference", "MilliSEC", True),
    "peak-memory": Metric("Peak memory of a process", "BYTE", True),
    "energy-per-inference": Metric("Energy of an inference", "J", True),
    "co2e-per-inference": Metric("CO2 equivalents of an inference", "GM", True),
    "max-abs-difference": Metric("Largest absolute difference of outputs", "NUM", True),
    "max-rel-difference": Metric("Largest relative difference of outputs", "NUM", True),
    "max-ulp-difference": Metric(
        "Largest difference of outputs in units in the last place", "NUM", True
    ),
    "cosine-similarity": Metric("Least cosine similarity of outputs", "NUM", True),
    "top1-agreement": Metric(
        "Share of samples whose greatest output is the same", "FRACTION", True
    ),
}
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
    metric = KNOWN.get(name)
    if metric is None:
        graph.add(iri, f"{DCTERMS}title", quads.words(name))
        return
    for predicate in (f"{DCTERMS}title", f"{SKOS}prefLabel"):
        graph.add(iri, predicate, quads.string(metric.title, "en"))
    reported = metrics.REPORTED.get(name)
    graph.add(iri, f"{SKOS}altLabel", *map(quads.string, reported.aliases if reported else ()))
    graph.add(iri, f"{QUDT}hasUnit", quads.link(f"{UNIT}{metric.unit}"))
    if metric.needs_no_dataset:
        graph.add(iri, places.term("needsNoDataset"), quads.truth(True))
