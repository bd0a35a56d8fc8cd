"""A card as Hugging Face reads it: the publisher's words under front matter in its spelling.

Source: Hugging Face hub-docs, modelcard.md and its list of licences. Fields that it does not know
are kept, as it keeps them; nothing is added but the library, and the licence that the model has.
"""

from __future__ import annotations

from typing import Any

import yaml

from hub.protocol.vocabularies import LICENCE_OF
from metadata.exports.sheet import Sheet
from registry.cards import source

# SPDX ids that Hugging Face spells in its own way; others are the id in lower case.
_SPELLED = {
    "C-UDA-1.0": "c-uda",
    "GFDL-1.3": "gfdl",
    "ODC-By-1.0": "odc-by",
    "ODbL-1.0": "odbl",
    "PDDL-1.0": "pddl",
}
_LISTS = ("datasets", "language", "metrics", "tags")
_FIRST = (
    "license",
    "license_name",
    "license_link",
    "library_name",
    "pipeline_tag",
    "language",
    "tags",
    "base_model",
    "base_model_relation",
    "datasets",
    "metrics",
)


def write(of: Sheet, front: dict[str, Any], body: str) -> bytes:
    """The card as README.md: front matter in a fixed order, then the publisher's text."""
    return f"---\n{dump(normalised(of, front))}---\n\n{body.strip()}\n".encode()


def normalised(of: Sheet, front: dict[str, Any]) -> dict[str, Any]:
    """The fields of a card in Hugging Face's spelling and shapes."""
    fields = {name: value for name, value in front.items() if value not in (None, "", [], {})}
    fields |= _licence(of, fields)
    fields.setdefault("library_name", "onnx")
    if of.task:
        fields.setdefault("pipeline_tag", of.task)
    if of.keywords:
        fields.setdefault("tags", list(of.keywords))
    for name in _LISTS:
        if name in fields and not isinstance(fields[name], list):
            fields[name] = [fields[name]]
    ordered = [name for name in _FIRST if name in fields]
    return {
        name: fields[name] for name in [*ordered, *(name for name in fields if name not in _FIRST)]
    }


def dump(front: dict[str, Any]) -> str:
    """Front matter as YAML, without anchors, in the order given."""
    return yaml.dump(front, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100)


@source.with_exponents
class _Plain(yaml.SafeDumper):
    """Writes what is there twice two times: no reader of cards knows aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _licence(of: Sheet, front: dict[str, Any]) -> dict[str, Any]:
    """The licences by ids that Hugging Face has; a single other one is `other` with its name.

    A choice among licences, and several of which it lacks one, stay as they are written.
    """
    if not of.licences or of.licence_expression:
        return {}
    spellings = [_SPELLED.get(name, name.lower()) for name in of.licence_names]
    if all(spelling in LICENCE_OF for spelling in spellings):
        return {"license": spellings if len(spellings) > 1 else spellings[0]}
    if len(spellings) > 1:
        return {} if "license" in front else {"license": list(of.licence_names)}
    fields = {"license": "other", "license_name": of.licence_names[0]}
    if of.licence_id:
        return fields | {"license_link": f"https://spdx.org/licenses/{of.licence_id}.html"}
    return fields | {
        name: front[name] for name in ("license_name", "license_link") if name in front
    }
