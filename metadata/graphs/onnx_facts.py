"""ONNX facts as triples, in the hub's own terms: nobody else defines any.

The facts crossed a process that had opened somebody's upload: what has another shape than expected
is left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from metadata.rdf import quads, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    for row in rows(of.facts.get("operators")):
        name = row.get("name")
        if isinstance(name, str) and name:
            operator = places.operator(str(row.get("domain", "")), name)
            graph.add(subject, places.term("usesOperator"), quads.link(operator))
    _opsets(graph, places, subject, version, of)
    for way, key in (("in", "inputs"), ("out", "outputs")):
        for row in rows(of.facts.get(key)):
            _port(graph, places, subject, f"{version}#{way}-{quads.part(of.name)}", way, row)
    for term, value in _image(of.facts.get("metadata")):
        graph.add(subject, places.term(term), quads.string(value))


def data_type(places: Places, name: str) -> str:
    """The IRI of a type of numbers, named after TensorProto.DataType."""
    return places.term(f"dt-{quads.part(name)}")


def _precision(graph: Graph, places: Places, subject: str, of: VariantFacts) -> None:
    graph.add(subject, places.term("precision"), quads.string(of.precision))
    if of.precision:
        mixed = quads.truth(of.precision == "mixed")
        graph.add(subject, places.term("mixedPrecision"), mixed)
    profile = of.facts.get("precision_profile")
    if not isinstance(profile, dict):
        return
    stored = profile.get("bytes_by_dtype")
    sizes = {
        name: size
        for name, size in (stored.items() if isinstance(stored, dict) else ())
        if isinstance(size, int) and size > 0
    }
    total = sum(sizes.values())
    for name, size in sizes.items():
        if size >= total * _SHARE:
            kind = quads.link(data_type(places, name))
            graph.add(subject, places.term("weightDataType"), kind)
    forms = profile.get("forms")
    for form in forms if isinstance(forms, list) else ():
        graph.add(subject, places.term("quantization"), quads.string(form))


def _opsets(graph: Graph, places: Places, subject: str, version: str, of: VariantFacts) -> None:
    opsets = of.facts.get("opsets")
    for domain, number in opsets.items() if isinstance(opsets, dict) else ():
        name = str(domain) or "ai.onnx"
        node = f"{version}#opset-{quads.part(of.name)}/{quads.part(name)}"
        graph.add(subject, places.term("opsetImport"), quads.link(node))
        graph.type(node, places.term("OpsetImport"))
        graph.add(node, places.term("opsetDomain"), quads.string(name))
        graph.add(node, places.term("opsetVersion"), quads.count(number))


def _port(
    graph: Graph, places: Places, subject: str, place: str, way: str, row: dict[str, Any]
) -> None:
    name = row.get("name")
    if not isinstance(name, str) or not name:
        return
    node = f"{place}/{quads.part(name)}"
    term = places.term("hasInput" if way == "in" else "hasOutput")
    graph.add(subject, term, quads.link(node))
    graph.type(node, places.term("Port"))
    graph.add(node, places.term("portName"), quads.string(name))
    graph.add(node, places.term("valueType"), quads.string(row.get("type")))
    kind = row.get("dtype")
    if isinstance(kind, str) and kind:
        graph.add(node, places.term("elementType"), quads.link(data_type(places, kind)))
    if isinstance(row.get("shape"), list):
        shape = json.dumps(row["shape"], separators=(",", ":"), ensure_ascii=False)
        graph.add(node, places.term("shape"), quads.string(shape))
    graph.add(node, places.term("denotation"), quads.string(row.get("denotation")))


def _image(metadata: Any) -> Iterator[tuple[str, str]]:
    for key, value in metadata.items() if isinstance(metadata, dict) else ():
        term, known = _IMAGE.get(str(key).lower(), ("", ()))
        for word in known:
            if word.lower() == str(value).strip().lower():
                yield term, word


def rows(found: Any) -> list[dict[str, Any]]:
    """The mappings of a list that a worker reported; none where it is no list."""
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
