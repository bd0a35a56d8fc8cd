"""Reading the text of a named graph: N-Quads of that graph alone, or a refusal that says why."""

from __future__ import annotations

import pyoxigraph

Quads = list[pyoxigraph.Quad]


class RefusedGraphError(ValueError):
    """A graph that no store takes; the message names the graph and the reason."""

    def __init__(self, iri: str, reason: object) -> None:
        super().__init__(f"The graph {iri[:500]!r} cannot be stored: {str(reason)[:500]}")


def parse(iri: str, nquads: str) -> Quads:
    """The statements of a graph's text, blank nodes apart from those of other graphs.

    Raises RefusedGraphError for text or a name that is malformed, and for statements of another
    graph. Source: RDF 1.1 N-Quads.
    """
    try:
        own = pyoxigraph.NamedNode(iri)
        quads = list(
            pyoxigraph.parse(
                nquads.encode(), format=pyoxigraph.RdfFormat.N_QUADS, rename_blank_nodes=True
            )
        )
    except (SyntaxError, ValueError) as error:
        raise RefusedGraphError(iri, error) from None
    if any(quad.graph_name != own for quad in quads):
        raise RefusedGraphError(iri, "it has statements of another graph")
    return quads
