"""Numbers about a version, each with who says so: the card's claims, and what workers measured.

A claim and a measurement of the same metric on the same data set meet in these two IRIs.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hub.protocol import stored
from hub.protocol.vocabularies import SHARES
from metadata.graphs import datasets, metrics
from metadata.graphs.datasets import LISTED
from metadata.rdf import quads
from metadata.rdf.terms import DCTERMS, DQV, FAIR4ML, MLS, PROV, RDFS
from registry.cards import metrics as reported_metrics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from metadata.graphs.datasets import Names
    from metadata.graphs.facts import EvaluationFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def tell_claims(
    graph: Graph, version: str, card: dict[str, Any], publisher: str, names: Names
) -> None:
    """The results that a card reports, in `model-index` and in `eval_results`."""
    for index, (result, name, said, unit) in enumerate(_claims(card), start=1):
        number = quads.number(said)
        if index > LISTED or not name or number is None:
            continue
        node = f"{version}#eval-{index}"
        _evaluation(graph, names.places, version, node, publisher)
        value, reported_under = reported_metrics.scaled(name, number, unit)
        graph.add(node, names.places.term("reportedUnder"), quads.string(reported_under))
        if name.lower() != reported_metrics.canonical(name):
            graph.add(node, f"{DCTERMS}title", quads.words(name))
        _value(graph, names.places, node, name, value)
        _on(graph, version, node, result, names)
        _said_where(graph, node, result)


class Reported(NamedTuple):
    """A share that a card reports: of which metric, on which data, and how much, from 0 to 1."""

    metric: str
    dataset: str
    split: str
    value: float


def reported(card: dict[str, Any]) -> Iterator[Reported]:
    """The shares that a card reports on data that it names; more is better with each of them."""
    for result, name, said, unit in itertools.islice(_claims(card), LISTED):
        metric, value = reported_metrics.canonical(name), quads.number(said)
        dataset = result.get("dataset")
        on = dataset if isinstance(dataset, dict) else {"name": dataset}
        names = [on.get(key) for key in ("type", "id", "name")]
        named = next((one for one in names if isinstance(one, str)), "")
        if metric not in SHARES or value is None or not named.strip():
            continue
        share = float(reported_metrics.scaled(metric, value, unit)[0])
        if 0 <= share <= 1:
            split = on.get("split")
            told = split.strip() if isinstance(split, str) else ""
            yield Reported(metric, named.strip(), told, share)


def tell_measured(graph: Graph, version: str, of: EvaluationFacts, names: Names) -> None:
    """A value that a worker measured."""
    node = f"{version}#bench-{quads.part(of.key)}"
    _evaluation(graph, names.places, version, node, names.places.worker)
    _value(graph, names.places, node, of.metric, of.value)
    _on(graph, version, node, {"dataset": {"name": of.dataset, "split": of.split}}, names)
    graph.add(node, f"{DCTERMS}date", quads.moment(of.at))


def tell_figures(
    graph: Graph, places: Places, subject: str, node: str, rows: list[Any], because: str = ""
) -> None:
    """The worst of each figure that a worker took while it compared outputs.

    ``node`` is the beginning of their IRIs; ``because`` is the verdict or step they belong to.
    """
    for figure, (metric, worst) in metrics.FIGURES.items():
        found = [quads.number(row.get(figure)) for row in rows if isinstance(row, dict)]
        numbers = [value for value in found if value is not None]
        if not numbers or _is_unending(rows, figure):
            continue
        here = f"{node}-{metric}"
        graph.add(subject, f"{DQV}hasQualityMeasurement", quads.link(here))
        graph.type(here, f"{DQV}QualityMeasurement")
        _value(graph, places, here, metric, worst(numbers))
        graph.add(here, f"{DQV}computedOn", quads.link(subject))
        graph.add(here, f"{DCTERMS}type", quads.link(places.term("ModelQuality")))
        graph.add(here, f"{PROV}wasAttributedTo", quads.link(places.worker))
        graph.add(here, f"{RDFS}seeAlso", quads.link(because))


def _is_unending(rows: list[Any], figure: str) -> bool:
    """Whether a figure is infinite somewhere: the worst of them is no number then."""
    return any(isinstance(row, dict) and isinstance(row.get(figure), str) for row in rows)


def _claims(card: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, Any, str]]:
    """Each reported result with the name of its metric, its value, and the value's unit."""
    for model in stored.rows(card.get("model-index")):
        for result in stored.rows(model.get("results")):
            for metric in stored.rows(result.get("metrics")):
                unit = reported_metrics.unit_of(metric.get("unit"))
                yield result, _name(metric), metric.get("value"), unit
    for result in stored.rows(card.get("eval_results")):
        said = result.get("metric")
        name = _name(said) if isinstance(said, dict) else str(said or "").strip()
        dataset = result.get("dataset")
        if not name and isinstance(dataset, dict):
            name = str(dataset.get("task_id") or "").strip()  # the benchmark's own score
        yield result, name, result.get("value"), reported_metrics.unit_of(result.get("unit"))


def _name(metric: dict[str, Any]) -> str:
    return str(metric.get("type") or metric.get("name") or "").strip()


def _evaluation(graph: Graph, places: Places, version: str, node: str, by: str) -> None:
    graph.add(version, f"{FAIR4ML}hasEvaluation", quads.link(node))
    graph.type(
        node, f"{FAIR4ML}MLModelEvaluation", f"{MLS}ModelEvaluation", f"{DQV}QualityMeasurement"
    )
    for predicate in (f"{DQV}computedOn", f"{FAIR4ML}evaluatedMLModel"):
        graph.add(node, predicate, quads.link(version))
    graph.add(node, f"{DCTERMS}type", quads.link(places.term("ModelQuality")))
    graph.add(node, f"{PROV}wasAttributedTo", quads.link(by))


def _value(graph: Graph, places: Places, node: str, name: str, value: Decimal) -> None:
    for predicate in (f"{DQV}value", f"{MLS}hasValue"):
        graph.add(node, predicate, quads.decimal(value))
    for predicate in (f"{DQV}isMeasurementOf", f"{MLS}specifiedBy"):
        graph.add(node, predicate, quads.link(places.metric(name)))


def _on(graph: Graph, version: str, node: str, result: dict[str, Any], names: Names) -> None:
    written = datasets.result_names(result)
    iri = names.iri(*written)
    if iri.startswith(f"{version}#"):
        names.describe(graph, *written)
    graph.add(node, f"{FAIR4ML}evaluationDataset", quads.link(iri))
    graph.add(version, f"{FAIR4ML}evaluatedOn", quads.link(iri))
    said = result.get("dataset")
    split = said.get("split") if isinstance(said, dict) else None
    graph.add(node, names.places.term("split"), quads.string(split if split != "" else None))


def _said_where(graph: Graph, node: str, result: dict[str, Any]) -> None:
    source = result.get("source")
    if isinstance(source, dict):
        graph.add(node, f"{RDFS}seeAlso", quads.link(quads.foreign(str(source.get("url") or ""))))
    day = str(result.get("date") or "")[:10]
    if _DAY.fullmatch(day):
        graph.add(node, f"{DCTERMS}date", quads.string(day))
