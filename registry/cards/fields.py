"""The fields of a card: Hugging Face's and the hub's own, and what each may hold.

Other fields are allowed and kept; one whose name is like a known one is noted. Sources: Hugging
Face hub-docs (modelcard.md, model-cards-co2, eval_results.yaml), docs/cards.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hub.protocol import inputs, outputs, parts, stored
from hub.protocol.derivations import RELATIONS
from hub.protocol.vocabularies import TASKS, task_name
from registry.cards import emissions, origins, results, values, vocabularies
from registry.cards.findings import Notes, escaped
from registry.cards.values import (
    Check,
    date,
    doi,
    licence,
    list_of,
    mapping,
    one_of,
    text,
    usual,
    word,
)

_LOCAL_PATH = re.compile(
    r"(?:^|[\s\"'=(:,\[])(?:/(?:home|Users|root|tmp|mnt|media|private|workspace)/\S"
    r"|[A-Za-z]:\\{1,2}[A-Za-z])"
)


def _risk(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        return
    parts: dict[str, Check] = dict.fromkeys(
        ("title", "description", "severity", "probability", "mitigation"), word
    )
    mapping(parts, expected="a risk with title or description", needs=("title", "description"))(
        notes, pointer, value
    )


def _parsed(parse: Callable[[Any, Notes, str], object]) -> Check:
    """The check of a field that a parser of the protocol reads."""
    return lambda notes, pointer, value: (parse(value, notes, pointer), None)[1]


_texts = list_of(text, expected="text or a list of texts")
_precision = usual(
    {*vocabularies.PRECISIONS, *vocabularies.OTHER_PRECISIONS}, what="type of weights"
)
FIELDS: dict[str, Check] = {
    "license": list_of(licence, expected="an SPDX id such as apache-2.0"),
    "license_name": text,
    "license_link": text,
    "library_name": text,
    "pipeline_tag": usual(TASKS, what="task", spelling=task_name),
    "tags": list_of(word, expected="a list of words"),
    "language": list_of(values.language, expected="a language code or a list of them"),
    "datasets": list_of(text, expected="a list of data sets"),
    "metrics": list_of(word, expected="a list of metrics"),
    "model-index": results.model_index,
    "eval_results": list_of(results.eval_result, expected="a list of results", alone=False),
    "base_model": list_of(word, expected="a model's name or a list of names"),
    "base_model_relation": one_of(RELATIONS, what="relation to a base model"),
    "new_version": text,
    "co2_eq_emissions": emissions.carbon,
    "summary": text,
    "creators": origins.people,
    "training_data": origins.datasets,
    "validated_on": origins.datasets,
    "tested_on": origins.datasets,
    "personal_data": origins.personal,
    "precision": list_of(_precision, expected="a type such as float32"),
    "inputs": _parsed(inputs.parse),
    "outputs": _parsed(outputs.parse),
    "parts": _parsed(parts.parse),
    "preprocessing": _texts,
    "postprocessing": _texts,
    "architecture": _texts,
    "hyperparameters": mapping({}, expected="a mapping of names and values", open_=True),
    "hardware": _texts,
    "energy": emissions.energy,
    "carbon_method": _texts,
    "intended_use": _texts,
    "limitations": _texts,
    "bias": _texts,
    "risks": list_of(_risk, expected="a list of risks"),
    "citation": _texts,
    "doi": doi,
    "date": date,
}
# Of a base model's card, what is as true of a version that learned further.
INHERITED = (
    "license", "license_name", "license_link", "pipeline_tag", "tags", "language", "library_name",
    "summary", "intended_use", "limitations", "risks", "personal_data",
)  # fmt: skip
# Hugging Face's own, kept as they are: they steer its pages, not this hub's.
_PLAIN = """
    annotations_creators arxiv extra_gated_button_content
    extra_gated_description extra_gated_eu_disallowed extra_gated_fields extra_gated_heading
    extra_gated_prompt inference inference_parameters instance_prompt mask_token model_creator
    model_name model_type modelscope pretty_name quantized_by thumbnail title viewer widget
"""
PLAIN = frozenset(_PLAIN.split())
# What people write -> the field they mean.
MEANT = {
    "author": "creators",
    "authors": "creators",
    "carbon": "co2_eq_emissions",
    "co2": "co2_eq_emissions",
    "co2_emissions": "co2_eq_emissions",
    "creator": "creators",
    "dataset": "datasets",
    "emissions": "co2_eq_emissions",
    "keywords": "tags",
    "languages": "language",
    "library": "library_name",
    "licence": "license",
    "licenses": "license",
    "model_index": "model-index",
    "orcid": "creators",
    "task": "pipeline_tag",
    "training_datasets": "training_data",
}


def check(notes: Notes, front: dict[str, Any]) -> None:
    """Note everything that is wrong with the values of a front matter."""
    for name, value in front.items():
        pointer = f"/{escaped(name)}"
        if name in FIELDS:
            if value is not None:
                FIELDS[name](notes, pointer, value)
        elif name not in PLAIN:
            _unknown(notes, pointer, name, front)
    _together(notes, front)
    results.scales(notes, front)
    _paths(notes, "", front)


def _unknown(notes: Notes, pointer: str, name: str, front: dict[str, Any]) -> None:
    meant = MEANT.get(name.lower()) or notes.guess(name, FIELDS, 0.82)
    if meant and meant not in front:
        notes.warn(
            pointer,
            f"{name[:60]} is not a known field; it is kept unchanged.",
            f"{name} -> {meant}.",
        )


def _together(notes: Notes, front: dict[str, Any]) -> None:
    """What several fields say with one another."""
    if str(front.get("license")).lower() == "other" and not front.get("license_name"):
        notes.warn(
            "/license",
            "The value other does not name a licence.",
            "Add license_name, and license_link with the address of its text.",
        )
    if front.get("base_model_relation") and not front.get("base_model"):
        notes.warn("/base_model_relation", "base_model is missing.", "Name the model it came from.")
    carbon = front.get("co2_eq_emissions")
    grams = carbon.get("emissions") if isinstance(carbon, dict) else carbon
    if not stored.is_number(grams) or grams <= 0:
        return
    pointer = "/co2_eq_emissions" + ("/emissions" if isinstance(carbon, dict) else "")
    emissions.suspect(notes, pointer, grams, front.get("energy"))
    source = carbon.get("source") if isinstance(carbon, dict) else None
    if not source and not front.get("carbon_method"):
        notes.warn(
            pointer,
            "The number has no method.",
            "State in source or carbon_method how it was determined.",
        )


def _paths(notes: Notes, pointer: str, value: Any) -> None:
    """Warn of local paths of the author's machine anywhere in the values."""
    if isinstance(value, str):
        if _LOCAL_PATH.search(value[:20_000]):
            notes.warn(
                pointer,
                "It contains a path of the machine it was created on.",
                "Remove it: a published card cannot be changed.",
            )
        return
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str | dict | list):
            _paths(notes, f"{pointer}/{escaped(name)}", item)
