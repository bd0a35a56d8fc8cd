"""The models with the most evidence, one for each of the largest tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hub.protocol import filters
from hub.protocol.vocabularies import REFERENCE
from registry.catalogue import facets, search
from registry.catalogue.query import Query
from registry.core import public_counts
from registry.models import SearchDocument
from registry.models.search import EVERYBODY

if TYPE_CHECKING:
    from registry.core.permissions import Actor

# Of the models of a task that pass on a runtime, the last updated are looked at.
CANDIDATES = 20
MOST = 6
_PASSES, _FAILS = filters.PASSES_ON.name, filters.FAILS_ON.name
_GROUPS = (_PASSES, _FAILS, filters.EVIDENCE.name)


def runtime_of(counts: facets.Facets) -> str:
    """The runtime, apart from the reference, that most models pass on; empty where none does."""
    return next((name for name, _ in counts[_PASSES] if name != REFERENCE), "")


def of(actor: Actor, counts: facets.Facets) -> Sequence[SearchDocument]:
    """The models that home leads with; guests get those of some time ago."""
    if actor.is_authenticated:
        return _best(actor, counts)
    keys: list[int] = public_counts.get(
        "counts:proven", lambda: [document.pk for document in _best(actor, counts)] or None
    )
    rows = SearchDocument.objects.filter(audience=EVERYBODY, pk__in=keys or ())
    by_key = {row.pk: row for row in rows.select_related("model")}
    return [by_key[key] for key in keys or () if key in by_key]


def _best(actor: Actor, counts: facets.Facets) -> Sequence[SearchDocument]:
    """The best proven model of each task, the tasks with the most models first.

    Better proven is what fails nowhere, then what passes on more runtimes, then what has more kinds
    of evidence, then what was updated last.
    """
    runtime = runtime_of(counts)
    if not runtime:
        return ()
    # Of each task by itself: many new models of one task, or of none, hide no other task.
    queries = [Query.of(passes_on=(runtime,), task=(task,)) for task, _ in counts["task"][:MOST]]
    queries.append(Query.of(passes_on=(runtime,)))
    pages = [search.find(actor, query, limit=CANDIDATES) for query in queries]
    published = [document for page in pages for document in page.items if document.latest]
    facts = facets.of_documents({document.pk for document in published}, _GROUPS)

    def proof(document: SearchDocument) -> tuple[bool, int, int]:
        groups = [group for group, _ in facts.get(document.pk, ())]
        return (_FAILS not in groups, groups.count(_PASSES), groups.count(filters.EVIDENCE.name))

    best: dict[str, SearchDocument] = {}
    # Sorting keeps the order of what is equally proven: the last updated first.
    for document in sorted(published, key=proof, reverse=True):
        best.setdefault(document.task, document)
    order = {task: at for at, (task, _) in enumerate(counts["task"])}
    return sorted(best.values(), key=lambda model: order.get(model.task, len(order)))[:MOST]
