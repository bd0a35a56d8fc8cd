"""Which agents, licences and metrics a graph names: each of them has one graph of its own.

The default graph puts all graphs together, so nothing may be stated twice: a thing is described in
its own graph, and others only point at it. Such a graph is public while a public one points at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

from metadata.rdf.iris import WORKER, graph_of
from metadata.rdf.quads import part
from metadata.rdf.terms import DCTERMS, DQV, EARL, FAIR4ML, IT6, LICENCE, PROV

Kind = Literal["agents", "licences", "metrics"]
# Predicates that rows fill, never a card's own addresses: agents that only cards name have none.
_KIND_OF: Final[dict[str, Kind]] = {
    f"{DCTERMS}publisher": "agents",
    f"{IT6}hasUploader": "agents",
    f"{FAIR4ML}sharedBy": "agents",
    f"{PROV}wasAttributedTo": "agents",
    f"{PROV}wasAssociatedWith": "agents",
    f"{EARL}assertedBy": "agents",
    f"{DCTERMS}license": "licences",
    "#licenceInFile": "licences",
    f"{DQV}isMeasurementOf": "metrics",
}
# A statement whose object is an IRI: a literal before the graph ends in a quote, a type or a tag.
_STATEMENT = re.compile(r"^<[^>]+> <([^>]+)> <([^>]+)> <[^>]+> \.$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """An agent, a licence or a metric; ``path`` is the end of its address here, percent-encoded."""

    kind: Kind
    path: str

    def graph(self, home: str) -> str:
        """The named graph that describes it."""
        return graph_of(f"{home}/{self.kind}/{self.path}")

    @property
    def name(self) -> str:
        """What the address calls it."""
        return unquote(self.path)

    @property
    def is_worker(self) -> bool:
        """Whether it is the hub's own software."""
        return self.kind == "agents" and self.name.lower() == WORKER

    @property
    def login(self) -> str:
        """The name of the user or namespace that an agent is."""
        return self.name.removeprefix("users/")


def named_in(nquads: str, home: str) -> set[Entity]:
    """The agents, licences and metrics that a graph names."""
    return set(_entities(nquads, home))


def entity_of(graph: str, home: str) -> Entity | None:
    """The thing that a named graph is about; None for graphs of other things."""
    for kind in ("agents", "licences", "metrics"):
        start = f"{home}/{kind}/"
        if graph.startswith(start) and graph.endswith(graph_of("")):
            return Entity(kind, graph.removeprefix(start).removesuffix(graph_of("")))
    return None


def _entities(nquads: str, home: str) -> Iterator[Entity]:
    for predicate, iri in _STATEMENT.findall(nquads):
        own = predicate.removeprefix(f"{home}/ns")
        kind = _KIND_OF.get(own)
        if kind is None:
            continue
        if kind == "licences" and iri.startswith(LICENCE):
            yield Entity(kind, part(iri.removeprefix(LICENCE).lower()))
        elif iri.startswith(f"{home}/{kind}/"):
            yield Entity(kind, iri.removeprefix(f"{home}/{kind}/"))
