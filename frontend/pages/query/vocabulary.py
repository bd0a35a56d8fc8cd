"""The terms that a query can use, as the query page lists them: the hub's own and the usual ones.

The hub's own come from its vocabulary, so that a new term is listed without being named again here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyoxigraph
from django.conf import settings

from frontend.pages.query.results import short
from metadata.rdf import vocabulary
from metadata.rdf.terms import PREFIXES, RDF, RDFS

_OWL = PREFIXES["owl"]
_PROPERTIES = (f"{_OWL}DatatypeProperty", f"{_OWL}ObjectProperty", f"{RDF}Property")
# Of a literal's type people want the plain word.
_WORDS = {
    "xsd:string": "text",
    "rdf:langString": "text",
    "xsd:nonNegativeInteger": "integer",
    "skos:Concept": "concept",
}
# What queries ask of the public vocabularies most, and what is found there.
_USUAL = {
    "dcterms": {
        "title": "text",
        "identifier": "text",
        "license": "licence",
        "creator": "agent",
        "publisher": "agent",
        "created": "dateTime",
        "description": "text",
    },
    "dcat": {
        "keyword": "text",
        "version": "text",
        "hasVersion": "version",
        "hasCurrentVersion": "version",
        "distribution": "file",
        "byteSize": "integer",
    },
    "fair4ml": {
        "MLModel": "class",
        "mlTask": "task",
        "trainedOn": "data set",
        "hasEvaluation": "evaluation",
        "evaluationDataset": "data set",
    },
    "it6": {"totalNumberOfParameters": "integer", "intendedUse": "text", "limitations": "text"},
    "prov": {
        "wasDerivedFrom": "version",
        "wasGeneratedBy": "activity",
        "wasAttributedTo": "agent",
    },
    "dqv": {"value": "decimal", "isMeasurementOf": "metric"},
    "dpv": {"hasPersonalData": "category", "hasData": "category"},
    "earl": {"subject": "version", "test": "test", "result": "result", "outcome": "outcome"},
    "skos": {"broader": "domain", "notation": "text"},
}


@dataclass(frozen=True, slots=True)
class Term:
    """A term with its prefix, and in a word what its values are."""

    name: str
    values: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The listed terms of one vocabulary, which begins with ``iri``."""

    prefix: str
    iri: str
    terms: tuple[Term, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Every listed vocabulary, the hub's own first; read once a process."""
    own = Group("hub", f"{settings.HUB_PUBLIC_URL}/ns#", _own())
    return (
        own,
        *(
            Group(
                prefix,
                PREFIXES[prefix],
                tuple(Term(f"{prefix}:{name}", values) for name, values in terms.items()),
            )
            for prefix, terms in _USUAL.items()
        ),
    )


def _own() -> tuple[Term, ...]:
    ranges: dict[str, str] = {}
    comments: dict[str, str] = {}
    linked: dict[str, bool] = {}
    for triple in pyoxigraph.parse(
        vocabulary.read("terms").encode(), format=pyoxigraph.RdfFormat.TURTLE
    ):
        subject, predicate, value = (
            triple.subject.value,
            triple.predicate.value,
            triple.object.value,
        )
        if predicate == f"{RDF}type" and value in _PROPERTIES:
            linked[subject] = value == f"{_OWL}ObjectProperty"
        elif predicate == f"{RDFS}range":
            ranges[subject] = value
        elif predicate == f"{RDFS}comment":
            comments[subject] = value
    return tuple(
        Term(
            f"hub:{_name(iri)}",
            _values(ranges.get(iri, ""), linked=is_linked),
            comments.get(iri, ""),
        )
        for iri, is_linked in linked.items()
    )


def _name(iri: str) -> str:
    return iri.rpartition("#")[2]


def _values(kind: str, *, linked: bool) -> str:
    if not kind:
        return "IRI" if linked else "text"
    if "/ns#" in kind:
        return _name(kind).lower()
    name = short(kind)
    return _WORDS.get(name, name.rpartition(":")[2] if name.startswith("xsd:") else name)
