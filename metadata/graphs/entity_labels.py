"""Saying what the things are that graphs point at: licences, formats, languages, modalities.

A licence has a graph of its own; the others are declared in the catalogue's graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.protocol.vocabularies import MODALITIES
from metadata.rdf import languages, quads, terms
from metadata.rdf.terms import DCTERMS, IT6, SKOS, SPDX

if TYPE_CHECKING:
    from metadata.rdf.iris import Places
    from metadata.rdf.quads import Graph

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
    found = _SAME.get(ending, ending)
    return places.format(found if found in FORMATS else "unknown")


def licence(graph: Graph, places: Places, name: str) -> None:
    """Say what a licence is: SPDX's own id where it has one, else the name that addresses have."""
    iri = places.licence(name)
    graph.type(iri, f"{DCTERMS}LicenseDocument")
    known = terms.spdx_id(name)
    graph.add(iri, f"{DCTERMS}title", quads.string(known) or quads.words(name))


def tell(graph: Graph, places: Places) -> None:
    """Declare what every graph may point at: a part of the catalogue's graph."""
    for iri in languages.every():
        graph.type(iri, f"{DCTERMS}LinguisticSystem")
    for ending, title in FORMATS.items():
        _concept(graph, places.format(ending), ending, title)
    graph.type(f"{SPDX}checksumAlgorithm_sha256", f"{SPDX}ChecksumAlgorithm")
    for name in MODALITIES:
        graph.type(places.modality(name), f"{IT6}Modality")
        _concept(graph, places.modality(name), name, name)


def _concept(graph: Graph, iri: str, notation: str, title: str) -> None:
    graph.type(iri, f"{SKOS}Concept")
    graph.add(iri, f"{SKOS}notation", quads.string(notation))
    graph.add(iri, f"{SKOS}prefLabel", quads.string(title, "en"))
