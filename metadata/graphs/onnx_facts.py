"""ONNX facts as triples, in the hub's own terms: no other vocabulary defines any."""

from __future__ import annotations

import json

from hub.protocol.facts import DEFAULT_DOMAIN, Port
from metadata.graphs.facts import VariantFacts
from metadata.rdf.graph import Graph
from metadata.rdf.quads import count, link, part, string, truth
from metadata.rdf.terms import DATA_TYPE

# Types of less than this share of the weights' bytes are shapes and constants.
_SHARE = 0.01
# Keys and values of onnx docs/MetadataProps.md, which are compared without case.
_IMAGE = {
    "image.bitmappixelformat": (
        "bitmapPixelFormat",
        ("Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8"),
    ),
    "image.colorspacegamma": ("colorSpaceGamma", ("Linear", "SRGB")),
    "image.nominalpixelrange": (
        "nominalPixelRange",
        ("NominalRange_0_255", "Normalized_0_1", "Normalized_1_1", "NominalRange_16_235"),
    ),
}


def describe(graph: Graph, subject: str, version: str, of: VariantFacts) -> None:
    """State the facts of one variant of ``subject``, the variant itself or its version."""
    sizes = {name: size for name, size in of.facts.stored_bytes.items() if size > 0}
    least = sum(sizes.values()) * _SHARE
    graph.state(
        subject,
        {
            "hub:opsetVersion": count(of.opset),
            "hub:irVersion": count(of.ir_version),
            "it6:totalNumberOfParameters": count(of.parameters),
            "hub:macs": count(of.macs),
            "hub:memoryBytes": count(of.memory_bytes),
            "hub:precision": string(of.precision),
            "hub:mixedPrecision": truth(of.precision == "mixed") if of.precision else "",
            "hub:weightDataType": [
                data_type(graph, name) for name, size in sizes.items() if size >= least
            ],
            "hub:quantization": map(string, of.facts.quantisation),
            "hub:usesOperator": [
                link(graph.places.operator(operator.domain, operator.name))
                for operator in of.facts.operators
            ],
        },
    )
    for domain, number in (of.facts.opsets or {}).items():
        name = domain or DEFAULT_DOMAIN
        node = f"{version}#opset-{part(of.name)}/{part(name)}"
        graph.add(subject, "hub:opsetImport", link(node))
        facts = {"hub:opsetDomain": string(name), "hub:opsetVersion": count(number)}
        graph.describe(node, "hub:OpsetImport", facts)
    for way, term, ports in (
        ("in", "hub:hasInput", of.facts.inputs),
        ("out", "hub:hasOutput", of.facts.outputs),
    ):
        for port in ports:
            if port.name:
                node = f"{version}#{way}-{part(of.name)}/{part(port.name)}"
                graph.add(subject, term, link(node))
                _port(graph, node, port)
    for key, (name, words) in _IMAGE.items():
        value = of.facts.properties.get(key, "").strip().lower()
        spelt = [word for word in words if word.lower() == value]
        graph.add(subject, f"hub:{name}", *map(string, spelt))


def data_type(graph: Graph, name: str) -> str:
    """The term of a type of numbers, named after TensorProto.DataType."""
    return graph.term(f"hub:{DATA_TYPE}{part(name)}")


def _port(graph: Graph, node: str, port: Port) -> None:
    shape = port.type.shape
    text = json.dumps(shape, separators=(",", ":"), ensure_ascii=False)
    graph.describe(
        node,
        "hub:Port",
        {
            "hub:portName": string(port.name),
            "hub:valueType": string(port.type.kind),
            "hub:elementType": data_type(graph, port.type.dtype) if port.type.dtype else "",
            "hub:shape": "" if shape is None else string(text),
            "hub:denotation": string(port.denotation),
        },
    )
