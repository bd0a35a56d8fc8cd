"""Results of benchmarks in a version's graph: what ran where, each figure with its unit.

A result is one thing with its context, made by a job from a file in an environment; its figures are
measurements of their own. Samples are files, never statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metadata.rdf.iris import file_of, variant_of
from metadata.rdf.quads import count, decimal, link, moment, string

if TYPE_CHECKING:
    from metadata.graphs.facts import BenchmarkFacts
    from metadata.rdf.graph import Graph


class Figure(NamedTuple):
    """A figure of a result: its field, its metric, and the field with its provenance."""

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


def describe(graph: Graph, version: str, subject: str, of: BenchmarkFacts) -> None:
    """Describe a result of ``subject``: the version for its main variant, else the variant."""
    places = graph.places
    node = f"{version}#bench-{of.key}"
    author = link(places.agent(of.contributor) if of.contributor else places.worker)
    used = [link(file_of(version, of.entry)), link(places.environment(of.environment))]
    graph.add(version, "hub:hasBenchmark", link(node))
    if of.is_listed:
        graph.add(version, "hub:listedBenchmark", link(node))
    title = f"{of.scenario} on {of.device_title} with {of.runtime} {of.runtime_version}"
    graph.describe(
        node,
        "hub:BenchmarkResult prov:Entity",
        {
            "dcterms:title": string(title, "en"),
            "dcterms:date": moment(of.at),
            "prov:wasAttributedTo": author,
            "hub:variant": link(variant_of(version, of.variant)),
            "hub:resultStatus": string(of.status),
            "hub:comparabilityKey": string(of.comparability_key),
            "hub:runtime": string(of.runtime),
            "hub:runtimeVersion": string(of.runtime_version),
            "hub:executionProvider": string(of.provider),
            "hub:scenario": string(of.scenario),
            "hub:callStyle": string(of.call_style),
            "hub:batchSize": count(of.batch),
            "hub:threads": count(of.threads),
            "hub:concurrency": count(of.concurrency),
            "hub:latencyBoundMs": decimal(of.latency_bound_ms),
            "hub:device": link(places.device(of.device)),
            "prov:wasDerivedFrom": used,
            "dcterms:source": link(file_of(version, of.record)) if of.record else "",
            "dcat:distribution": link(file_of(version, of.samples)) if of.samples else "",
        },
    )
    if of.job:
        run = f"{node}-run"
        graph.add(node, "prov:wasGeneratedBy", link(run))
        graph.describe(
            run,
            "prov:Activity",
            {
                "prov:used": used,
                "prov:wasAssociatedWith": link(places.worker),
                "prov:startedAtTime": moment(of.started_at),
                "prov:endedAtTime": moment(of.at),
                "rdfs:seeAlso": link(places.job(of.job)),
            },
        )
    for figure in FIGURES:
        value = decimal(getattr(of, figure.field))
        if value:
            kind = getattr(of, figure.provenance) if figure.provenance else "measured"
            here = f"{node}-{figure.metric}"
            graph.add(node, "hub:hasFigure", link(here))
            describe_figure(graph, here, subject, figure.metric, value)
            graph.add(here, "prov:wasAttributedTo", author)
            graph.add(here, "hub:figureKind", string(kind))
            graph.add(here, "rdfs:seeAlso", link(node))


def describe_figure(graph: Graph, node: str, subject: str, metric: str, value: str) -> None:
    """Describe the measurement ``node`` of a metric on ``subject``; ``value`` is a term."""
    graph.add(subject, "dqv:hasQualityMeasurement", link(node))
    graph.describe(
        node,
        "dqv:QualityMeasurement",
        {
            "dqv:isMeasurementOf": link(graph.places.metric(metric)),
            "dqv:value": value,
            "dqv:computedOn": link(subject),
            "dcterms:type": graph.term("hub:ModelQuality"),
        },
    )
