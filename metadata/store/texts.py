"""The only reads of stored graphs for people: a malformed one is left out, and others are shown.

Nothing malformed is written (`services.put_graph`), but a damaged database or an older release may
have left some. `hub graphs` names them on the page of health; a rebuild replaces them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import structlog

from metadata.models import NamedGraph
from metadata.rdf import parsing

log = structlog.get_logger(__name__)


def of(iri: str) -> str:
    """The text of a graph; empty where there is none, or none that can be read."""
    rows = NamedGraph.objects.filter(iri=iri).values_list("iri", "nquads")
    return next((text for _, text in readable(rows)), "")


def readable(graphs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Those of these graphs, each an IRI and its text, that can be read, in their order."""
    for iri, nquads in graphs:
        try:
            parsing.parse(iri, nquads)
        except parsing.RefusedGraphError as error:
            log.warning("graph_malformed", graph=iri, reason=str(error))
        else:
            yield iri, nquads
