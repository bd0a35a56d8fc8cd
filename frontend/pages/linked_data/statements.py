"""Statements of a graph as rows for people: terms with their prefix, links where there are any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph

from metadata.rdf.terms import DCTERMS, OWL, RDF, RDFS, SKOS
from metadata.store import entities
from metadata.store.negotiation import FORMATS

_GROUPS = {
    f"{OWL}Class": "Classes",
    f"{RDFS}Class": "Classes",
    f"{OWL}ObjectProperty": "Object properties",
    f"{OWL}DatatypeProperty": "Data properties",
    f"{RDF}Property": "Properties",
    f"{SKOS}ConceptScheme": "Schemes",
    f"{SKOS}Concept": "Concepts",
}
_OTHERS = "Other terms"


_Term = pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple


def read(nquads: str) -> list[dict[str, Any]]:
    """The statements of a small graph about one thing."""
    return [_row(quad) for quad in _quads(nquads)]


def formats(path: str) -> list[tuple[str, str, str]]:
    """Name, address and media type of each format of the thing at ``path``."""
    return [
        (form.title, f"{path}.{form.ending}", form.media_type.partition(";")[0])
        for form in FORMATS.values()
    ]


def terms(nquads: str, prefix: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """The terms that begin with ``prefix``, grouped by what they are, each group by name."""
    about: dict[str, list[pyoxigraph.Quad]] = {}
    for quad in _quads(nquads):
        if isinstance(quad.subject, pyoxigraph.NamedNode) and quad.subject.value.startswith(prefix):
            about.setdefault(quad.subject.value, []).append(quad)
    groups: dict[str, list[dict[str, Any]]] = {name: [] for name in [*_GROUPS.values(), _OTHERS]}
    for iri, rows in sorted(about.items()):
        term = _term(iri, iri.removeprefix(prefix), rows)
        groups[term["kind"]].append(term)
    return [(name, group) for name, group in groups.items() if group]


def _term(iri: str, name: str, rows: list[pyoxigraph.Quad]) -> dict[str, Any]:
    texts = {
        f"{RDFS}label": "",
        f"{SKOS}prefLabel": "",
        f"{RDFS}comment": "",
        f"{SKOS}definition": "",
    }
    kinds, rest = [], []
    for quad in rows:
        predicate = quad.predicate.value
        if predicate == f"{RDF}type":
            kinds.append(_words(quad.object))
        elif predicate in texts:
            texts[predicate] = _words(quad.object)
        elif predicate not in (f"{RDFS}isDefinedBy", f"{DCTERMS}isPartOf"):
            rest.append(_row(quad))
    return {
        "name": name,
        "iri": iri,
        "label": texts[f"{RDFS}label"] or texts[f"{SKOS}prefLabel"],
        "comment": texts[f"{RDFS}comment"] or texts[f"{SKOS}definition"],
        "kind": next((_GROUPS[kind] for kind in kinds if kind in _GROUPS), _OTHERS),
        "rows": tuple(rest),
    }


def _row(quad: pyoxigraph.Quad) -> dict[str, Any]:
    words, url = _object(quad.object)
    return {
        "term": _short(quad.predicate.value),
        "iri": quad.predicate.value,
        "words": words,
        "url": url,
    }


def _object(term: _Term) -> tuple[str, str]:
    """An object as words, and as a link where it is a web address."""
    words = _words(term)
    if not isinstance(term, pyoxigraph.NamedNode):
        return words, ""
    return _short(words), words if words.startswith(("http://", "https://")) else ""


def _words(term: _Term) -> str:
    if isinstance(term, pyoxigraph.NamedNode | pyoxigraph.Literal):
        return term.value
    return "(a list or a restriction)"


def _short(iri: str) -> str:
    for prefix, start in entities.prefixes().items():
        if iri.startswith(start) and len(iri) > len(start):
            return f"{prefix}:{iri.removeprefix(start)}"
    return iri


def _quads(nquads: str) -> Iterable[pyoxigraph.Quad]:
    return pyoxigraph.parse(nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS)
