"""The best proven model of each of the largest tasks, which home leads with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from frontend.presenters import figures, runtime_columns, speed_column
from hub.protocol import filters
from hub.protocol.figures import Figure, Unit, absent
from registry.catalogue import accuracies, facets, search, speeds
from registry.catalogue.query import Query
from registry.core import public_counts
from registry.core.permissions import Actor
from registry.core.prepared_queries import Prepared
from registry.models import DocumentAccuracy, SearchDocument
from registry.models.search import EVERYBODY

MOST = 6


def of(actor: Actor, counts: facets.Facets) -> Sequence[SearchDocument]:
    """One model for each task, the tasks with the most models first; guests get those of a while.

    Empty where no model passes on a runtime.
    """
    if actor.is_authenticated:
        return _best(actor, counts)
    keys: list[int] = public_counts.get(
        "counts:proven", lambda: [document.pk for document in _best(actor, counts)]
    )
    # Those that have been hidden since are not among the rows.
    rows = _by_keys.instances(*keys, *[0] * (MOST - len(keys))) if keys else ()
    by_key = {row.pk: row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


@Prepared
def _by_keys(*keys: int) -> QuerySet[SearchDocument]:
    rows = SearchDocument.objects.filter(audience=EVERYBODY, pk__in=keys)
    return rows.select_related("model")


def columns(actor: Actor, documents: Sequence[SearchDocument]) -> dict[str, Any]:
    """What stands beside each model: accuracy, latency where most were timed, and verdicts."""
    pks = [document.pk for document in documents]
    headlines = accuracies.headlines(pks)
    facts = facets.of_documents(pks, (filters.PASSES_ON.name,))
    runtimes = Counter(value for rows in facts.values() for _, value in rows)
    return {
        "accuracies": {pk: _accuracy(headlines.get(pk)) for pk in pks},
        "column": speed_column.of(Query(), speeds.offers(actor), documents),
        "passing": runtime_columns.of([name for name, _ in runtimes.most_common()], documents),
    }


def _accuracy(row: DocumentAccuracy | None) -> tuple[Figure, str]:
    """The figure, and of what it is one."""
    if row is None:
        return absent(Unit.SHARE), ""
    return row.figure, f"{figures.title(row.metric)} on {row.dataset}@{row.version}"


def _best(actor: Actor, counts: facets.Facets) -> Sequence[SearchDocument]:
    # Of each task by itself, from an index: many models of one task, or of none, hide no other.
    queries = [Query.of(task=(task,)) for task, _ in counts["task"][:MOST]] or [Query()]
    best = (search.best_proven(actor, query) for query in queries)
    return [document for document in best if document is not None]
