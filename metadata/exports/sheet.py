"""A version's graph as plain values, for formats that are no RDF.

Exports are written from the graph and not from rows, so that no format says what another does not.
Units: bytes, kilograms of CO2e, kilowatt-hours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyoxigraph

from hub.protocol.cards import Risk
from metadata.rdf.iris import Places
from metadata.rdf.quads import number
from metadata.rdf.terms import ACCESS, LICENCE

_IDENTIFIER = re.compile(r"(?P<namespace>[^/]+)/(?P<name>.+)@(?P<number>[0-9]+)")
_DOI = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Agent:
    """A person or organisation: IRI, and the name that the graph has or the IRI ends with."""

    iri: str
    name: str


@dataclass(frozen=True, slots=True)
class FileLine:
    """An uploaded file: its path, its IRI, its size in bytes and its SHA-256."""

    path: str
    iri: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """A signature over the files: address of its bundle, its key, the name in its certificate.

    ``publisher`` is the IRI of the namespace if that declares the signer.
    """

    address: str
    key: str
    name: str = ""
    publisher: str = ""

    @property
    def sentence(self) -> str:
        """Who signed, and whether it counts."""
        signer = f"{self.name} ({self.key})" if self.name else self.key
        counts = "counts: declared by" if self.publisher else "does not count: not declared by"
        return f"Signature of model-signing by {signer}; {counts} the namespace."


@dataclass(frozen=True, slots=True)
class DataLine:
    """A data set that the model was trained on; ``personal`` is empty where not declared."""

    iri: str
    name: str
    personal: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A value of a metric on a data set, and the IRI of its author."""

    metric: str
    value: Decimal
    dataset: str = ""
    split: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: its name and the type of its elements."""

    name: str
    kind: str
    element: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A version as its graph describes it; what is not stated is empty or None."""

    iri: str
    namespace: str
    name: str
    number: int
    title: str
    description: str
    summary: str
    licences: tuple[str, ...]
    licence_expression: str
    task: str
    created: str
    published: str
    modified: str
    creators: tuple[Agent, ...]
    publisher: Agent
    doi: str = ""
    keywords: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    files: tuple[FileLine, ...] = ()
    data: tuple[DataLine, ...] = ()
    derived_from: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: int | None = None
    opset: str = ""
    ir_version: str = ""
    precisions: tuple[str, ...] = ()
    carbon_kg: Decimal | None = None
    energy_kwh: Decimal | None = None
    carbon_method: str = ""
    is_restricted: bool = False
    activity: str = ""
    risks: tuple[Risk, ...] = ()
    hardware: tuple[str, ...] = ()
    licences_in_file: tuple[str, ...] = ()
    has_licence_conflict: bool = False
    manifest_sha256: str = ""
    uploader: Agent | None = None
    signatures: tuple[SignatureLine, ...] = ()

    @property
    def ref(self) -> str:
        return f"{self.namespace}/{self.name}@{self.number}"

    @property
    def licence(self) -> str:
        """The IRI of its one licence; empty where it has none or several."""
        return self.licences[0] if len(self.licences) == 1 else ""

    @property
    def licence_id(self) -> str:
        """SPDX's id of its one licence, if it has one."""
        return spdx_id(self.licence)

    @property
    def licence_names(self) -> tuple[str, ...]:
        """SPDX's id of each licence, else the name in its address."""
        return tuple(spdx_id(iri) or iri.rsplit("/", 1)[-1] for iri in self.licences)


def spdx_id(licence: str) -> str:
    """The id in SPDX's IRI of a licence; empty for other IRIs."""
    return licence.removeprefix(LICENCE) if licence.startswith(LICENCE) else ""


# Texts of a version -> the term that holds them.
_TEXTS = {
    "intended_use": "it6:intendedUse",
    "limitations": "it6:limitations",
    "bias": "it6:bias",
    "architecture": "it6:modelArchitecture",
    "preprocessing": "hub:preprocessing",
    "postprocessing": "hub:postprocessing",
}


def read(iri: str, nquads: str, home: str) -> Sheet:
    """The sheet of the version ``iri`` of the hub at ``home``, from its graph."""
    places = Places(home)
    triples = _Triples(nquads, places)
    version = _Node(triples, iri)
    match = next(filter(None, map(_IDENTIFIER.fullmatch, version.all("dcterms:identifier"))), None)
    licences = version.all("dcterms:license")
    texts = {name: tuple(version.all(term)) for name, term in _TEXTS.items()}
    impact = next(triples.subjects("it6:carbonEmitted"), None)
    energies = (
        number(node.one("it6:powerConsumption"))
        for node in triples.subjects("it6:powerConsumption")
    )
    return Sheet(
        iri=iri,
        namespace=match["namespace"] if match else "",
        name=match["name"] if match else version.one("dcterms:title"),
        number=int(match["number"]) if match else 0,
        title=version.one("dcterms:title"),
        description=version.one("dcterms:description"),
        summary=version.one("it6:shortDescription"),
        licences=tuple(licence for licence in licences if licence != places.term("NoLicenceGiven")),
        licence_expression=version.one("hub:licenceExpression"),
        task=_last(version.one("fair4ml:mlTask")),
        created=version.one("dcterms:created"),
        published=version.one("dcterms:issued"),
        modified=version.one("dcterms:modified"),
        creators=tuple(map(_agent, version.nodes("dcterms:creator"))),
        publisher=_agent(version.node("dcterms:publisher")),
        doi=_doi(version),
        keywords=tuple(version.all("dcat:keyword")),
        languages=tuple(map(_last, version.all("dcterms:language"))),
        files=tuple(sorted(map(_file, version.nodes("dcat:distribution")), key=lambda f: f.path)),
        data=tuple(map(_data, version.nodes("fair4ml:trainedOn"))),
        derived_from=tuple(version.all("prov:wasDerivedFrom")),
        scores=tuple(_scores(version)),
        inputs=tuple(map(_port, version.nodes("hub:hasInput"))),
        outputs=tuple(map(_port, version.nodes("hub:hasOutput"))),
        texts={name: rows for name, rows in texts.items() if rows},
        parameters=_whole(version.one("it6:totalNumberOfParameters")),
        opset=version.one("hub:opsetVersion"),
        ir_version=version.one("hub:irVersion"),
        precisions=tuple(version.all("hub:precision")),
        carbon_kg=number(version.one("hub:trainingCO2eKg")),
        energy_kwh=next((kwh for kwh in energies if kwh is not None and kwh >= 0), None),
        carbon_method=impact.one("it6:measurementMethodology") if impact else "",
        activity=_activity(version, places),
        is_restricted=version.one("dcterms:accessRights") == f"{ACCESS}RESTRICTED",
        risks=tuple(map(_risk, version.nodes("it6:hasRisk"))),
        hardware=tuple(
            node.one("dcterms:title")
            for node in version.node("prov:wasGeneratedBy").nodes("it6:hasHardware")
        ),
        licences_in_file=tuple(version.all("hub:licenceInFile")),
        has_licence_conflict=version.one("hub:licenceConflict") == "true",
        manifest_sha256=version.one("hub:manifestSha256"),
        uploader=next(map(_agent, version.nodes("it6:hasUploader")), None),
        signatures=tuple(map(_signature, version.nodes("sec:proof"))),
    )


class _Triples:
    """Objects by subject and predicate, as plain text in the graph's own order."""

    def __init__(self, nquads: str, places: Places) -> None:
        self._places = places
        self._objects: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._subjects: dict[str, dict[str, None]] = defaultdict(dict)
        for quad in pyoxigraph.parse(nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS):
            subject = str(getattr(quad.subject, "value", quad.subject))
            predicate = quad.predicate.value
            self._objects[subject, predicate][str(getattr(quad.object, "value", ""))] = None
            self._subjects[predicate][subject] = None

    def objects(self, subject: str, predicate: str) -> list[str]:
        return list(self._objects.get((subject, self._places.expand(predicate)), ()))

    def subjects(self, predicate: str) -> Iterator[_Node]:
        """The subjects that have a predicate."""
        return (_Node(self, iri) for iri in self._subjects[self._places.expand(predicate)])


@dataclass(frozen=True, slots=True)
class _Node:
    """A subject of a graph; predicates are CURIEs."""

    triples: _Triples
    iri: str

    def all(self, predicate: str) -> list[str]:
        return self.triples.objects(self.iri, predicate)

    def one(self, predicate: str) -> str:
        return next(iter(self.all(predicate)), "")

    def nodes(self, predicate: str) -> list[_Node]:
        return [_Node(self.triples, iri) for iri in self.all(predicate)]

    def node(self, predicate: str) -> _Node:
        return _Node(self.triples, self.one(predicate))


def _risk(node: _Node) -> Risk:
    return Risk(
        node.one("dcterms:title"),
        node.one("dcterms:description"),
        node.one("it6:severity"),
        node.one("it6:probability"),
        node.one("it6:mitigation"),
    )


def _doi(version: _Node) -> str:
    """The DOI of the version itself, without the address of its resolver."""
    for row in version.all("dcterms:identifier"):
        bare = row.removeprefix("doi:")
        match = _DOI.fullmatch(row) or _DOI.fullmatch(f"https://doi.org/{bare}")
        if match:
            return match[1]
    return ""


def _agent(node: _Node) -> Agent:
    return Agent(node.iri, node.one("foaf:name") or _last(node.iri))


def _file(node: _Node) -> FileLine:
    return FileLine(
        path=node.one("dcterms:title") or _last(node.iri),
        iri=node.iri,
        size=_whole(node.one("dcat:byteSize")) or 0,
        sha256=node.node("spdx:checksum").one("spdx:checksumValue"),
    )


def _signature(node: _Node) -> SignatureLine:
    key = node.node("sec:verificationMethod")
    return SignatureLine(
        address=node.one("dcat:downloadURL"),
        key=key.one("dcterms:identifier"),
        name=key.one("dcterms:title"),
        publisher=node.one("prov:wasAttributedTo"),
    )


def _data(node: _Node) -> DataLine:
    same = node.node("prov:specializationOf")
    same = same if same.iri else node
    name = node.one("dcterms:title") or same.one("dcterms:title")
    return DataLine(same.iri, name or _last(same.iri), _personal(node) or _personal(same))


def _personal(node: _Node) -> str:
    kinds = node.all("dpv:hasPersonalData")
    if kinds:
        return "special" if any("SpecialCategory" in _last(kind) for kind in kinds) else "yes"
    kinds = [_last(kind) for kind in node.all("dpv:hasData")]
    if "AnonymisedData" in kinds:
        return "anonymised"
    return "no" if "NonPersonalData" in kinds else ""


def _scores(version: _Node) -> Iterator[Score]:
    for node in version.nodes("fair4ml:hasEvaluation"):
        value = number(node.one("dqv:value"))
        metric = _last(node.one("dqv:isMeasurementOf"))
        if value is not None and metric:
            dataset = _last(node.one("fair4ml:evaluationDataset"))
            split, author = node.one("hub:split"), node.one("prov:wasAttributedTo")
            yield Score(metric, value, dataset, split, author)


def _port(node: _Node) -> Port:
    element = _last(node.one("hub:elementType"))
    return Port(node.one("hub:portName"), node.one("hub:valueType"), element)


def _activity(version: _Node, places: Places) -> str:
    """The kind of step that made the model, as the hub's vocabulary names it."""
    kinds = version.node("prov:wasGeneratedBy").all("rdf:type")
    return next((_last(kind) for kind in kinds if kind.startswith(places.term(""))), "")


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _last(iri: str) -> str:
    """The last part of an IRI, as people write it."""
    return unquote(re.split(r"[/#]", iri)[-1]) if iri else ""


def stated(document: dict[str, Any]) -> dict[str, Any]:
    """A document without its empty members, which say nothing."""
    return {name: value for name, value in document.items() if value not in ("", [], {}, None)}
