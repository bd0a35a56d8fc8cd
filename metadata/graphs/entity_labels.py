"""Descriptions of the things that graphs point at: licences, formats, languages, modalities.

A licence has a graph of its own; the others are declared in the catalogue's graph.
"""

from __future__ import annotations

from hub.protocol.vocabularies import MODALITIES
from metadata.rdf import languages, terms
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places
from metadata.rdf.quads import string, words

# Ending of files -> what they are; others are of an unknown format.
FORMATS = {
    "onnx": "ONNX model",
    "data": "external weights",
    "bin": "binary data",
    "pb": "protocol buffer",
    "npz": "NumPy arrays",
    "npy": "NumPy array",
    "json": "JSON",
    "txt": "text",
    "md": "Markdown",
    "py": "Python",
    "png": "PNG picture",
    "jpg": "JPEG picture",
    "svg": "SVG picture",
    "yaml": "YAML",
    "csv": "CSV table",
    "zip": "ZIP archive",
    "unknown": "unknown format",
}
_SAME = {"yml": "yaml", "jpeg": "jpg"}


def format_of(places: Places, path: str) -> str:
    """The IRI of a file's format, judged by the ending of its name."""
    ending = path.rpartition(".")[2].lower()
    ending = _SAME.get(ending, ending)
    return places.format(ending if ending in FORMATS else "unknown")


def describe_licence(graph: Graph, name: str) -> None:
    """Describe a licence: SPDX's own id where it has one, else the name that addresses have."""
    title = string(terms.spdx_id(name)) or words(name)
    iri = graph.places.licence(name)
    graph.describe(iri, "dcterms:LicenseDocument", {"dcterms:title": title})


def describe(graph: Graph) -> None:
    """Declare what every graph may point at: a part of the catalogue's graph."""
    for iri in languages.every():
        graph.type(iri, "dcterms:LinguisticSystem")
    for ending, title in FORMATS.items():
        concept(graph, graph.places.format(ending), ending, title)
    graph.type(graph.places.expand("spdx:checksumAlgorithm_sha256"), "spdx:ChecksumAlgorithm")
    for name in MODALITIES:
        graph.type(graph.places.modality(name), "it6:Modality")
        concept(graph, graph.places.modality(name), name, name)


def concept(graph: Graph, iri: str, notation: str, title: str) -> None:
    """Describe a concept with an English title."""
    labels = {"skos:notation": string(notation), "skos:prefLabel": string(title, "en")}
    graph.describe(iri, "skos:Concept", labels)
