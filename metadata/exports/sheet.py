"""What a version's graph says, as plain values for formats that are no RDF.

Exports are written from the graph and not from rows, so that no format says what another does not.
Units: bytes, kilograms of CO2e, kilowatt-hours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyoxigraph

from metadata.rdf import quads
from metadata.rdf.iris import Places
from metadata.rdf.terms import (
    ACCESS,
    DCAT,
    DCTERMS,
    DPV,
    DQV,
    FAIR4ML,
    FOAF,
    IT6,
    LICENCE,
    PROV,
    RDF,
    SPDX,
)

if TYPE_CHECKING:
    from decimal import Decimal

_IDENTIFIER = re.compile(r"(?P<namespace>[^/]+)/(?P<name>.+)@(?P<number>[0-9]+)")
_DOI = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.[0-9]{4,9}/\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Agent:
    """Somebody by IRI, and by the name that the graph has or the IRI ends with."""

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
class DataLine:
    """A data set that the model was trained on; ``personal`` is empty where nobody told."""

    iri: str
    name: str
    personal: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A value of a metric on a data set, and who says so."""

    metric: str
    value: Decimal
    dataset: str = ""
    split: str = ""
    said_by: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: its name and the type of its elements."""

    name: str
    kind: str
    element: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A version as its graph tells of it; what nobody told is empty or None."""

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
    def licence_names(self) -> str:
        """Every licence in one line: the choice as SPDX writes it, or names with commas."""
        names = (spdx_id(iri) or iri.rsplit("/", 1)[-1] for iri in self.licences)
        return self.licence_expression or ", ".join(names)


def spdx_id(licence: str) -> str:
    """The id in SPDX's IRI of a licence; empty for other IRIs."""
    return licence.removeprefix(LICENCE) if licence.startswith(LICENCE) else ""


# Texts of a version -> the term that holds them.
_TEXTS = {
    "intended_use": f"{IT6}intendedUse",
    "limitations": f"{IT6}limitations",
    "bias": f"{IT6}bias",
    "architecture": f"{IT6}modelArchitecture",
}
_OWN_TEXTS = ("preprocessing", "postprocessing")


def read(iri: str, nquads: str, home: str) -> Sheet:
    """The sheet of the version ``iri`` of the hub at ``home``, from its graph."""
    graph = _Triples(nquads)
    places = Places(home)
    found = _IDENTIFIER.fullmatch(_identifier(graph, iri))
    none = places.term("NoLicenceGiven")
    licences = tuple(one for one in graph.all(iri, f"{DCTERMS}license") if one != none)
    publisher = _agent(graph, graph.one(iri, f"{DCTERMS}publisher"))
    impact = graph.subjects(f"{IT6}carbonEmitted")
    return Sheet(
        iri=iri,
        namespace=found["namespace"] if found else "",
        name=found["name"] if found else graph.one(iri, f"{DCTERMS}title"),
        number=int(found["number"]) if found else 0,
        title=graph.one(iri, f"{DCTERMS}title"),
        description=graph.one(iri, f"{DCTERMS}description"),
        summary=graph.one(iri, f"{IT6}shortDescription"),
        licences=licences,
        licence_expression=graph.one(iri, places.term("licenceExpression")),
        task=_last(graph.one(iri, f"{FAIR4ML}mlTask")),
        created=graph.one(iri, f"{DCTERMS}created"),
        published=graph.one(iri, f"{DCTERMS}issued"),
        modified=graph.one(iri, f"{DCTERMS}modified"),
        creators=tuple(_agent(graph, one) for one in graph.all(iri, f"{DCTERMS}creator")),
        publisher=publisher,
        doi=_doi(graph, iri),
        keywords=tuple(graph.all(iri, f"{DCAT}keyword")),
        languages=tuple(_last(one) for one in graph.all(iri, f"{DCTERMS}language")),
        files=_files(graph, iri),
        data=_data(graph, iri),
        derived_from=tuple(graph.all(iri, f"{PROV}wasDerivedFrom")),
        scores=_scores(graph, places, iri),
        inputs=_ports(graph, places, iri, "hasInput"),
        outputs=_ports(graph, places, iri, "hasOutput"),
        texts=_texts(graph, places, iri),
        parameters=_whole(graph.one(iri, f"{IT6}totalNumberOfParameters")),
        opset=graph.one(iri, places.term("opsetVersion")),
        ir_version=graph.one(iri, places.term("irVersion")),
        precisions=tuple(graph.all(iri, places.term("precision"))),
        carbon_kg=quads.number(graph.one(iri, places.term("trainingCO2eKg"))),
        energy_kwh=_energy(graph),
        carbon_method=graph.one(impact[0], f"{IT6}measurementMethodology") if impact else "",
        activity=_activity(graph, places, iri),
        is_restricted=graph.one(iri, f"{DCTERMS}accessRights") == f"{ACCESS}RESTRICTED",
    )


class _Triples:
    """Objects by subject and predicate, as plain text in the graph's own order."""

    def __init__(self, nquads: str) -> None:
        self._objects: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._subjects: dict[str, list[str]] = defaultdict(list)
        for quad in pyoxigraph.parse(nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS):
            subject = str(getattr(quad.subject, "value", quad.subject))
            predicate = quad.predicate.value
            self._objects[subject, predicate].append(str(getattr(quad.object, "value", "")))
            self._subjects[predicate].append(subject)

    def all(self, subject: str, predicate: str) -> list[str]:
        return list(dict.fromkeys(self._objects.get((subject, predicate), ())))

    def one(self, subject: str, predicate: str) -> str:
        return next(iter(self._objects.get((subject, predicate), ())), "")

    def subjects(self, predicate: str) -> list[str]:
        return list(dict.fromkeys(self._subjects.get(predicate, ())))


def _identifier(graph: _Triples, iri: str) -> str:
    """The hub's own identifier; a version may have a DOI beside it."""
    rows = graph.all(iri, f"{DCTERMS}identifier")
    return next((row for row in rows if _IDENTIFIER.fullmatch(row)), "")


def _doi(graph: _Triples, iri: str) -> str:
    """The DOI of the version itself, without the address of its resolver."""
    for row in graph.all(iri, f"{DCTERMS}identifier"):
        bare = row.removeprefix("doi:")
        found = _DOI.fullmatch(row) or _DOI.fullmatch(f"https://doi.org/{bare}")
        if found:
            return found[1]
    return ""


def _agent(graph: _Triples, iri: str) -> Agent:
    return Agent(iri, graph.one(iri, f"{FOAF}name") or _last(iri))


def _files(graph: _Triples, iri: str) -> tuple[FileLine, ...]:
    rows = []
    for file in graph.all(iri, f"{DCAT}distribution"):
        checksum = graph.one(file, f"{SPDX}checksum")
        rows.append(
            FileLine(
                path=graph.one(file, f"{DCTERMS}title") or _last(file),
                iri=file,
                size=_whole(graph.one(file, f"{DCAT}byteSize")) or 0,
                sha256=graph.one(checksum, f"{SPDX}checksumValue"),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.path))


def _data(graph: _Triples, iri: str) -> tuple[DataLine, ...]:
    rows = []
    for node in graph.all(iri, f"{FAIR4ML}trainedOn"):
        same = graph.one(node, f"{PROV}specializationOf") or node
        name = graph.one(node, f"{DCTERMS}title") or graph.one(same, f"{DCTERMS}title")
        rows.append(
            DataLine(same, name or _last(same), _personal(graph, node) or _personal(graph, same))
        )
    return tuple(rows)


def _personal(graph: _Triples, node: str) -> str:
    kinds = [_last(one) for one in graph.all(node, f"{DPV}hasPersonalData")]
    if kinds:
        return "special" if any("SpecialCategory" in kind for kind in kinds) else "yes"
    told = {_last(one) for one in graph.all(node, f"{DPV}hasData")}
    if "AnonymisedData" in told:
        return "anonymised"
    return "no" if "NonPersonalData" in told else ""


def _scores(graph: _Triples, places: Places, iri: str) -> tuple[Score, ...]:
    rows = []
    for node in graph.all(iri, f"{FAIR4ML}hasEvaluation"):
        value = quads.number(graph.one(node, f"{DQV}value"))
        metric = _last(graph.one(node, f"{DQV}isMeasurementOf"))
        if value is not None and metric:
            dataset = _last(graph.one(node, f"{FAIR4ML}evaluationDataset"))
            split = graph.one(node, places.term("split"))
            said_by = graph.one(node, f"{PROV}wasAttributedTo")
            rows.append(Score(metric, value, dataset, split, said_by))
    return tuple(rows)


def _ports(graph: _Triples, places: Places, iri: str, predicate: str) -> tuple[Port, ...]:
    return tuple(
        Port(
            graph.one(node, places.term("portName")),
            graph.one(node, places.term("valueType")),
            _last(graph.one(node, places.term("elementType"))),
        )
        for node in graph.all(iri, places.term(predicate))
    )


def _texts(graph: _Triples, places: Places, iri: str) -> dict[str, tuple[str, ...]]:
    terms = _TEXTS | {name: places.term(name) for name in _OWN_TEXTS}
    told = {name: tuple(graph.all(iri, term)) for name, term in terms.items()}
    return {name: rows for name, rows in told.items() if rows}


def _energy(graph: _Triples) -> Decimal | None:
    """Kilowatt-hours of the training, wherever the graph hangs them."""
    for node in graph.subjects(f"{IT6}powerConsumption"):
        found = quads.number(graph.one(node, f"{IT6}powerConsumption"))
        if found is not None and found >= 0:
            return found
    return None


def _activity(graph: _Triples, places: Places, iri: str) -> str:
    """The kind of step that made the model, as the hub's vocabulary names it."""
    made = graph.one(iri, f"{PROV}wasGeneratedBy")
    prefix = places.term("")
    kinds = [one for one in graph.all(made, f"{RDF}type") if one.startswith(prefix)]
    return _last(kinds[0]) if kinds else ""


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _last(iri: str) -> str:
    """The last part of an IRI, as people write it."""
    return unquote(re.split(r"[/#]", iri)[-1]) if iri else ""
