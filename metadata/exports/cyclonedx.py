"""A version as a CycloneDX 1.7 machine learning bill of materials.

Carbon is in tonnes and energy in kilowatt-hours, the only units that it has. It has no place for
carbon without energy, so carbon alone becomes a property. Source: the JSON schema of CycloneDX 1.7.
"""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from typing import Any

from hub.protocol.version import __version__
from metadata.exports.sheet import DataLine, FileLine, Port, Sheet, spdx_id, stated

_SENSITIVE = {"yes": ["personal data"], "special": ["special categories of personal data"]}
_ACTIVITIES = {"Finetuning": "fine-tuning"}


def write(of: Sheet) -> bytes:
    """The bill of materials as JSON; the same facts give the same bytes and serial number."""
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "version": 1,
        "metadata": {
            "timestamp": of.modified or of.created,
            "tools": {
                "components": [
                    {"type": "application", "name": "ONNX Model Hub", "version": __version__}
                ]
            },
            "component": _component(of),
        },
    }
    content = json.dumps(document, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{of.iri} {content}")
    document["serialNumber"] = f"urn:uuid:{serial}"
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _component(of: Sheet) -> dict[str, Any]:
    return stated(
        {
            "type": "machine-learning-model",
            "bom-ref": of.iri,
            "publisher": of.publisher.name,
            "authors": [{"name": agent.name} for agent in of.creators],
            "group": of.namespace,
            "name": of.name,
            "version": str(of.number),
            "description": of.summary or of.description,
            "licenses": _licences(of),
            "tags": list(of.keywords),
            "externalReferences": [
                {"type": "website", "url": of.iri},
                {"type": "model-card", "url": f"{of.iri}/export/README.md"},
                *(
                    {"type": "digital-signature", "url": row.address, "comment": row.sentence}
                    for row in of.signatures
                ),
            ],
            "components": [_file(file) for file in of.files],
            "pedigree": _pedigree(of),
            "modelCard": _card(of),
            "properties": _properties(of),
        }
    )


def _licences(of: Sheet) -> list[dict[str, Any]]:
    if of.licence_expression:
        return [{"expression": of.licence_expression, "acknowledgement": "declared"}]
    licences = []
    for iri in of.licences:
        spdx = spdx_id(iri)
        name = {"id": spdx} if spdx else {"name": iri.rsplit("/", 1)[-1], "url": iri}
        licences.append({"license": name | {"acknowledgement": "declared"}})
    return licences


def _file(of: FileLine) -> dict[str, Any]:
    return {
        "type": "file",
        "bom-ref": of.iri,
        "name": of.path,
        "hashes": [{"alg": "SHA-256", "content": of.sha256}],
        "externalReferences": [{"type": "distribution", "url": of.iri}],
        "properties": [{"name": "onnx-hub:bytes", "value": str(of.size)}],
    }


def _pedigree(of: Sheet) -> dict[str, Any]:
    ancestors = [
        {
            "type": "machine-learning-model",
            "name": iri.split("/models/")[-1],
            "externalReferences": [{"type": "website", "url": iri}],
        }
        for iri in of.derived_from
    ]
    return {"ancestors": ancestors} if ancestors else {}


def _card(of: Sheet) -> dict[str, Any]:
    return stated(
        {
            "modelParameters": stated(
                {
                    "task": of.task,
                    "modelArchitecture": "; ".join(of.texts.get("architecture", ())),
                    "datasets": [_data(entry) for entry in of.data],
                    "inputs": [_port(port) for port in of.inputs],
                    "outputs": [_port(output) for output in of.outputs],
                }
            ),
            "quantitativeAnalysis": stated({"performanceMetrics": _scores(of)}),
            "considerations": stated(
                {
                    "useCases": list(of.texts.get("intended_use", ())),
                    "technicalLimitations": list(of.texts.get("limitations", ())),
                    "ethicalConsiderations": [{"name": text} for text in of.texts.get("bias", ())],
                    "environmentalConsiderations": _environment(of),
                }
            ),
        }
    )


def _data(of: DataLine) -> dict[str, Any]:
    return stated(
        {
            "type": "dataset",
            "name": of.name,
            "contents": {"url": of.iri},
            "sensitiveData": _SENSITIVE.get(of.personal, []),
        }
    )


def _port(of: Port) -> dict[str, str]:
    words = f"{of.kind} of {of.element}" if of.kind and of.element else of.kind or of.element
    return {"format": f"{of.name}: {words}" if words else of.name}


def _scores(of: Sheet) -> list[dict[str, str]]:
    return [
        stated(
            {
                "type": score.metric,
                "value": f"{score.value:f}",
                "slice": " ".join(part for part in (score.dataset, score.split) if part),
            }
        )
        for score in of.scores
    ]


def _environment(of: Sheet) -> dict[str, Any]:
    tonnes = None if of.carbon_kg is None else of.carbon_kg / 1000
    if of.energy_kwh is not None:
        used: dict[str, Any] = {
            "activity": _ACTIVITIES.get(of.activity, "training"),
            "energyProviders": [],
            "activityEnergyCost": {"value": _json(of.energy_kwh), "unit": "kWh"},
        }
        if tonnes is not None:
            used["co2CostEquivalent"] = {"value": _json(tonnes), "unit": "tCO2eq"}
        return {"energyConsumptions": [used]}
    if tonnes is None:
        return {}
    return {"properties": [{"name": "onnx-hub:trainingCO2eTonnes", "value": f"{tonnes:f}"}]}


def _properties(of: Sheet) -> list[dict[str, str]]:
    values = {
        "onnx-hub:opset": of.opset,
        "onnx-hub:irVersion": of.ir_version,
        "onnx-hub:parameters": "" if of.parameters is None else str(of.parameters),
        "onnx-hub:precision": " ".join(of.precisions),
        "onnx-hub:carbonMethod": of.carbon_method,
        "onnx-hub:preprocessing": "; ".join(of.texts.get("preprocessing", ())),
        "onnx-hub:postprocessing": "; ".join(of.texts.get("postprocessing", ())),
    }
    return [{"name": name, "value": value} for name, value in values.items() if value]


def _json(value: Decimal) -> float | int:
    return int(value) if value == value.to_integral_value() else float(value)
