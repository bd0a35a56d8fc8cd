"""Results of benchmarks in a version's graph: what ran where, each figure with its unit.

A result is one thing with its context, made by a job from a file in an environment; its figures are
measurements of their own. Samples are files, never statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata.graphs import figures
from metadata.rdf.iris import file_of, variant_of
from metadata.rdf.quads import count, decimal, link, moment, string

if TYPE_CHECKING:
    from metadata.graphs.facts import BenchmarkFacts
    from metadata.rdf.graph import Graph


def describe(graph: Graph, version: str, subject: str, of: BenchmarkFacts) -> None:
    """Describe a result of ``subject``: the version for its main variant, else the variant."""
    places = graph.places
    node = f"{version}#bench-{of.key}"
    author = places.agent(of.contributor) if of.contributor else places.worker
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
            "prov:wasAttributedTo": link(author),
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
    for metric, figure in of.figures.items():
        if figure.value is None:
            continue
        here = f"{node}-{metric}"
        graph.add(node, "hub:hasFigure", link(here))
        graph.add(here, "rdfs:seeAlso", link(node))
        figures.describe(
            graph,
            here,
            subject,
            metric,
            figure.value,
            author=author,
            kind=figure.kind,
            status=figure.status,
            interval=figure.interval,
        )
