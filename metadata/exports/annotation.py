"""What the hub writes into a model's metadata_props, so that a file alone leads back to its page.

`model_author` and `model_license` are the two keys that ONNX defines (docs/IR.md); `model_card` and
the address that it may be no more than are those of the proposal onnx/onnx#3958.
"""

from __future__ import annotations

from typing import Any

from metadata.exports import card
from metadata.exports.sheet import Sheet, spdx_id

# Bytes of front matter beyond which a file carries the head alone: a card may be much larger.
MOST_FRONT = 64_000
# Fields of the front matter that always stay.
_HEAD = ("@context", "@id", "license", "library_name", "pipeline_tag", "language", "tags")


def properties(of: Sheet, front: dict[str, Any], home: str, author: str = "") -> dict[str, str]:
    """The entries to write. ``author`` is what the file says already: an uploader knows better.

    Without creators in the card and without an author in the file there is no `model_author`; where
    no licence was given there is no `model_license`.
    """
    names = ", ".join(agent.name.replace(",", " ") for agent in of.creators)
    entries = {
        "hub_iri": of.iri,
        "model_author": names or author,
        "model_license": of.licence_expression or ", ".join(of.licence_names),
        "model_card": _card(of, front, home),
    }
    return {key: value for key, value in entries.items() if value}


def context(home: str) -> dict[str, Any]:
    """The JSON-LD context that makes the front matter of such a card RDF (YAML-LD)."""
    return {
        "@context": {
            "@version": 1.1,
            "dcterms": "http://purl.org/dc/terms/",
            "dcat": "http://www.w3.org/ns/dcat#",
            "fair4ml": "https://w3id.org/fair4ml#",
            "it6": "http://data.europa.eu/it6/",
            "hub": f"{home}/ns#",
            "license": {
                "@id": "dcterms:license",
                "@type": "@vocab",
                "@context": {"@vocab": "http://spdx.org/licenses/"},
            },
            "license_link": {"@id": "dcterms:license", "@type": "@id"},
            "pipeline_tag": {
                "@id": "fair4ml:mlTask",
                "@type": "@vocab",
                "@context": {"@vocab": f"{home}/tasks/"},
            },
            "tags": {"@id": "dcat:keyword", "@language": "und"},
            "language": "dcterms:language",
            "summary": {"@id": "it6:shortDescription", "@language": "und"},
            "intended_use": {"@id": "it6:intendedUse", "@language": "und"},
            "limitations": {"@id": "it6:limitations", "@language": "und"},
            "bias": {"@id": "it6:bias", "@language": "und"},
            "architecture": {"@id": "it6:modelArchitecture", "@language": "und"},
        }
    }


def _card(of: Sheet, front: dict[str, Any], home: str) -> str:
    """Front matter and a few words; the whole card is at the address that it names."""
    fields = {"@context": f"{home}/ns/context.jsonld", "@id": of.iri} | card.normalised(of, front)
    is_known = all(map(spdx_id, of.licences)) and not of.licence_expression
    if of.licences and is_known:  # as SPDX spells them, which is what the context makes IRIs of
        fields = {key: value for key, value in fields.items() if not key.startswith("license_")}
        fields["license"] = of.licence_names[0] if of.licence else list(of.licence_names)
    text = card.dump(fields)
    if len(text.encode()) > MOST_FRONT:
        text = card.dump({key: fields[key] for key in _HEAD if key in fields})
    body = "\n\n".join(part for part in (f"# {of.name}", of.summary) if part)
    return f"---\n{text}---\n\n{body}\n\nThe whole card: {of.iri}\n"
