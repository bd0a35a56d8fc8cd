"""The fields of a card: Hugging Face's and the hub's own, and what each may hold.

Other fields are allowed and kept; one whose name is like a known one is noted. Sources: Hugging
Face hub-docs (modelcard.md, model-cards-co2, eval_results.yaml), docs/cards.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from registry.authoring import values, vocabularies
from registry.authoring.findings import escaped
from registry.authoring.values import (
    anything,
    chosen,
    date,
    doi,
    iri,
    licence,
    listed,
    mapping,
    number,
    text,
    usual,
    word,
)

if TYPE_CHECKING:
    from registry.authoring.findings import Notes
    from registry.authoring.values import Check

# The carbon of a kilowatt-hour: the cleanest and the dirtiest grids lie well inside.
LEAST_G_PER_KWH, MOST_G_PER_KWH = 1.0, 2000.0
_PERSONAL_PARTS: dict[str, Check] = {
    "categories": listed(text, wanted="a list of categories"),
    "legal_basis": text,
    "note": text,
}
_LOCAL_PATH = re.compile(
    r"(?:^|[\s\"'=(:,\[])(?:/(?:home|Users|root|tmp|mnt|media|private|workspace)/\S"
    r"|[A-Za-z]:\\{1,2}[A-Za-z])"
)


def _status(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, bool):
        said = "yes" if value else "no"
        notes.warn(
            pointer, f"YAML reads {said} as {str(value).lower()}.", f'Write "{said}" in quotes.'
        )
        return
    # What is meant by another word is for nobody to guess: it is about people.
    status = chosen(vocabularies.PERSONAL, what="status of personal data", guess=False)
    status(notes, pointer, value)


def personal(notes: Notes, pointer: str, value: Any) -> None:
    """Whether data are about people: a word, or a mapping with the word as its status."""
    if not isinstance(value, dict):
        _status(notes, pointer, value)
        return
    parts: dict[str, Check] = {"status": _status, **_PERSONAL_PARTS}
    if value.get("status") is None:
        notes.error(pointer, "It has no status.", "Write yes, no, anonymised or unknown.")
    mapping(parts, wanted="a word or a mapping")(notes, pointer, value)
    if value.get("status") in ("yes", True) and not value.get("legal_basis"):
        notes.warn(pointer, "It has no legal_basis.", "Say on what ground the data are processed.")


_PERSON: dict[str, Check] = {
    "name": text,
    "orcid": values.orcid,
    "ror": values.ror,
    "affiliation": text,
    "url": iri,
    "email": text,
}


def person(notes: Notes, pointer: str, value: Any) -> None:
    """A person or organisation: a name, or a mapping with it."""
    if isinstance(value, str):
        return
    wanted = "a name or a mapping with one"
    mapping(_PERSON, wanted=wanted, needs=("name", "orcid", "ror"))(notes, pointer, value)
    if isinstance(value, dict) and value.get("email"):
        notes.warn(
            f"{pointer}/email",
            "What is published stays, this address too.",
            "Give an ORCID iD instead.",
        )


_people = listed(person, wanted="a list of people")
_DATASET: dict[str, Check] = {
    "name": text,
    "iri": iri,
    "url": iri,
    "doi": doi,
    "license": licence,
    "creators": _people,
    "source": text,
    "version": word,
    "rows": number(whole=True),
    "split": text,
    "collected": date,
    "personal_data": personal,
    "categories": _PERSONAL_PARTS["categories"],
    "legal_basis": text,
    "note": text,
}


def dataset(notes: Notes, pointer: str, value: Any) -> None:
    """A data set: its name or IRI, or a mapping with one of them."""
    if isinstance(value, str):
        return
    wanted = "a data set, with name or iri"
    mapping(_DATASET, wanted=wanted, needs=("name", "iri"))(notes, pointer, value)


_datasets = listed(dataset, wanted="a list of data sets", alone=False)


def metric_value(notes: Notes, pointer: str, value: Any, name: str) -> None:
    """A measured value: finite; a share is a fraction, or clearly a percentage."""
    if isinstance(value, str):
        notes.warn(
            pointer,
            f"{value[:60]!r} is text and cannot be compared.",
            values.bare_number(value),
        )
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        notes.error(
            pointer,
            f"This must be a number and is {values.kind(value)}.",
            "Write what was measured.",
        )
        return
    if name.strip().lower().replace(" ", "_") not in vocabularies.SHARES:
        return
    if value < 0 or value > 100:
        notes.error(
            pointer, f"{name} is a share; {value:g} cannot be.", "Write a fraction from 0 to 1."
        )
    elif value > 1:
        notes.warn(
            pointer,
            f"{value:g} is taken for per cent.",
            f"Write the fraction {value / 100:.6g}; if {value:g} is no percentage, correct it.",
        )


def _measured(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "type": text,
        "name": text,
        "config": anything,
        "args": anything,
        "value": anything,
        "verified": anything,
        "verifyToken": anything,
    }
    mapping(parts, wanted="a metric with type and value", needs=("type", "name"))(
        notes, pointer, value
    )
    if not isinstance(value, dict):
        return
    if value.get("value") is None:
        notes.error(pointer, "The metric has no value.", "Give what was measured, or remove it.")
    else:
        name = str(value.get("type") or value.get("name") or "")
        metric_value(notes, f"{pointer}/value", value["value"], name)
    _tokens(notes, pointer, value)


def _tokens(notes: Notes, pointer: str, value: dict[str, Any]) -> None:
    for name in ("verifyToken", "verified"):
        if value.get(name):
            notes.warn(
                f"{pointer}/{name}",
                "It is kept, and proves nothing here.",
                "What the hub measures itself stands beside the card.",
            )


def _evaluated_on(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        return
    parts: dict[str, Check] = {
        "type": text,
        "name": text,
        "config": anything,
        "split": text,
        "revision": word,
        "args": anything,
    }
    mapping(parts, wanted="a data set with type and name")(notes, pointer, value)


_RESULT: dict[str, Check] = {
    "task": mapping({"type": text, "name": text}, wanted="a task with a type"),
    "dataset": _evaluated_on,
    "metrics": listed(_measured, wanted="a list of metrics", alone=False),
    "source": mapping({"name": text, "url": iri}, wanted="a source with name and url"),
}
_model_index = listed(
    mapping(
        {
            "name": text,
            "results": listed(
                mapping(_RESULT, wanted="a result with dataset and metrics"),
                wanted="a list of results",
                alone=False,
            ),
        },
        wanted="a model with its results",
        needs=("results",),
    ),
    wanted="a list of results",
    alone=False,
)


def _eval_result(notes: Notes, pointer: str, value: Any) -> None:
    parts: dict[str, Check] = {
        "dataset": mapping(
            {"id": text, "task_id": text, "revision": word}, wanted="a data set with id and task_id"
        ),
        "value": anything,
        "metric": text,
        "date": date,
        "source": mapping({"url": iri, "name": text, "user": text}, wanted="a source with url"),
        "notes": text,
        "verifyToken": anything,
    }
    mapping(parts, wanted="a result with dataset and value")(notes, pointer, value)
    if isinstance(value, dict):
        if value.get("value") is None:
            notes.error(pointer, "The result has no value.", "Give what was measured.")
        else:
            metric_value(notes, f"{pointer}/value", value["value"], str(value.get("metric", "")))
        _tokens(notes, pointer, value)


def _carbon(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, dict):
        parts: dict[str, Check] = {
            "emissions": _grams,
            "source": text,
            "training_type": text,
            "geographical_location": text,
            "hardware_used": text,
        }
        mapping(parts, wanted="grams, or a mapping with emissions")(notes, pointer, value)
    else:
        _grams(notes, pointer, value)


_UNITS = {"mg": 0.001, "g": 1, "kg": 1000, "t": 1_000_000}


def _grams(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        said = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(mg|kg|g|t)\b", value)
        cure = "Write grams, digits alone; leave it out if it was not measured."
        if said:
            grams = float(said.group(1)) * _UNITS[said.group(2)]
            cure = f"Write grams, digits alone: {grams:.10g}."
        notes.error(pointer, f"{value[:60]!r} is text; emissions are a number in grams.", cure)
        return
    number(unit="grams")(notes, pointer, value)


_ENERGY: dict[str, Check] = {
    "kwh": number(unit="kWh"),
    "cpu_kwh": number(unit="kWh"),
    "gpu_kwh": number(unit="kWh"),
    "ram_kwh": number(unit="kWh"),
    "hours": number(unit="hours"),
    "location": text,
    "method": text,
}


def _energy(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, dict):
        mapping(_ENERGY, wanted="kilowatt-hours, or a mapping with kwh")(notes, pointer, value)
    else:
        number(unit="kWh")(notes, pointer, value)


def _risk(notes: Notes, pointer: str, value: Any) -> None:
    if isinstance(value, str):
        return
    parts: dict[str, Check] = dict.fromkeys(
        ("title", "description", "severity", "probability", "mitigation"), word
    )
    mapping(parts, wanted="a risk with title or description", needs=("title", "description"))(
        notes, pointer, value
    )


_texts = listed(text, wanted="text or a list of texts")
_precision = usual(
    {*vocabularies.PRECISIONS, *vocabularies.OTHER_PRECISIONS}, what="type of weights"
)
FIELDS: dict[str, Check] = {
    "license": listed(licence, wanted="an SPDX id such as apache-2.0"),
    "license_name": text,
    "license_link": text,
    "library_name": text,
    "pipeline_tag": usual(vocabularies.TASKS, what="task"),
    "tags": listed(word, wanted="a list of words"),
    "language": listed(values.language, wanted="a language code or a list of them"),
    "datasets": listed(text, wanted="a list of data sets"),
    "metrics": listed(word, wanted="a list of metrics"),
    "model-index": _model_index,
    "eval_results": listed(_eval_result, wanted="a list of results", alone=False),
    "base_model": listed(word, wanted="a model's name or a list of names"),
    "base_model_relation": chosen(vocabularies.RELATIONS, what="relation to a base model"),
    "new_version": text,
    "co2_eq_emissions": _carbon,
    "summary": text,
    "creators": _people,
    "training_data": _datasets,
    "validated_on": _datasets,
    "tested_on": _datasets,
    "personal_data": personal,
    "precision": listed(_precision, wanted="a type such as float32"),
    "preprocessing": _texts,
    "postprocessing": _texts,
    "architecture": _texts,
    "hyperparameters": mapping({}, wanted="a mapping of names and values", open_=True),
    "hardware": _texts,
    "energy": _energy,
    "carbon_method": _texts,
    "intended_use": _texts,
    "limitations": _texts,
    "bias": _texts,
    "risks": listed(_risk, wanted="a list of risks"),
    "citation": _texts,
    "doi": doi,
    "date": date,
}
# Hugging Face's own, kept as they are: they steer its pages, not this hub's.
_KEPT = """
    annotations_creators arxiv extra_gated_button_content
    extra_gated_description extra_gated_eu_disallowed extra_gated_fields extra_gated_heading
    extra_gated_prompt inference inference_parameters instance_prompt mask_token model_creator
    model_name model_type modelscope pretty_name quantized_by thumbnail title viewer widget
"""
KEPT = frozenset(_KEPT.split())
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
        elif name not in KEPT:
            _unknown(notes, pointer, name, front)
    _together(notes, front)
    _paths(notes, "", front)


def _unknown(notes: Notes, pointer: str, name: str, front: dict[str, Any]) -> None:
    meant = MEANT.get(name.lower()) or vocabularies.near(name, FIELDS, 0.82)
    if meant and meant not in front:
        notes.warn(
            pointer,
            f"{name[:60]} is no field that programs know; it is kept as it is.",
            f"{name} -> {meant}.",
        )


def _together(notes: Notes, front: dict[str, Any]) -> None:
    """What several fields say with one another."""
    if str(front.get("license")).lower() == "other" and not front.get("license_name"):
        notes.warn(
            "/license", "other names no licence.", "Add license_name, and license_link to its text."
        )
    if front.get("base_model_relation") and not front.get("base_model"):
        notes.warn("/base_model_relation", "It has no base_model.", "Name the model it came from.")
    carbon = front.get("co2_eq_emissions")
    grams = carbon.get("emissions") if isinstance(carbon, dict) else carbon
    if isinstance(grams, bool) or not isinstance(grams, int | float) or grams <= 0:
        return
    pointer = "/co2_eq_emissions" + ("/emissions" if isinstance(carbon, dict) else "")
    _suspicious(notes, pointer, grams, front.get("energy"))
    source = carbon.get("source") if isinstance(carbon, dict) else None
    if not source and not front.get("carbon_method"):
        notes.warn(
            pointer, "The number has no method.", "Say in source or carbon_method how it was got."
        )


def _suspicious(notes: Notes, pointer: str, grams: float, energy: Any) -> None:
    """Warn of a number that is probably in another unit than grams."""
    kwh = energy.get("kwh") if isinstance(energy, dict) else energy
    if isinstance(kwh, int | float) and not isinstance(kwh, bool) and kwh > 0:
        rate = grams / kwh
        if rate < LEAST_G_PER_KWH:
            _kilograms(notes, pointer, grams, f"{rate:.3g} g for each kWh is less than any grid")
        elif rate > MOST_G_PER_KWH:
            notes.warn(
                pointer,
                f"{rate:.3g} g for each kWh is more than any grid emits.",
                "Check both units: emissions are grams, energy is kWh.",
            )
    elif grams < 1:
        _kilograms(notes, pointer, grams, "less than one gram for a training is rare")


def _kilograms(notes: Notes, pointer: str, grams: float, why: str) -> None:
    notes.warn(
        pointer,
        f"{grams:g} looks like kilograms: {why}.",
        f"Emissions are grams; CodeCarbon writes kilograms. If so, write {grams * 1000:g}.",
    )


def _paths(notes: Notes, pointer: str, value: Any) -> None:
    """Warn of folders of somebody's own machine anywhere in the values."""
    if isinstance(value, str):
        if _LOCAL_PATH.search(value[:20_000]):
            notes.warn(
                pointer,
                "It tells a folder of the machine it was made on.",
                "Leave it out: a published card stays.",
            )
        return
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str | dict | list):
            _paths(notes, f"{pointer}/{escaped(name)}", item)
