"""Numbers about a version, each with its source: the card's claims, and what workers measured.

A claim and a measurement of the same metric on the same data set meet in these two IRIs.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from hub.protocol import stored
from hub.protocol.accuracy import stated
from hub.protocol.cards import Card, Result, results
from hub.protocol.figures import Kind
from hub.protocol.vocabularies import SHARES, metric_name
from metadata.graphs import datasets, figures, metrics
from metadata.graphs.datasets import LONGEST_LIST, Names
from metadata.rdf.graph import Graph
from metadata.rdf.iris import variant_of
from metadata.rdf.quads import count, decimal, foreign, link, moment, number, part, string, words
from registry.cards import metrics as reported_metrics
from runners.models import Evaluation

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Reported(NamedTuple):
    """A share that a card reports: of which metric, on which data, and how much, from 0 to 1."""

    metric: str
    dataset: str
    split: str
    value: float


def describe_claims(
    graph: Graph, version: str, card: dict[str, Any], publisher: str, names: Names
) -> None:
    """Describe the results that a card reports, in `model-index` and in `eval_results`."""
    metric_results = (result for result in results(card) if result.has_metric)
    for index, result in enumerate(itertools.islice(metric_results, LONGEST_LIST), start=1):
        amount = number(result.value)
        if not result.metric or amount is None:
            continue
        node = f"{version}#eval-{index}"
        unit = reported_metrics.unit_of(result.unit)
        value, reported_under = reported_metrics.scaled(result.metric, amount, unit)
        is_alias = result.metric.lower() != metric_name(result.metric)
        day = result.date[:10]
        _evaluation(graph, version, node, result.metric, value)
        figures.describe(
            graph, node, version, result.metric, value, author=publisher, kind=Kind.CLAIMED
        )
        _dataset(graph, version, node, result, names)
        graph.state(
            node,
            {
                "hub:reportedUnder": string(reported_under),
                "dcterms:title": words(result.metric) if is_alias else "",
                "rdfs:seeAlso": link(foreign(result.url)),
                "dcterms:date": string(day) if _DAY.fullmatch(day) else "",
            },
        )


def reported(card: Card) -> Iterator[Reported]:
    """The shares that a card reports on data that it names; more is better with each of them."""
    for result in card.results[:LONGEST_LIST]:
        metric, value = metric_name(result.metric), number(result.value)
        if metric not in SHARES or value is None or not result.names:
            continue
        share = float(
            reported_metrics.scaled(metric, value, reported_metrics.unit_of(result.unit))[0]
        )
        if 0 <= share <= 1:
            yield Reported(metric, result.names[0], result.dataset.split, share)


def describe_measured(graph: Graph, version: str, subject: str, of: Evaluation) -> None:
    """Describe a value that a worker measured of ``subject``, with the digits that lists compare.

    The subject is a version or one of its variants.
    """
    node = f"{version}#eval-measured-{part(str(of.pk))}"
    dataset = graph.places.dataset(of.dataset_version.dataset.slug)
    value, interval = stated(of.value), of.figure.interval
    _evaluation(graph, subject, node, of.metric, value)
    figures.describe(
        graph,
        node,
        subject,
        of.metric,
        value,
        author=graph.places.worker,
        interval=interval
        and dataclasses.replace(interval, low=stated(interval.low), high=stated(interval.high)),
    )
    graph.add(node, "fair4ml:evaluationDataset", link(dataset))
    graph.add(subject, "fair4ml:evaluatedOn", link(dataset))
    graph.state(
        node,
        {
            "hub:variant": link(variant_of(version, of.variant.name)),
            "hub:split": string(of.split),
            "dcat:version": string(str(of.dataset_version.number)),
            "hub:evaluatedRows": count(of.rows),
            "hub:predictionsDigest": string(of.predictions_sha256),
            "rdfs:comment": string(of.arithmetic, "en"),
            "dcterms:date": moment(of.at),
        },
    )


def describe_figures(
    graph: Graph, subject: str, prefix: str, outputs: list[Any], source: str, comment: str = ""
) -> None:
    """Describe the worst of each figure that a worker took while it compared outputs.

    ``comment`` says in what arithmetic it was computed. ``prefix`` is the beginning of their IRIs;
    ``source`` is the verdict or step they belong to. The worst of figures of which one is infinite
    (a text) is no number.
    """
    rows = stored.rows(outputs)
    for figure, (metric, worst) in metrics.FIGURES.items():
        values = [row.get(figure) for row in rows]
        numbers = [value for value in map(number, values) if value is not None]
        if not numbers or any(isinstance(value, str) for value in values):
            continue
        node = f"{prefix}-{metric}"
        value = worst(numbers)
        figures.describe(graph, node, subject, metric, value, author=graph.places.worker)
        graph.state(
            node,
            {
                "mls:hasValue": decimal(value),
                "mls:specifiedBy": link(graph.places.metric(metric)),
                "rdfs:seeAlso": link(source),
                "rdfs:comment": string(comment, "en"),
            },
        )


def _evaluation(graph: Graph, subject: str, node: str, metric: str, value: float | Decimal) -> None:
    """State of a figure that it is an evaluation of a model."""
    graph.describe_part(
        subject,
        "fair4ml:hasEvaluation",
        node,
        "fair4ml:MLModelEvaluation mls:ModelEvaluation",
        {
            "fair4ml:evaluatedMLModel": link(subject),
            "mls:hasValue": decimal(value),
            "mls:specifiedBy": link(graph.places.metric(metric)),
        },
    )


def _dataset(graph: Graph, version: str, node: str, result: Result, names: Names) -> None:
    """State on which data a result is."""
    dataset_names = datasets.result_names(result)
    iri = names.iri(*dataset_names)
    if iri.startswith(f"{version}#"):
        names.describe(graph, *dataset_names)
    graph.add(node, "fair4ml:evaluationDataset", link(iri))
    graph.add(version, "fair4ml:evaluatedOn", link(iri))
    graph.add(node, "hub:split", string(result.dataset.split))
