"""The only reads of stored graphs for people: a malformed one is left out, and others are shown.

Nothing malformed is written (`services.put_graph`), but a damaged database or an older release may
have left some. `hub graphs` names them on the page of health; a rebuild replaces them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import structlog

from metadata.models import NamedGraph
from metadata.rdf import parsing
from registry.core.prepared_queries import Prepared

log = structlog.get_logger(__name__)


def of(iri: str) -> str:
    """The text of a graph; empty where there is none, or none that can be read."""
    return next((text for _, text in readable(_NAMED.rows(iri))), "")


_NAMED = Prepared(lambda iri: NamedGraph.objects.filter(iri=iri).values_list("iri", "nquads"))


def readable(graphs: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, str]]:
    """Those of these graphs, each an IRI and its text, that can be read, in their order."""
    for iri, nquads in graphs:
        try:
            parsing.parse(iri, nquads)
        except parsing.RefusedGraphError as error:
            log.warning("graph_malformed", graph=iri, reason=str(error))
        else:
            yield iri, nquads
