"""The only writes of graphs: revisions rise in the order in which transactions commit."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.utils import timezone

from metadata.models import NamedGraph, Revision
from metadata.rdf import parsing
from registry.models import Version


@transaction.atomic
def put_graph(iri: str, nquads: str, version: Version | None = None) -> bool:
    """Store a graph's text under the next revision; False where it is stored already.

    Raises RefusedGraphError for text that is not N-Quads of this graph.
    """
    sha256 = digest(nquads)
    counter = lock_counter()
    stored = NamedGraph.objects.filter(iri=iri).first()
    if stored is not None and stored.nquads == nquads and stored.sha256 == sha256:
        return False
    parsing.parse(iri, nquads)
    counter.number += 1
    counter.save(update_fields=["number"])
    NamedGraph.objects.update_or_create(
        iri=iri,
        defaults={
            "version": version,
            "nquads": nquads,
            "sha256": sha256,
            "revision": counter.number,
            "updated_at": timezone.now(),
        },
    )
    return True


def lock_counter() -> Revision:
    """The counter, locked until the transaction ends: no one else writes graphs meanwhile."""
    rows = Revision.objects.select_for_update().filter(pk=1)
    if counter := rows.first():
        return counter
    Revision.objects.get_or_create(pk=1)
    return rows.get()


def remove_graph(iri: str) -> bool:
    """Empty a graph that may have been published; False where there is nothing to empty."""
    graph = NamedGraph.objects.filter(iri=iri).exclude(nquads="").select_related("version").first()
    return graph is not None and put_graph(iri, "", graph.version)


def digest(nquads: str) -> str:
    """The SHA-256 of a graph's text, as its row has it."""
    return hashlib.sha256(nquads.encode()).hexdigest()
