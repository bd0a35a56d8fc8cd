"""Results of benchmarks in a version's graph: what ran where, each figure with its unit.

A result is one thing with its context, made by a job from a file in an environment; its figures are
measurements of their own. Samples are files, never statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metadata.rdf import quads
from metadata.rdf.terms import DCAT, DCTERMS, DQV, PROV, RDFS

if TYPE_CHECKING:
    from metadata.graphs.facts import BenchmarkFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph


class Figure(NamedTuple):
    """A figure of a result: its field, its metric, and the field of how it was come by."""

    field: str
    metric: str
    provenance: str = ""


FIGURES = (
    Figure("p50_ms", "latency-p50"),
    Figure("p90_ms", "latency-p90"),
    Figure("p99_ms", "latency-p99"),
    Figure("throughput_per_s", "throughput"),
    Figure("cpu_ms", "cpu-time"),
    Figure("peak_rss_bytes", "peak-memory"),
    Figure("energy_j", "energy-per-inference", "energy_provenance"),
    Figure("carbon_g", "co2e-per-inference", "carbon_provenance"),
)


def tell(graph: Graph, places: Places, version: str, subject: str, of: BenchmarkFacts) -> None:
    """A result of ``subject``: the version for its main variant, else the variant."""
    node = f"{version}#bench-{of.key}"
    variant = f"{version}#variant-{quads.part(of.variant)}"
    graph.add(version, places.term("hasBenchmark"), quads.link(node))
    if of.is_listed:
        graph.add(version, places.term("listedBenchmark"), quads.link(node))
    graph.type(node, places.term("BenchmarkResult"), f"{PROV}Entity")
    title = f"{of.scenario} on {of.device_title} with {of.runtime} {of.runtime_version}"
    graph.add(node, f"{DCTERMS}title", quads.string(title, "en"))
    graph.add(node, f"{DCTERMS}date", quads.moment(of.at))
    graph.add(node, f"{PROV}wasAttributedTo", quads.link(_by(places, of)))
    graph.add(node, places.term("variant"), quads.link(variant))
    graph.add(node, places.term("resultStatus"), quads.string(of.status))
    graph.add(node, places.term("comparabilityKey"), quads.string(of.comparability_key))
    graph.add(node, places.term("runtime"), quads.string(of.runtime))
    graph.add(node, places.term("runtimeVersion"), quads.string(of.runtime_version))
    graph.add(node, places.term("executionProvider"), quads.string(of.provider))
    graph.add(node, places.term("scenario"), quads.string(of.scenario))
    graph.add(node, places.term("callStyle"), quads.string(of.call_style))
    graph.add(node, places.term("batchSize"), quads.count(of.batch))
    graph.add(node, places.term("threads"), quads.count(of.threads))
    graph.add(node, places.term("device"), quads.link(places.device(of.device)))
    entry = f"{version}/files/{quads.part(of.entry, '/')}"
    used = [quads.link(iri) for iri in (entry, places.environment(of.environment))]
    graph.add(node, f"{PROV}wasDerivedFrom", *used)
    if of.job:
        run = f"{node}-run"
        graph.add(node, f"{PROV}wasGeneratedBy", quads.link(run))
        graph.type(run, f"{PROV}Activity")
        graph.add(run, f"{PROV}used", *used)
        graph.add(run, f"{PROV}wasAssociatedWith", quads.link(places.worker))
        graph.add(run, f"{PROV}startedAtTime", quads.moment(of.started_at))
        graph.add(run, f"{PROV}endedAtTime", quads.moment(of.at))
        graph.add(run, f"{RDFS}seeAlso", quads.link(places.job(of.job)))
    for path, predicate in ((of.record, f"{DCTERMS}source"), (of.samples, f"{DCAT}distribution")):
        if path:
            file = f"{version}/files/{quads.part(path, '/')}"
            graph.add(node, predicate, quads.link(file))
    for figure in FIGURES:
        _figure(graph, places, node, subject, of, figure)


def _figure(
    graph: Graph, places: Places, node: str, subject: str, of: BenchmarkFacts, figure: Figure
) -> None:
    value = quads.number(getattr(of, figure.field))
    if value is None:
        return
    here = f"{node}-{figure.metric}"
    graph.add(node, places.term("hasFigure"), quads.link(here))
    graph.add(subject, f"{DQV}hasQualityMeasurement", quads.link(here))
    graph.type(here, f"{DQV}QualityMeasurement")
    graph.add(here, f"{DQV}isMeasurementOf", quads.link(places.metric(figure.metric)))
    graph.add(here, f"{DQV}value", quads.decimal(value))
    graph.add(here, f"{DQV}computedOn", quads.link(subject))
    graph.add(here, f"{DCTERMS}type", quads.link(places.term("ModelQuality")))
    graph.add(here, f"{PROV}wasAttributedTo", quads.link(_by(places, of)))
    kind = getattr(of, figure.provenance) if figure.provenance else "measured"
    graph.add(here, places.term("figureKind"), quads.string(kind))
    graph.add(here, f"{RDFS}seeAlso", quads.link(node))


def _by(places: Places, of: BenchmarkFacts) -> str:
    """Whose word a result is: the hub's own, or that of whoever contributed it."""
    return places.agent(of.contributor) if of.contributor else places.worker
