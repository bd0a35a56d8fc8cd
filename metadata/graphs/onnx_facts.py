"""ONNX facts as triples, in the hub's own terms: nobody else defines any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hub.protocol.facts import DEFAULT_DOMAIN
from metadata.rdf import quads, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hub.protocol.facts import Port
    from metadata.graphs.facts import VariantFacts
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

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


def tell(graph: Graph, places: Places, subject: str, version: str, of: VariantFacts) -> None:
    """Tell the facts of one variant of ``subject``, the variant itself or its version."""
    graph.add(subject, places.term("opsetVersion"), quads.count(of.opset))
    graph.add(subject, places.term("irVersion"), quads.count(of.ir_version))
    graph.add(subject, f"{terms.IT6}totalNumberOfParameters", quads.count(of.parameters))
    _precision(graph, places, subject, of)
    for one in of.facts.operators:
        operator = places.operator(one.domain, one.name)
        graph.add(subject, places.term("usesOperator"), quads.link(operator))
    _opsets(graph, places, subject, version, of)
    for way, ports in (("in", of.facts.inputs), ("out", of.facts.outputs)):
        for port in ports:
            _port(graph, places, subject, f"{version}#{way}-{quads.part(of.name)}", way, port)
    for term, value in _image(of.facts.properties):
        graph.add(subject, places.term(term), quads.string(value))


def data_type(places: Places, name: str) -> str:
    """The IRI of a type of numbers, named after TensorProto.DataType."""
    return places.term(f"dt-{quads.part(name)}")


def _precision(graph: Graph, places: Places, subject: str, of: VariantFacts) -> None:
    graph.add(subject, places.term("precision"), quads.string(of.precision))
    if of.precision:
        mixed = quads.truth(of.precision == "mixed")
        graph.add(subject, places.term("mixedPrecision"), mixed)
    sizes = {name: size for name, size in of.facts.stored_bytes.items() if size > 0}
    total = sum(sizes.values())
    for name, size in sizes.items():
        if size >= total * _SHARE:
            kind = quads.link(data_type(places, name))
            graph.add(subject, places.term("weightDataType"), kind)
    for form in of.facts.quantisation:
        graph.add(subject, places.term("quantization"), quads.string(form))


def _opsets(graph: Graph, places: Places, subject: str, version: str, of: VariantFacts) -> None:
    for domain, number in (of.facts.opsets or {}).items():
        name = domain or DEFAULT_DOMAIN
        node = f"{version}#opset-{quads.part(of.name)}/{quads.part(name)}"
        graph.add(subject, places.term("opsetImport"), quads.link(node))
        graph.type(node, places.term("OpsetImport"))
        graph.add(node, places.term("opsetDomain"), quads.string(name))
        graph.add(node, places.term("opsetVersion"), quads.count(number))


def _port(graph: Graph, places: Places, subject: str, place: str, way: str, port: Port) -> None:
    if not port.name:
        return
    node = f"{place}/{quads.part(port.name)}"
    term = places.term("hasInput" if way == "in" else "hasOutput")
    graph.add(subject, term, quads.link(node))
    graph.type(node, places.term("Port"))
    graph.add(node, places.term("portName"), quads.string(port.name))
    graph.add(node, places.term("valueType"), quads.string(port.type.kind))
    if port.type.dtype:
        graph.add(node, places.term("elementType"), quads.link(data_type(places, port.type.dtype)))
    if port.type.shape is not None:
        shape = json.dumps(port.type.shape, separators=(",", ":"), ensure_ascii=False)
        graph.add(node, places.term("shape"), quads.string(shape))
    graph.add(node, places.term("denotation"), quads.string(port.denotation))


def _image(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, (term, known) in _IMAGE.items():
        value = properties.get(key, "").strip().lower()
        yield from ((term, word) for word in known if word.lower() == value)
