"""Saying what the things are that graphs point at: agents, licences, formats, languages.

What belongs to nobody in particular is declared in the catalogue's graph; the rest beside those
who name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata import languages, modalities, quads, terms
from metadata.terms import DCTERMS, FOAF, IT6, PROV, SKOS, SPDX

if TYPE_CHECKING:
    from metadata.places import Places
    from metadata.quads import Graph

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


def agent(graph: Graph, iri: str, name: str, *, organisation: bool) -> None:
    """Say who somebody is."""
    kind = f"{PROV}Organization" if organisation else f"{PROV}Person"
    graph.type(iri, f"{FOAF}Agent", kind)
    graph.add(iri, f"{FOAF}name", quads.string(name))


def licence(graph: Graph, places: Places, name: str) -> None:
    """Say that the hub's own IRI of a licence names one; the public ones are in the catalogue."""
    if name.strip() and not terms.spdx_id(name):
        iri = places.licence(name)
        graph.type(iri, f"{DCTERMS}LicenseDocument")
        graph.add(iri, f"{DCTERMS}title", quads.words(name))


def tell(graph: Graph, places: Places) -> None:
    """Declare what every graph may point at: a part of the catalogue's graph."""
    for iri in languages.every():
        graph.type(iri, f"{DCTERMS}LinguisticSystem")
    for name in sorted(set(terms.SPDX_IDS.values())):
        iri = places.licence(name)
        graph.type(iri, f"{DCTERMS}LicenseDocument")
        graph.add(iri, f"{DCTERMS}title", quads.string(name))
    for ending, title in FORMATS.items():
        _concept(graph, places.format(ending), ending, title)
    graph.type(f"{SPDX}checksumAlgorithm_sha256", f"{SPDX}ChecksumAlgorithm")
    for name in modalities.EVERY:
        graph.type(places.modality(name), f"{IT6}Modality")
        _concept(graph, places.modality(name), name, name)


def _concept(graph: Graph, iri: str, notation: str, title: str) -> None:
    graph.type(iri, f"{SKOS}Concept")
    graph.add(iri, f"{SKOS}notation", quads.string(notation))
    graph.add(iri, f"{SKOS}prefLabel", quads.string(title, "en"))
