"""A version as an SPDX 3.0.1 document of the AI profile, in JSON-LD.

SPDX 3 knows energy and no carbon, so no carbon is stated. Where the card does not state what the
profile wants, its own words for that are used: noAssertion, or no statement. Source: the SPDX
3.0.1 model (Core, Software, SimpleLicensing, AI, Dataset).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from metadata.exports.sheet import DataLine, FileLine, Sheet, SignatureLine, spdx_id, stated

CONTEXT = "https://spdx.org/rdf/3.0.1/spdx-context.jsonld"
_INFO = "_:creation"
_NONE, _NO_ASSERTION = "expandedlicensing_NoneLicense", "expandedlicensing_NoAssertionLicense"


def write(of: Sheet) -> bytes:
    """The document as JSON-LD."""
    part = f"{of.iri}#spdx-"
    supplier = {
        "type": "Agent",
        "spdxId": of.publisher.iri or f"{part}publisher",
        "creationInfo": _INFO,
        "name": of.publisher.name or of.namespace,
    }
    hub = {
        "type": "SoftwareAgent",
        "spdxId": f"{part}hub",
        "creationInfo": _INFO,
        "name": "ONNX Model Hub",
    }
    licences = _licences(of, part)
    files = [_file(file) for file in of.files]
    data = [_data(entry, part, place) for place, entry in enumerate(of.data, start=1)]
    package = _package(of, supplier["spdxId"])
    links = list(_links(of, part, licences, files, data))
    elements = [supplier, hub, package, *licences, *files, *data, *links]
    document = {
        "type": "SpdxDocument",
        "spdxId": f"{part}document",
        "creationInfo": _INFO,
        "name": of.ref,
        "profileConformance": ["core", "software", "simpleLicensing", "ai"],
        "rootElement": [of.iri],
        "element": [element["spdxId"] for element in elements],
    }
    info = {
        "type": "CreationInfo",
        "@id": _INFO,
        "specVersion": "3.0.1",
        "created": _seconds(of.modified or of.created),
        "createdBy": [hub["spdxId"]],
    }
    graph = [info, document, *elements]
    content = {"@context": CONTEXT, "@graph": graph}
    return json.dumps(content, indent=2, ensure_ascii=False).encode()


def _package(of: Sheet, supplier: str) -> dict[str, Any]:
    return stated(
        {
            "type": "ai_AIPackage",
            "spdxId": of.iri,
            "creationInfo": _INFO,
            "name": of.ref.rpartition("@")[0],
            "summary": of.summary,
            "description": of.description,
            "suppliedBy": supplier,
            "externalRef": [_signature(row) for row in of.signatures],
            "originatedBy": [],
            "releaseTime": _seconds(of.published),
            "software_packageVersion": str(of.number),
            "software_primaryPurpose": "model",
            "software_downloadLocation": of.files[0].iri if len(of.files) == 1 else of.iri,
            "software_homePage": of.iri,
            "ai_domain": [of.task] if of.task else [],
            "ai_typeOfModel": list(of.texts.get("architecture", ())),
            "ai_informationAboutApplication": "\n".join(of.texts.get("intended_use", ())),
            "ai_informationAboutTraining": _training(of),
            "ai_limitation": "\n".join(
                [*of.texts.get("limitations", ()), *of.texts.get("bias", ())]
            ),
            "ai_modelDataPreprocessing": list(of.texts.get("preprocessing", ())),
            "ai_metric": [_entry(*pair) for pair in _metrics(of)],
            "ai_useSensitivePersonalInformation": _sensitive(of.data),
            "ai_energyConsumption": _energy(of),
        }
    )


def _signature(of: SignatureLine) -> dict[str, Any]:
    return {
        "type": "ExternalRef",
        "externalRefType": "securityOther",
        "locator": [of.address],
        "contentType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "comment": of.sentence,
    }


def _training(of: Sheet) -> str:
    return f"Made by {of.activity.lower()}." if of.activity else ""


def _metrics(of: Sheet) -> Iterable[tuple[str, str]]:
    """Each value once; the key names data set and split, as one metric may have several values."""
    for score in of.scores:
        where = " ".join(part for part in (score.dataset, score.split) if part)
        yield f"{score.metric} on {where}" if where else score.metric, f"{score.value:f}"


def _entry(key: str, value: str) -> dict[str, str]:
    return {"type": "DictionaryEntry", "key": key, "value": value}


def _sensitive(data: Iterable[DataLine]) -> str:
    """Sensitive data are the special categories; ordinary personal data assert nothing of them."""
    statuses = {entry.personal for entry in data}
    if "special" in statuses:
        return "yes"
    return "no" if statuses == {"no"} else "noAssertion"


def _energy(of: Sheet) -> dict[str, Any]:
    if of.energy_kwh is None:
        return {}
    kind = "ai_finetuningEnergyConsumption" if of.activity == "Finetuning" else ""
    used = {
        "type": "ai_EnergyConsumptionDescription",
        "ai_energyQuantity": float(of.energy_kwh),
        "ai_energyUnit": "kilowattHour",
    }
    return {"type": "ai_EnergyConsumption", kind or "ai_trainingEnergyConsumption": [used]}


def _file(of: FileLine) -> dict[str, Any]:
    return {
        "type": "software_File",
        "spdxId": of.iri,
        "creationInfo": _INFO,
        "name": of.path,
        "verifiedUsing": [{"type": "Hash", "algorithm": "sha256", "hashValue": of.sha256}],
    }


def _data(of: DataLine, part: str, place: int) -> dict[str, Any]:
    return stated(
        {
            "type": "dataset_DatasetPackage",
            # The data set's own IRI is another's to describe, and may be named twice.
            "spdxId": f"{part}data-{place}",
            "creationInfo": _INFO,
            "name": of.name,
            "software_primaryPurpose": "data",
            "dataset_datasetType": ["noAssertion"],
            "dataset_hasSensitivePersonalInformation": _sensitive([of]),
            "externalRef": [
                {"type": "ExternalRef", "externalRefType": "altWebPage", "locator": [of.iri]}
            ],
        }
    )


def _licences(of: Sheet, part: str) -> list[dict[str, Any]]:
    """An element for each licence, or one for the choice among them."""
    if of.licence_expression:
        return [_licence(f"{part}licence", of.licence_expression)]
    elements = []
    for index, iri in enumerate(of.licences, start=1):
        custom = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", iri.rsplit("/", 1)[-1])
        number = "" if len(of.licences) == 1 else f"-{index}"
        element = _licence(f"{part}licence{number}", spdx_id(iri) or custom)
        if not spdx_id(iri):
            element["simplelicensing_customIdToUri"] = [_entry(custom, iri)]
        elements.append(element)
    return elements


def _licence(iri: str, expression: str) -> dict[str, Any]:
    return {
        "type": "simplelicensing_LicenseExpression",
        "spdxId": iri,
        "creationInfo": _INFO,
        "simplelicensing_licenseExpression": expression,
    }


def _links(
    of: Sheet,
    part: str,
    licences: list[dict[str, Any]],
    files: list[dict[str, Any]],
    data: list[dict[str, Any]],
) -> Iterable[dict[str, Any]]:
    pairs = {
        "contains": [file["spdxId"] for file in files],
        "hasDeclaredLicense": [licence["spdxId"] for licence in licences] or [_NONE],
        # The hub looks at no text of a licence, so it concludes nothing.
        "hasConcludedLicense": [_NO_ASSERTION],
        "trainedOn": [entry["spdxId"] for entry in data],
    }
    for kind, targets in pairs.items():
        if targets:
            yield {
                "type": "Relationship",
                "spdxId": f"{part}{kind}",
                "creationInfo": _INFO,
                "relationshipType": kind,
                "from": of.iri,
                "to": targets,
            }


def _seconds(moment: str) -> str:
    """A point in time as SPDX writes it: UTC, whole seconds."""
    return re.sub(r"\.[0-9]+Z$", "Z", moment)
