"""Croissant JSON-LD (MLCommons, 1.0 and 1.1) of a data set: an entry of ``training_data``.

The document is read as JSON with its usual prefixes; no context is ever fetched. What its
responsible-AI fields say of people is passed on as a hint: whether the data are personal is for
someone to decide who knows them.
"""

from __future__ import annotations

import re
from typing import Any

from registry.cards.imports.files import Proposal, json_of, refused, rows, words

KIND = "Croissant data set"
_PREFIX = re.compile(
    r"^(?:sc|schema|cr|rai|dct|dcterms|prov):|^https?://(?:schema\.org|mlcommons\.org/croissant)/"
)
_HINTS = ("personalSensitiveInformation", "dataSocialImpact", "dataCollectionType")
_SPDX = re.compile(r"https?://(?:www\.)?spdx\.org/licenses/([A-Za-z0-9.+-]+?)(?:\.html|\.json)?/?")
_CC = re.compile(r"https?://creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/([0-9.]+)")


def read(text: str) -> Proposal:
    """Name, IRI, licence and creators of the data set, with hints on personal data."""
    node = _bare(_dataset(json_of(text, KIND)))
    name = words(_value(node.get("name")), 300)
    iri = _iri(node)
    if not name and not iri:
        raise refused(KIND, "its data set has neither name nor url.")
    notes = ["Only the file itself was read; nothing was downloaded."]
    entry: dict[str, Any] = {"name": name} if name else {}
    if iri:
        entry["iri"] = iri
    licences = [licence for row in rows(node.get("license")) if (licence := _licence(row))]
    if licences:
        entry["license"] = licences if len(licences) > 1 else licences[0]
    people = [who for row in rows(node.get("creator")) if (who := _person(row))]
    if people:
        entry["creators"] = people
    if version := words(_value(node.get("version")), 50):
        entry["version"] = version
    entry["personal_data"] = _personal(node, notes)
    return Proposal("croissant", {"training_data": [entry]}, notes)


def _dataset(document: Any) -> dict[str, Any]:
    """The data set among the document's nodes; raises InvalidRequest."""
    nodes = rows(document)
    nodes += [node for top in nodes if isinstance(top, dict) for node in rows(top.get("@graph"))]
    for node in nodes:
        kinds = rows(node.get("@type")) if isinstance(node, dict) else []
        if any(isinstance(kind, str) and _PREFIX.sub("", kind) == "Dataset" for kind in kinds):
            return dict(node)
    raise refused(KIND, "it contains no node of @type sc:Dataset.")


def _bare(node: dict[str, Any]) -> dict[str, Any]:
    """The node with its keys' usual prefixes taken off."""
    return {_PREFIX.sub("", key): value for key, value in node.items()}


def _value(value: Any) -> Any:
    """The value of JSON-LD's long form, or of a list's first entry."""
    first = rows(value)[0] if rows(value) else None
    return first.get("@value", first.get("name")) if isinstance(first, dict) else first


def _iri(node: dict[str, Any]) -> str:
    identifiers = [node.get("identifier"), node.get("url"), node.get("sameAs"), node.get("@id")]
    addresses = [words(row, 500) for value in identifiers for row in rows(value)]
    addresses = [
        f"https://doi.org/{address}" if address.startswith("10.") else address
        for address in addresses
    ]
    good = [
        address for address in addresses if re.fullmatch(r"https?://[^\s<>\"{}|\\^`]+", address)
    ]
    dois = [address for address in good if "doi.org/" in address]
    return (dois or good or [""])[0]


def _licence(row: Any) -> str:
    if isinstance(row, dict):
        row = row.get("url") or row.get("@id") or row.get("name")
    text = words(row, 200)
    if match := _SPDX.fullmatch(text):
        return match.group(1)
    if match := _CC.match(text):
        if match.group(1) == "publicdomain":
            return f"CC0-{match.group(3)}" if match.group(2) == "zero" else text
        return f"CC-{match.group(2).upper()}-{match.group(3)}"
    return text


def _person(row: Any) -> str:
    return words(_bare(row).get("name") if isinstance(row, dict) else row, 200)


def _personal(node: dict[str, Any], notes: list[str]) -> Any:
    hints = {
        name: "; ".join(filter(None, (words(_value(row), 300) for row in rows(node.get(name)))))
        for name in _HINTS
    }
    personal = hints["personalSensitiveInformation"]
    if not personal:
        notes.append("The file does not mention personal data; the status stays unknown.")
        return "unknown"
    notes.append(
        "The file's statement about personal data is only a hint. Decide, then write yes or no."
    )
    return {
        "status": "unknown",
        "note": f"Hint from the data set's own description (RAI): {words(personal, 600)}",
    }
