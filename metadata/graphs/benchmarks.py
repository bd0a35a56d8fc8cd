"""Results of benchmarks in a version's graph: what ran where, each figure with its unit.

A result is one thing with its context, made by a job from a file in an environment; its figures are
measurements of their own. Samples are files, never statements.
"""

from __future__ import annotations

from collections.abc import Iterable

from hub.protocol import benchmark_metrics
from metadata.graphs import figures
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, file_of, variant_of
from metadata.rdf.quads import count, decimal, link, moment, string
from runners.benchmarks.machines import Device
from runners.models import Measurement


def device_graph(of: Device, rows: Iterable[Measurement], home: str) -> str:
    """A device class as N-Quads: its title, its kind, and the trusted ones of these results."""
    places = Places(home)
    device = places.device(of.name)
    graph = Graph(places.catalogue, places)
    facts = {
        "dcterms:identifier": string(of.name),
        "dcterms:title": string(of.title),
        "dcterms:type": string(of.kind),
    }
    graph.describe(device, "hub:Device", facts)
    for row in rows:
        if row.is_trusted and row.device == of.name:
            model = row.variant.version.model
            number = row.variant.version.number
            node = f"{places.version(model.namespace.slug, model.name, number)}#bench-{row.pk}"
            graph.add(node, "hub:device", link(device))
    return graph.text()


def describe(
    graph: Graph, version: str, subject: str, row: Measurement, *, is_listed: bool
) -> None:
    """Describe a result of ``subject``: the version for its main variant, else the variant.

    ``is_listed`` says that lists of models show it.
    """
    places = graph.places
    node = f"{version}#bench-{row.pk}"
    # What workers of this hub measured has no contributor.
    author = places.agent(row.contributor.username) if row.contributor else places.worker
    entry = file_of(version, row.variant.entry.path)
    used = [link(entry), link(places.environment(row.environment_id))]
    graph.add(version, "hub:hasBenchmark", link(node))
    if is_listed:
        graph.add(version, "hub:listedBenchmark", link(node))
    title = f"{row.scenario} on {row.device_title} with {row.runtime} {row.runtime_version}"
    record, samples = (
        link(file_of(version, file.path)) if file else ""
        for file in (row.record_file, row.samples_file)
    )
    graph.describe(
        node,
        "hub:BenchmarkResult prov:Entity",
        {
            "dcterms:title": string(title, "en"),
            "dcterms:date": moment(row.at),
            "prov:wasAttributedTo": link(author),
            "hub:variant": link(variant_of(version, row.variant.name)),
            "hub:resultStatus": string(row.status),
            "hub:comparabilityKey": string(row.comparability_key),
            "hub:runtime": string(row.runtime),
            "hub:runtimeVersion": string(row.runtime_version),
            "hub:executionProvider": string(row.provider),
            "hub:scenario": string(row.scenario),
            "hub:callStyle": string(row.call_style),
            "hub:batchSize": count(row.batch),
            "hub:threads": count(row.threads),
            "hub:concurrency": count(row.concurrency),
            "hub:latencyBoundMs": decimal(row.latency_bound_ms),
            "hub:device": link(places.device(row.device)),
            "prov:wasDerivedFrom": used,
            "dcterms:source": record,
            "dcat:distribution": samples,
        },
    )
    if row.job_id:
        run = f"{node}-run"
        graph.describe_part(
            node,
            "prov:wasGeneratedBy",
            run,
            "prov:Activity",
            {
                "prov:used": used,
                "prov:wasAssociatedWith": link(places.worker),
                "prov:startedAtTime": moment(row.started_at),
                "prov:endedAtTime": moment(row.at),
                "rdfs:seeAlso": link(places.job(str(row.job_id))),
            },
        )
    for metric in benchmark_metrics.ALL:
        figure = row.figure(metric)
        if not metric.title or figure.value is None:
            continue
        here = f"{node}-{metric.name}"
        graph.add(node, "hub:hasFigure", link(here))
        graph.add(here, "rdfs:seeAlso", link(node))
        figures.describe(
            graph,
            here,
            subject,
            metric.name,
            figure.value,
            author=author,
            kind=figure.kind,
            status=figure.status,
            interval=figure.interval,
        )
