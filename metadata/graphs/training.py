"""How a version was made: from which model, with which settings and machines, at what cost."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hub.protocol import problems, refs, stored
from hub.protocol.cards import Emissions
from metadata.graphs.card_statements import LONGEST_LIST, texts
from metadata.rdf.quads import decimal, foreign, link, number, part, string, truth, whole, words
from registry.cards import emissions, mentions, resolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.graphs.facts import VersionFacts
    from metadata.rdf.graph import Graph
    from metadata.rdf.iris import Places

_FINETUNING = "hub:Finetuning"
_RELATIONS = {
    "adapter": _FINETUNING,
    "finetune": _FINETUNING,
    "merge": "hub:Merge",
    "quantized": "hub:Quantization",
}
_KINDS = {
    "pre-training": "hub:Training",
    "pretraining": "hub:Training",
    "training": "hub:Training",
    "fine-tuning": _FINETUNING,
    "finetuning": _FINETUNING,
}


def describe(graph: Graph, version: str, of: VersionFacts) -> None:
    """Describe the step that made a version, as far as its file and its card say."""
    step, card = f"{version}#generation", of.card
    graph.add(version, "prov:wasGeneratedBy", link(step))
    graph.type(step, "prov:Activity", "mls:Run", *filter(None, [generation(card)]))
    producer = of.variants[0].facts.producer if of.variants else None
    if producer and producer.name:
        tool = f"{version}#producer"
        graph.add(step, "prov:wasAssociatedWith", link(tool))
        facts = {"foaf:name": string(producer.name), "dcat:version": string(producer.version)}
        graph.describe(tool, "prov:SoftwareAgent foaf:Agent", facts)
    _lineage(graph, version, step, of)
    _settings(graph, version, step, card.get("hyperparameters"))
    used = stored.mapping(card.get("co2_eq_emissions")).get("hardware_used")
    hardware = dict.fromkeys([*texts(card.get("hardware")), *texts(used)])
    for index, text in enumerate(hardware, start=1):
        node = f"{version}#hardware-{index}"
        graph.add(step, "it6:hasHardware", link(node))
        graph.describe(node, "it6:Hardware", {"dcterms:title": words(text)})
    _impact(graph, version, step, card, graph.places.agent(of.namespace))


def generation(card: dict[str, Any]) -> str:
    """The class of the step that a card says made the model; empty where it says nothing."""
    relation = str(card.get("base_model_relation", "")).strip().lower()
    kind = stored.mapping(card.get("co2_eq_emissions")).get("training_type", "")
    return _RELATIONS.get(relation) or _KINDS.get(str(kind).strip().lower(), "")


def _lineage(graph: Graph, version: str, step: str, of: VersionFacts) -> None:
    """What the card names as base; a name without a number keeps standing beside what it means.

    It is a version of this hub where the hub knows which is meant, else a model of Hugging Face.
    """
    bases = {base.named: base for base in of.bases}
    for name in texts(of.card.get("base_model")):
        iri = foreign(name) or _version_named(graph.places, name)
        if not iri:
            graph.add(version, "dc:source", string(name))
            key = mentions.key(name)
            base = bases.get(key)
            if base is not None:
                iri = graph.places.version(base.namespace, base.name, base.number)
            elif key not in of.undecided:
                iri = resolution.elsewhere(name)
        if not iri or iri == version:
            continue
        graph.add(version, "prov:wasDerivedFrom", link(iri))
        graph.add(step, "prov:used", link(iri))
        if generation(of.card) == _FINETUNING:
            graph.add(version, "it6:fineTunedFrom fair4ml:fineTunedFrom", link(iri))


def _version_named(places: Places, text: str) -> str:
    try:
        ref = refs.parse(text.strip())
    except problems.Problem:
        return ""
    return places.version(ref.namespace, ref.model, ref.number) if ref.number else ""


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


def _impact(graph: Graph, version: str, step: str, card: dict[str, Any], publisher: str) -> None:
    """Emissions and energy: Hugging Face cards have grams, the graph kilograms; energy in kWh.

    They are the publisher's claims, also where the card says that they were measured.
    """
    carbon, energy = card.get("co2_eq_emissions"), card.get("energy")
    carbon = carbon if isinstance(carbon, dict) else {"emissions": carbon}
    energy = energy if isinstance(energy, dict) else {"kwh": energy}
    kilograms = _amount(carbon.get("emissions"), Decimal(1000))
    kwh = _amount(energy.get("kwh"))
    if kwh is None:
        kwh = _amount(carbon.get("energy_consumed"))
    methods = [
        *texts(card.get("carbon_method")),
        *texts(carbon.get("source")),
        *texts(energy.get("method")),
    ]
    location = texts(carbon.get("geographical_location")) or texts(energy.get("location"))
    for text in location[:1]:
        place = f"{version}#place"
        graph.add(step, "dcterms:spatial", link(place))
        graph.describe(place, "dcterms:Location", {"rdfs:label": words(text)})
    if kilograms is None and kwh is None and not methods:
        return
    impact = f"{version}#impact"
    graph.add(step, "it6:hasTrainingImpact", link(impact))
    graph.describe(
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
        graph.add(impact, "hub:figureKind", string(emissions.kind_of(Emissions.read(card))))
        graph.add(version, "hub:trainingCO2eKg", decimal(kilograms))
        alias = string(f"{kilograms.normalize():f} kg CO2e")
        graph.add(version, "fair4ml:hasCO2eEmissions", alias)


def _amount(value: Any, divisor: Decimal = Decimal(1)) -> Decimal | None:
    amount = number(value)
    return None if amount is None or amount < 0 else amount / divisor
