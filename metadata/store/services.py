"""The only writes of graphs: revisions rise in the order in which transactions commit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from metadata.models import NamedGraph, Revision

if TYPE_CHECKING:
    from registry.models import Version


@transaction.atomic
def put_graph(iri: str, nquads: str, version: Version | None = None) -> bool:
    """Store a graph's text under the next revision; False where it is stored already."""
    sha256 = digest(nquads)
    counter = lock_counter()
    known = NamedGraph.objects.filter(iri=iri).first()
    if known is not None and known.nquads == nquads and known.sha256 == sha256:
        return False
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
    """The counter, held until the transaction ends: nobody else writes graphs meanwhile."""
    held = Revision.objects.select_for_update().filter(pk=1)
    if counter := held.first():
        return counter
    Revision.objects.get_or_create(pk=1)
    return held.get()


def remove_graph(iri: str) -> bool:
    """Empty a graph that may have been published; False where there is nothing to empty."""
    known = NamedGraph.objects.filter(iri=iri).exclude(nquads="").select_related("version").first()
    return known is not None and put_graph(iri, "", known.version)


def digest(nquads: str) -> str:
    """The SHA-256 of a graph's text, as its row has it."""
    return hashlib.sha256(nquads.encode()).hexdigest()
