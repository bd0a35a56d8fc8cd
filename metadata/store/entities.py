"""What is at the hub's IRIs besides models: tasks, agents, licences, metrics, tests, formats.

Only what public graphs say is told, and of people only that they publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from metadata.graphs import references
from metadata.models import GraphReference, NamedGraph
from metadata.rdf import quads
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import Graph
from metadata.rdf.terms import DCTERMS, DQV, EARL, FOAF, PREFIXES, PROV, RDFS, SKOS
from metadata.store import maintenance, services
from registry.models import SearchDocument
from registry.models.search import EVERYBODY
from runners.benchmarks import selectors

if TYPE_CHECKING:
    from collections.abc import Callable

# Things with a named graph of their own.
_OWN_GRAPHS = ("agents", "licences", "metrics")
_PART_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing: what one is, its class in RDF, and the list's filter that finds its use."""

    title: str
    words: str
    rdf: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing: its IRI, the name in it, what public graphs say of it as sorted N-Quads."""

    kind: Kind
    iri: str
    name: str
    nquads: str

    @property
    def sha256(self) -> str:
        return services.digest(self.nquads)


KINDS = {
    "agents": Kind("Agent", "publishes models here.", f"{FOAF}Agent", "namespace"),
    "tasks": Kind("Task", "is a task of models.", f"{SKOS}Concept", "task"),
    "licences": Kind(
        "Licence",
        "is a licence used by models; SPDX has no id for it.",
        f"{DCTERMS}LicenseDocument",
        "license",
    ),
    "metrics": Kind("Metric", "is a metric used to evaluate models.", f"{DQV}Metric"),
    "tests": Kind("Test", "is a test that this hub runs on models.", f"{EARL}TestCase"),
    "formats": Kind("File format", "is a format of files here.", f"{DCTERMS}FileFormat"),
    "modalities": Kind("Modality", "is a type of model input or output.", f"{SKOS}Concept"),
    "environments": Kind(
        "Environment",
        "is the hardware, operating system and runtime of benchmark results.",
        f"{PROV}Entity",
    ),
    "ops": Kind(
        "Operator", "is an operator from a domain that ONNX does not document.", f"{SKOS}Concept"
    ),
}


def find(place: str, name: str) -> Entity:
    """The thing of a kind (one of KINDS) by the name in its IRI; raises NotFound."""
    kind, iri = KINDS[place], _iri(place, name)
    lines = _lines(place, name)
    if not lines and not _EXISTS.get(place, _nobody)(name):
        raise problems.NotFound(f"No public model refers to {place}/{name}.")
    return Entity(kind, iri, name, lines or _least(place, kind, iri, name))


def is_known(place: str, name: str) -> bool:
    """Whether something tells of a thing of this very name, and not only allows for it."""
    exists = _EXISTS.get(place, _nobody)
    return bool(_lines(place, name)) or (exists is not _named and exists(name))


def prefixes() -> dict[str, str]:
    """The prefixes of graphs, the hub's own included."""
    return PREFIXES | {"hub": Places(settings.HUB_PUBLIC_URL).term("")}


def _iri(place: str, name: str) -> str:
    return f"{settings.HUB_PUBLIC_URL}/{place}/{quads.part(name, '/')}"


def _lines(place: str, name: str) -> str:
    iri = _iri(place, name)
    if place == "environments":
        return _environment_lines(name, iri)
    if place in _OWN_GRAPHS:
        return _text(graph_of(_spelt(place, iri, name)))
    return _about(iri, _catalogue())


def _spelt(place: str, iri: str, name: str) -> str:
    """The address as graphs have it: an agent's in its own case, others in lower case."""
    if place == "metrics":
        return Places(settings.HUB_PUBLIC_URL).metric(name)
    if place != "agents":
        return f"{settings.HUB_PUBLIC_URL}/{place}/{quads.part(name.lower(), '/')}"
    known = GraphReference.objects.filter(iri__iexact=graph_of(iri)).values_list("iri", flat=True)
    return next(iter(known[:1]), graph_of(iri)).removesuffix(graph_of(""))


def _catalogue() -> str:
    return _text(Places(settings.HUB_PUBLIC_URL).catalogue)


def _text(iri: str) -> str:
    found = NamedGraph.objects.filter(iri=iri).values_list("nquads", flat=True).first()
    return found or ""


def _about(iri: str, nquads: str) -> str:
    """The statements of a graph whose subject is this IRI."""
    start = f"<{iri}> "
    return "".join(line for line in nquads.splitlines(keepends=True) if line.startswith(start))


def _least(place: str, kind: Kind, iri: str, name: str) -> str:
    """What can be said of a thing that no public graph describes."""
    home = settings.HUB_PUBLIC_URL
    entity = references.entity_of(graph_of(_spelt(place, iri, name)), home)
    if entity is not None and entity.kind != "agents":
        return maintenance.entity_text(entity)
    graph = Graph(f"{settings.HUB_PUBLIC_URL}/catalog")
    graph.type(iri, kind.rdf)
    graph.add(iri, f"{DCTERMS}title", quads.string(name.replace("-", " "), "en"))
    return graph.text()


def _environment_lines(digest: str, iri: str) -> str:
    """Of an environment in which a public model was timed: its parts, as the record tells them."""
    rows = selectors.environments(AnonymousUser()).filter(pk=digest)
    graph = Graph(f"{settings.HUB_PUBLIC_URL}/catalog")
    for row in rows:
        graph.type(iri, f"{PROV}Entity", Places(settings.HUB_PUBLIC_URL).term("Environment"))
        graph.add(iri, f"{DCTERMS}identifier", quads.string(digest))
        api = f"{settings.HUB_PUBLIC_URL}/api/v1/environments/{digest}"
        graph.add(iri, f"{RDFS}seeAlso", quads.link(api))
        for name, value in row.parts.items():
            if isinstance(value, str | int | float) and len(str(value)) <= _PART_CHARACTERS:
                graph.add(iri, f"{DCTERMS}description", quads.string(f"{name}: {value}", "en"))
    return graph.text()


def _task(name: str) -> bool:
    return SearchDocument.objects.filter(audience=EVERYBODY, task__iexact=name).exists()


def _licence(name: str) -> bool:
    return SearchDocument.objects.filter(audience=EVERYBODY, license__iexact=name).exists()


def _named(name: str) -> bool:
    """Metrics, formats, tests and operators are whatever a graph calls so."""
    return bool(name.strip()) and len(name) <= 200


def _nobody(_name: str) -> bool:
    return False


_EXISTS: dict[str, Callable[[str], bool]] = {
    "tasks": _task,
    "licences": _licence,
    "metrics": _named,
    "ops": _named,
    "formats": _named,
    "tests": _named,
}
