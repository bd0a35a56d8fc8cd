"""How a version was made: from which model, with which settings and machines, at what cost."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from hub.protocol import derivations, stored
from hub.protocol.cards import Card
from metadata.graphs.card_statements import LONGEST_LIST
from metadata.graphs.facts import VersionFacts
from metadata.rdf.graph import Graph
from metadata.rdf.quads import decimal, link, number, part, string, truth, whole, words
from registry.cards import emissions, mentions, resolution


def describe(graph: Graph, version: str, of: VersionFacts) -> None:
    """Describe the step that made a version, as far as its file and its card say."""
    step, card = f"{version}#generation", Card.read(of.card)
    graph.add(version, "prov:wasGeneratedBy", link(step))
    derivation = derivations.declared(card)
    graph.type(
        step, "prov:Activity", "mls:Run", *([f"hub:{derivation.term}"] if derivation else [])
    )
    producer = of.variants[0].facts.producer if of.variants else None
    if producer and producer.name:
        tool = f"{version}#producer"
        graph.add(step, "prov:wasAssociatedWith", link(tool))
        facts = {"foaf:name": string(producer.name), "dcat:version": string(producer.version)}
        graph.describe(tool, "prov:SoftwareAgent foaf:Agent", facts)
    _lineage(graph, version, step, of, card)
    _settings(graph, version, step, of.card.get("hyperparameters"))
    for index, text in enumerate(card.hardware, start=1):
        node = f"{version}#hardware-{index}"
        graph.describe_part(
            step, "it6:hasHardware", node, "it6:Hardware", {"dcterms:title": words(text)}
        )
    _impact(graph, version, step, card, graph.places.agent(of.namespace))


def _lineage(graph: Graph, version: str, step: str, of: VersionFacts, card: Card) -> None:
    """What the card names as base; a name without a number keeps standing beside what it means.

    It is a public version of this hub where the card means one, else an address of elsewhere or a
    model of Hugging Face. Of any other only the name is stated: at this hub nothing would answer.
    """
    bases = {base.named: base for base in of.bases}
    for name in card.base_models:
        key = mentions.key(name)
        base = bases.get(key)
        iri = graph.places.elsewhere(name)
        if not iri and (base is None or not base.has_number):
            graph.add(version, "dc:source", string(name))
        if base is not None:
            iri = graph.places.version(base.namespace, base.name, base.number)
        elif key not in of.undecided:
            iri = iri or resolution.elsewhere(name)
        if not iri or iri == version:
            continue
        graph.add(version, "prov:wasDerivedFrom", link(iri))
        graph.add(step, "prov:used", link(iri))
        if derivations.declared(card) == derivations.FINE_TUNING:
            graph.add(version, "it6:fineTunedFrom fair4ml:fineTunedFrom", link(iri))


def _settings(graph: Graph, version: str, step: str, hyperparameters: Any) -> None:
    for name, value in itertools.islice(_flat("", hyperparameters), LONGEST_LIST):
        literal = _literal(value)
        if not literal or not name:
            continue
        setting, parameter = f"{version}#setting-{part(name)}", f"{version}#parameter-{part(name)}"
        graph.add(step, "mls:hasInput", link(setting))
        facts = {"mls:specifiedBy": link(parameter), "mls:hasValue": literal}
        graph.describe(setting, "mls:HyperParameterSetting", facts)
        graph.describe(parameter, "mls:HyperParameter", {"rdfs:label": string(name)})


def _flat(prefix: str, settings: Any, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Settings by name; what is nested has the names above it before its own."""
    for key, value in stored.mapping(settings).items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth:
            yield from _flat(f"{name}.", value, depth - 1)
        else:
            yield name, value


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list | dict):
        return string(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return string(value)


def _impact(graph: Graph, version: str, step: str, card: Card, publisher: str) -> None:
    """Emissions and energy: Hugging Face cards have grams, the graph kilograms; energy in kWh.

    They are the publisher's claims, also where the card says that they were measured.
    """
    grams, kwh = number(card.emissions.grams), number(card.energy.kwh)
    kilograms = None if grams is None else grams / 1000
    methods = (*card.emissions.methods, *card.energy.methods)
    if card.location:
        place = f"{version}#place"
        graph.describe_part(
            step, "dcterms:spatial", place, "dcterms:Location", {"rdfs:label": words(card.location)}
        )
    if kilograms is None and kwh is None and not methods:
        return
    impact = f"{version}#impact"
    graph.describe_part(
        step,
        "it6:hasTrainingImpact",
        impact,
        "it6:EnvironmentalImpact",
        {
            "prov:wasAttributedTo": link(publisher),
            "it6:carbonEmitted": decimal(kilograms),
            "it6:powerConsumption": decimal(kwh),
            "it6:measurementMethodology": map(words, methods),
        },
    )
    if kilograms is not None:
        graph.add(impact, "hub:figureKind", string(emissions.kind_of(card.emissions)))
        graph.add(version, "hub:trainingCO2eKg", decimal(kilograms))
        alias = string(f"{kilograms.normalize():f} kg CO2e")
        graph.add(version, "fair4ml:hasCO2eEmissions", alias)
