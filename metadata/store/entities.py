"""What is at the hub's IRIs besides models: tasks, agents, licences, metrics, tests, formats.

Only public graphs are used, and of people only that they publish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from hub.protocol import problems
from hub.protocol.vocabularies import task_name
from metadata.graphs import references
from metadata.models import GraphReference
from metadata.rdf.graph import Graph
from metadata.rdf.iris import Places, graph_of
from metadata.rdf.quads import link, part, string
from metadata.rdf.terms import PREFIXES
from metadata.store import maintenance, services, texts
from registry.catalogue import conditions
from registry.models import SearchDocument
from registry.models.search import EVERYBODY
from runners.benchmarks import machines

# Things with a named graph of their own.
_OWN_GRAPHS = ("agents", "licences", "metrics")
_PART_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing: its title, what one is, its class as a CURIE, its filter in lists."""

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
    "agents": Kind("Agent", "publishes models here.", "foaf:Agent", "namespace"),
    "tasks": Kind("Task", "is a task of models.", "skos:Concept", "task"),
    "licences": Kind(
        "Licence",
        "is a licence used by models; SPDX has no id for it.",
        "dcterms:LicenseDocument",
        "license",
    ),
    "metrics": Kind("Metric", "is a metric used to evaluate models.", "dqv:Metric"),
    "tests": Kind("Test", "is a test that this hub runs on models.", "earl:TestCase"),
    "formats": Kind("File format", "is a format of files here.", "dcterms:FileFormat"),
    "modalities": Kind("Modality", "is a type of model input or output.", "skos:Concept"),
    "environments": Kind(
        "Environment",
        "is the hardware, operating system and runtime of benchmark results.",
        "prov:Entity",
    ),
    "ops": Kind(
        "Operator", "is an operator from a domain that ONNX does not document.", "skos:Concept"
    ),
}


def find(place: str, name: str) -> Entity:
    """The thing of a kind (one of KINDS) by the name in its IRI; raises NotFound."""
    kind, iri = KINDS[place], _iri(place, name)
    nquads = _described(place, name)
    if not nquads and not _EXISTS.get(place, _nobody)(name):
        raise problems.NotFound(f"No public model refers to {place}/{name}.")
    return Entity(kind, iri, name, nquads or _undescribed(place, kind, iri, name))


def is_known(place: str, name: str) -> bool:
    """Whether a graph or a row has a thing of this very name, and not only allows for it."""
    exists = _EXISTS.get(place, _nobody)
    return bool(_described(place, name)) or (exists is not _named and exists(name))


def prefixes() -> dict[str, str]:
    """The prefixes of graphs, the hub's own included."""
    return PREFIXES | {"hub": _places().term("")}


def _places() -> Places:
    return Places(settings.HUB_PUBLIC_URL)


def _iri(place: str, name: str) -> str:
    if place == "tasks":
        return _places().task(name)
    return f"{settings.HUB_PUBLIC_URL}/{place}/{part(name, '/')}"


def _described(place: str, name: str) -> str:
    """What public graphs and records say of a thing; empty where none does."""
    iri = _iri(place, name)
    if place == "environments":
        return _environment(name, iri)
    if place in _OWN_GRAPHS:
        graph = graph_of(_canonical(place, iri, name))
        return texts.of(graph) or _from_rows(graph)
    subject = f"<{iri}> "
    lines = texts.of(_places().catalogue).splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith(subject))


def _from_rows(graph: str) -> str:
    """The graph of a thing that a public graph names, where the stored one cannot be read."""
    entity = references.entity_of(graph, settings.HUB_PUBLIC_URL)
    is_named = GraphReference.objects.filter(iri=graph).exists()
    return maintenance.entity_text(entity) if entity is not None and is_named else ""


def _canonical(place: str, iri: str, name: str) -> str:
    """The address as graphs have it: an agent's in its own case, others in lower case."""
    if place == "metrics":
        return _places().metric(name)
    if place != "agents":
        return _iri(place, name.lower())
    iris = GraphReference.objects.filter(iri__iexact=graph_of(iri)).values_list("iri", flat=True)
    return next(iter(iris[:1]), graph_of(iri)).removesuffix(graph_of(""))


def _undescribed(place: str, kind: Kind, iri: str, name: str) -> str:
    """The least description of a thing that no public graph describes."""
    home = settings.HUB_PUBLIC_URL
    entity = references.entity_of(graph_of(_canonical(place, iri, name)), home)
    if entity is not None and entity.kind != "agents":
        return maintenance.entity_text(entity)
    graph = Graph(_places().catalogue, _places())
    graph.describe(iri, kind.rdf, {"dcterms:title": string(name.replace("-", " "), "en")})
    return graph.text()


def _environment(digest: str, iri: str) -> str:
    """Of an environment in which a public model was timed: its parts, as the record has them."""
    graph = Graph(_places().catalogue, _places())
    for row in machines.environments(AnonymousUser()).filter(pk=digest):
        parts = (
            f"{name}: {value}"
            for name, value in row.parts.items()
            if isinstance(value, str | int | float) and len(str(value)) <= _PART_CHARACTERS
        )
        graph.describe(
            iri,
            "prov:Entity hub:Environment",
            {
                "dcterms:identifier": string(digest),
                "rdfs:seeAlso": link(f"{settings.HUB_PUBLIC_URL}/api/v1/environments/{digest}"),
                "dcterms:description": [string(part, "en") for part in parts],
            },
        )
    return graph.text()


def _task(name: str) -> bool:
    rows = SearchDocument.objects.filter(audience=EVERYBODY)
    return rows.filter(task__iexact=task_name(name)).exists()


def _licence(name: str) -> bool:
    rows = SearchDocument.objects.filter(audience=EVERYBODY)
    return rows.filter(conditions.licensed((name,))).exists()


def _named(name: str) -> bool:
    """Metrics, formats, tests and operators need no row of their own."""
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
