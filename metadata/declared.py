"""What a card says beyond licence, task and keywords: claims of the publisher, never measured here.

A card's fields have whatever shape their author gave them: what has another one is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hub.protocol import problems, refs
from metadata import quads, terms

if TYPE_CHECKING:
    from decimal import Decimal

    from metadata.places import Places
    from metadata.quads import Graph

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_LISTED = 200
# Fields of text -> the term, and its alias.
_TEXTS = {
    "intended_use": (f"{terms.IT6}intendedUse", f"{terms.FAIR4ML}intendedUse"),
    "limitations": (f"{terms.IT6}limitations",),
    "bias": (f"{terms.IT6}bias", f"{terms.FAIR4ML}modelRisksBiasLimitations"),
    "architecture": (f"{terms.IT6}modelArchitecture", f"{terms.FAIR4ML}modelCategory"),
}
_OWN_TEXTS = ("preprocessing", "postprocessing")
_RELATIONS = {
    "adapter": "Finetuning",
    "finetune": "Finetuning",
    "merge": "Merge",
    "quantized": "Quantization",
}
# Metrics whose value is a share: people write 97 or 0.97.
_SHARES = frozenset({"accuracy", "auc", "f1", "precision", "recall", "roc_auc", "top-1", "top-5"})
# What a card may say of personal data -> the term and class of DPV; "unknown" is neither.
_PERSONAL = {
    "yes": ("hasPersonalData", "PersonalData"),
    "no": ("hasData", "NonPersonalData"),
    "anonymised": ("hasData", "AnonymisedData"),
}


def tell(graph: Graph, places: Places, version: str, card: dict[str, Any], publisher: str) -> None:
    """Tell of ``version`` what its card claims; ``publisher`` is the agent whose word it is."""
    for field, predicates in _TEXTS.items():
        for predicate in predicates:
            graph.add(version, predicate, *map(quads.words, _texts(card.get(field))))
    for field in _OWN_TEXTS:
        graph.add(version, places.term(field), *map(quads.words, _texts(card.get(field))))
    for code in _texts(card.get("language")):
        if _LANGUAGE.fullmatch(code.strip()):
            graph.add(version, f"{terms.DCTERMS}language", quads.string(code.strip().lower()))
    _training_data(graph, places, version, card)
    _lineage(graph, places, version, card)
    _carbon(graph, places, version, card)
    _evaluations(graph, places, version, card, publisher)


def generation(places: Places, card: dict[str, Any]) -> str:
    """The class of the step that a card says made the model; empty where it says nothing."""
    word = _RELATIONS.get(str(card.get("base_model_relation", "")).strip().lower())
    return places.term(word) if word else ""


def _training_data(graph: Graph, places: Places, version: str, card: dict[str, Any]) -> None:
    """Data sets as parts of the version, so that nobody tells of what belongs to others."""
    general = card.get("personal_data")
    told = _mappings(card.get("training_data"))
    named = {str(row.get("name") or row.get("iri") or "").strip().lower() for row in told}
    plain = [name for name in _texts(card.get("datasets")) if name.strip().lower() not in named]
    rows = [*told, *({"name": name} for name in plain)]
    if not rows and general is not None:
        rows = [{"name": ""}]
    for row in rows[:_LISTED]:
        name = str(row.get("name") or row.get("iri") or "").strip()
        node = f"{version}#data-{quads.part(name.lower())}" if name else f"{version}#data"
        for predicate in (f"{terms.IT6}trainedOn", f"{terms.FAIR4ML}trainedOn"):
            graph.add(version, predicate, quads.link(node))
        graph.type(node, f"{terms.DCAT}Dataset")
        graph.add(node, f"{terms.DCTERMS}title", quads.words(name))
        same = quads.foreign(str(row.get("iri") or "")) or _dataset(places, name)
        graph.add(node, f"{terms.PROV}specializationOf", quads.link(same))
        if row.get("license"):
            licence = places.licence(str(row["license"]))
            graph.add(node, f"{terms.DCTERMS}license", quads.link(licence))
        _personal(graph, node, row.get("personal_data", general))


def _personal(graph: Graph, node: str, said: Any) -> None:
    """YAML makes booleans of yes and no; a mapping has the word as its status."""
    word = said.get("status") if isinstance(said, dict) else said
    if isinstance(word, bool):
        word = "yes" if word else "no"
    predicate, kind = _PERSONAL.get(str(word).strip().lower(), ("", ""))
    if predicate:
        graph.add(node, f"{terms.DPV}{predicate}", quads.link(f"{terms.DPV}{kind}"))


def _lineage(graph: Graph, places: Places, version: str, card: dict[str, Any]) -> None:
    tuned = generation(places, card).endswith("#Finetuning")
    for base in _texts(card.get("base_model")):
        iri = quads.foreign(base) or _version_named(places, base)
        if not iri:
            # A name alone may be of this hub or of another: a claim without an address.
            graph.add(version, f"{terms.DC}source", quads.string(base))
            continue
        graph.add(version, f"{terms.PROV}wasDerivedFrom", quads.link(iri))
        if tuned:
            graph.add(version, f"{terms.IT6}fineTunedFrom", quads.link(iri))
            graph.add(version, f"{terms.FAIR4ML}fineTunedFrom", quads.link(iri))


def _version_named(places: Places, text: str) -> str:
    try:
        ref = refs.parse(text.strip())
    except problems.Problem:
        return ""
    return places.version(ref.namespace, ref.model, ref.number) if ref.number else ""


def _carbon(graph: Graph, places: Places, version: str, card: dict[str, Any]) -> None:
    """Emissions of the training: Hugging Face cards have them in grams, the graph in kilograms."""
    said = card.get("co2_eq_emissions")
    grams = quads.number(said.get("emissions") if isinstance(said, dict) else said)
    if grams is None or grams < 0:
        return
    kilograms = grams / 1000
    impact = f"{version}#impact"
    graph.type(impact, f"{terms.IT6}EnvironmentalImpact")
    graph.add(impact, f"{terms.IT6}carbonEmitted", quads.decimal(kilograms))
    method = card.get("carbon_method") or (said.get("source") if isinstance(said, dict) else "")
    for text in _texts(method):
        graph.add(impact, f"{terms.IT6}measurementMethodology", quads.words(text))
    graph.add(f"{version}#generation", f"{terms.IT6}hasTrainingImpact", quads.link(impact))
    graph.add(version, places.term("trainingCO2eKg"), quads.decimal(kilograms))
    alias = quads.string(f"{kilograms.normalize():f} kg CO2e")
    graph.add(version, f"{terms.FAIR4ML}hasCO2eEmissions", alias)


def _evaluations(
    graph: Graph, places: Places, version: str, card: dict[str, Any], publisher: str
) -> None:
    found = [
        (result, metric)
        for model in _mappings(card.get("model-index"))
        for result in _mappings(model.get("results"))
        for metric in _mappings(result.get("metrics"))
    ]
    for index, (result, metric) in enumerate(found[:_LISTED], start=1):
        name = str(metric.get("type") or metric.get("name") or "").strip()
        value = quads.number(metric.get("value"))
        if not name or value is None:
            continue
        node = f"{version}#eval-{index}"
        graph.add(version, f"{terms.FAIR4ML}hasEvaluation", quads.link(node))
        graph.type(
            node,
            f"{terms.FAIR4ML}MLModelEvaluation",
            f"{terms.MLS}ModelEvaluation",
            f"{terms.DQV}QualityMeasurement",
        )
        _value(graph, places, node, name, value)
        for predicate in (f"{terms.DQV}computedOn", f"{terms.FAIR4ML}evaluatedMLModel"):
            graph.add(node, predicate, quads.link(version))
        graph.add(node, f"{terms.DCTERMS}type", quads.link(places.term("ModelQuality")))
        graph.add(node, f"{terms.PROV}wasAttributedTo", quads.link(publisher))
        _on(graph, places, node, result.get("dataset"))


def _value(graph: Graph, places: Places, node: str, name: str, value: Decimal) -> None:
    """A measured value; shares that were written as percentages become fractions."""
    if name.lower() in _SHARES and 1 < value <= 100:
        graph.add(node, places.term("reportedUnder"), quads.string("percent"))
        value = value / 100
    for predicate in (f"{terms.DQV}value", f"{terms.MLS}hasValue"):
        graph.add(node, predicate, quads.decimal(value))
    for predicate in (f"{terms.DQV}isMeasurementOf", f"{terms.MLS}specifiedBy"):
        graph.add(node, predicate, quads.link(places.metric(name)))


def _on(graph: Graph, places: Places, node: str, dataset: Any) -> None:
    if isinstance(dataset, dict):
        name = str(dataset.get("type") or dataset.get("name") or "")
        graph.add(node, places.term("split"), quads.string(dataset.get("split")))
    else:
        name = dataset if isinstance(dataset, str) else ""
    iri = quads.link(_dataset(places, name))
    graph.add(node, f"{terms.FAIR4ML}evaluationDataset", iri)


def _dataset(places: Places, name: str) -> str:
    return quads.foreign(name) or places.dataset(name)


def _texts(said: Any) -> list[str]:
    """One text or a list of them, as texts."""
    rows = said if isinstance(said, list) else [said]
    return [str(row) for row in rows if isinstance(row, str | int | float) and str(row).strip()][
        :_LISTED
    ]


def _mappings(said: Any) -> list[dict[str, Any]]:
    return [row for row in said if isinstance(row, dict)] if isinstance(said, list) else []
