"""How a version was made: from which model, with which settings and machines, at what cost."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hub.protocol import problems, refs
from metadata.graphs.card_statements import LISTED, texts
from metadata.rdf import quads
from metadata.rdf.terms import DC, DCAT, DCTERMS, FAIR4ML, FOAF, IT6, MLS, PROV, RDFS
from registry.cards import emissions, mentions, resolution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.graphs.facts import VersionFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

_RELATIONS = {
    "adapter": "Finetuning",
    "finetune": "Finetuning",
    "merge": "Merge",
    "quantized": "Quantization",
}
_KINDS = {
    "pre-training": "Training",
    "pretraining": "Training",
    "training": "Training",
    "fine-tuning": "Finetuning",
    "finetuning": "Finetuning",
}


def tell(graph: Graph, places: Places, version: str, of: VersionFacts) -> None:
    """Tell of the step that made a version, as far as its file and its card say."""
    made = f"{version}#generation"
    card = of.card
    graph.add(version, f"{PROV}wasGeneratedBy", quads.link(made))
    kind = generation(places, card)
    graph.type(made, f"{PROV}Activity", f"{MLS}Run", *([kind] if kind else []))
    _tool(graph, version, made, of)
    _lineage(graph, places, version, made, of)
    _settings(graph, version, made, card.get("hyperparameters"))
    for index, text in enumerate(_hardware(card), start=1):
        node = f"{version}#hardware-{index}"
        graph.add(made, f"{IT6}hasHardware", quads.link(node))
        graph.type(node, f"{IT6}Hardware")
        graph.add(node, f"{DCTERMS}title", quads.words(text))
    _impact(graph, places, version, made, card, places.agent(of.namespace))


def generation(places: Places, card: dict[str, Any]) -> str:
    """The class of the step that a card says made the model; empty where it says nothing."""
    word = _RELATIONS.get(str(card.get("base_model_relation", "")).strip().lower())
    carbon = card.get("co2_eq_emissions")
    if word is None and isinstance(carbon, dict):
        word = _KINDS.get(str(carbon.get("training_type", "")).strip().lower())
    return places.term(word) if word else ""


def _tool(graph: Graph, version: str, made: str, of: VersionFacts) -> None:
    producer = of.variants[0].facts.producer if of.variants else None
    if not producer or not producer.name:
        return
    tool = f"{version}#producer"
    graph.add(made, f"{PROV}wasAssociatedWith", quads.link(tool))
    graph.type(tool, f"{PROV}SoftwareAgent", f"{FOAF}Agent")
    graph.add(tool, f"{FOAF}name", quads.string(producer.name))
    graph.add(tool, f"{DCAT}version", quads.string(producer.version))


def _lineage(graph: Graph, places: Places, version: str, made: str, of: VersionFacts) -> None:
    """What the card names as base; a name without a number keeps standing beside what it means.

    It is a version of this hub where the hub knows which is meant, else a model of Hugging Face.
    """
    tuned = generation(places, of.card).endswith("#Finetuning")
    found = {base.named: base for base in of.bases}
    for named in texts(of.card.get("base_model")):
        iri = quads.foreign(named) or _version_named(places, named)
        if not iri:
            graph.add(version, f"{DC}source", quads.string(named))
            key = mentions.key(named)
            base = found.get(key)
            if base is not None:
                iri = places.version(base.namespace, base.name, base.number)
            elif key not in of.undecided:
                iri = resolution.elsewhere(named)
        if not iri or iri == version:
            continue
        graph.add(version, f"{PROV}wasDerivedFrom", quads.link(iri))
        graph.add(made, f"{PROV}used", quads.link(iri))
        if tuned:
            graph.add(version, f"{IT6}fineTunedFrom", quads.link(iri))
            graph.add(version, f"{FAIR4ML}fineTunedFrom", quads.link(iri))


def _version_named(places: Places, text: str) -> str:
    try:
        ref = refs.parse(text.strip())
    except problems.Problem:
        return ""
    return places.version(ref.namespace, ref.model, ref.number) if ref.number else ""


def _settings(graph: Graph, version: str, made: str, said: Any) -> None:
    for name, value in list(_flat("", said))[:LISTED]:
        literal = _literal(value)
        if not literal or not name:
            continue
        setting = f"{version}#setting-{quads.part(name)}"
        parameter = f"{version}#parameter-{quads.part(name)}"
        graph.add(made, f"{MLS}hasInput", quads.link(setting))
        graph.type(setting, f"{MLS}HyperParameterSetting")
        graph.add(setting, f"{MLS}specifiedBy", quads.link(parameter))
        graph.add(setting, f"{MLS}hasValue", literal)
        graph.type(parameter, f"{MLS}HyperParameter")
        graph.add(parameter, f"{RDFS}label", quads.string(name))


def _flat(prefix: str, said: Any, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Settings by name; what is nested has the names above it before its own."""
    if not isinstance(said, dict):
        return
    for key, value in said.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth:
            yield from _flat(f"{name}.", value, depth - 1)
        else:
            yield name, value


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return quads.truth(value)
    if isinstance(value, int):
        return quads.whole(value)
    if isinstance(value, float):
        return quads.decimal(quads.number(value))
    if isinstance(value, list | dict):
        return quads.string(json.dumps(value, ensure_ascii=False, sort_keys=True))
    return quads.string(value)


def _hardware(card: dict[str, Any]) -> list[str]:
    carbon = card.get("co2_eq_emissions")
    used = carbon.get("hardware_used") if isinstance(carbon, dict) else None
    return list(dict.fromkeys([*texts(card.get("hardware")), *texts(used)]))


def _impact(
    graph: Graph, places: Places, version: str, made: str, card: dict[str, Any], publisher: str
) -> None:
    """Emissions and energy: Hugging Face cards have grams, the graph kilograms; energy in kWh.

    They are the publisher's word, also where the card says that somebody measured.
    """
    said = card.get("co2_eq_emissions")
    carbon = said if isinstance(said, dict) else {"emissions": said}
    energy = card.get("energy")
    power = energy if isinstance(energy, dict) else {"kwh": energy}
    kilograms = _amount(carbon.get("emissions"), Decimal(1000))
    kwh = _amount(power.get("kwh"))
    if kwh is None:
        kwh = _amount(carbon.get("energy_consumed"))
    methods = [
        *texts(card.get("carbon_method")),
        *texts(carbon.get("source")),
        *texts(power.get("method")),
    ]
    place = texts(carbon.get("geographical_location")) or texts(power.get("location"))
    for text in place[:1]:
        node = f"{version}#place"
        graph.add(made, f"{DCTERMS}spatial", quads.link(node))
        graph.type(node, f"{DCTERMS}Location")
        graph.add(node, f"{RDFS}label", quads.words(text))
    if kilograms is None and kwh is None and not methods:
        return
    impact = f"{version}#impact"
    graph.add(made, f"{IT6}hasTrainingImpact", quads.link(impact))
    graph.type(impact, f"{IT6}EnvironmentalImpact")
    if kilograms is not None:
        graph.add(impact, places.term("figureKind"), quads.string(emissions.kind_of(card)))
    graph.add(impact, f"{PROV}wasAttributedTo", quads.link(publisher))
    graph.add(impact, f"{IT6}carbonEmitted", quads.decimal(kilograms))
    graph.add(impact, f"{IT6}powerConsumption", quads.decimal(kwh))
    graph.add(impact, f"{IT6}measurementMethodology", *map(quads.words, methods))
    if kilograms is not None:
        graph.add(version, places.term("trainingCO2eKg"), quads.decimal(kilograms))
        alias = quads.string(f"{kilograms.normalize():f} kg CO2e")
        graph.add(version, f"{FAIR4ML}hasCO2eEmissions", alias)


def _amount(said: Any, divisor: Decimal = Decimal(1)) -> Decimal | None:
    found = quads.number(said)
    return None if found is None or found < 0 else found / divisor
