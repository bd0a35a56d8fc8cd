"""What each group of a list's filters offers, and how many models each value would leave.

Over everything the counts are of some time ago (`registry.core.public_counts`); over a choice they
are made from at most ``MATCHES`` matches. What a user may not see is not counted for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum

from hub.protocol import filters
from registry.catalogue import conditions, full_text, selectors
from registry.catalogue.query import Query
from registry.core import public_counts
from registry.core.permissions import Actor
from registry.models import DocumentFact, DocumentKeyword, SearchDocument
from registry.models.search import EVERYBODY

MATCHES = 2_500
VALUES = 50

# The filters that lists offer with counts. An exact bound is kept under the name of the other on
# its column, since both count that column.
GROUPS = {name: filter_ for name, filter_ in filters.FILTERS.items() if filter_.is_counted}
_KEPT_AS = {filters.OPSET.name: filters.OPSET_MAX.name}
_LICENCE, _KEYWORD = filters.LICENCE.name, filters.KEYWORD.name

# Between two pairs of a document; no card that people write holds it.
_BETWEEN = "\x1f"


class Facets(dict[str, list[tuple[str, int]]]):
    """For each group its values, with how many models each would leave."""

    capped = False
    """Whether only the first ``MATCHES`` matches were counted."""

    def __init__(self) -> None:
        super().__init__()
        self.missing_counts: dict[str, int] = {}
        """For each group that a model has one value of, how many models have none."""


def count(actor: Actor, query: Query) -> Facets:
    """What each group offers while the choices of the other groups hold."""
    queries: dict[Query, list[str]] = {}
    for group in GROUPS:
        queries.setdefault(query.without(group).in_any_order, []).append(group)
    facets = Facets()
    for wider, groups in queries.items():
        if wider == Query():
            counts, capped = _counts_everywhere(actor)
        else:
            counts, capped = _counts(conditions.matching(actor, wider), groups)
        facets.capped |= capped
        for group in groups:
            facets[group] = _values(group, counts[group])
            if _column(group):
                facets.missing_counts[group] = counts[group][""] + counts[group][None]
    if any(facets.values()) or query.near or not full_text.is_nowhere(actor, query.text):
        return facets
    return count(actor, replace(query, near=True))


def pairs(document: SearchDocument, facts: Collection[tuple[str, str]]) -> str:
    """What a document with these facts counts for, in the text that ``DocumentFacets`` holds.

    Of a group of bounds it is the least that is kept; each group that a document has one value of
    is there, with nothing behind the colon where it has none.
    """
    values: list[tuple[str, Any]] = []
    for group in (name for name in GROUPS if name not in _KEPT_AS):
        column, steps = _column(group), _steps(group)
        if group == _KEYWORD:
            values += [(group, word) for word in document.keywords]
        elif group == _LICENCE and (several := [fact for fact in facts if fact[0] == group]):
            values += several
        elif not column:
            values += [fact for fact in facts if fact[0] == group]
        else:
            value = getattr(document, column)
            values.append((group, _least(steps, value) if steps else value))
    written = (f"{group}:{'' if value is None else value}" for group, value in values)
    return _BETWEEN.join(pair for pair in written if _BETWEEN not in pair)


def _column(group: str) -> str:
    """The column of documents that has the one value of a group; empty where facts have several."""
    filter_ = GROUPS[group]
    if isinstance(filter_, filters.Bound):
        return filter_.attribute.column if filter_.attribute else ""
    return filter_.column if isinstance(filter_, filters.Choice) else ""


def _steps(group: str) -> tuple[int, ...]:
    """The bounds that a group offers; empty where it offers values of models."""
    filter_ = GROUPS[group]
    return filter_.steps if isinstance(filter_, filters.Bound) else ()


def _least(steps: tuple[int, ...], value: int | None) -> int | None:
    """The first bound that a value keeps; beyond the last, one more than that."""
    if value is None:
        return None
    return next((bound for bound in steps if value <= bound), steps[-1] + 1)


def of_documents(pks: Iterable[int], groups: Iterable[str]) -> dict[int, set[tuple[str, str]]]:
    """Group and value of each fact of these documents, which the actor may see, by their keys."""
    facts = DocumentFact.objects.filter(document__in=list(pks), group__in=list(groups)).order_by()
    by_document: dict[int, set[tuple[str, str]]] = {}
    for document, *fact in facts.values_list("document_id", "group", "value"):
        by_document.setdefault(document, set()).add((fact[0], fact[1]))
    return by_document


def totals(actor: Actor) -> dict[str, int]:
    """How many models are listed, their bytes, and the highest opset; public ones as kept."""
    public, *own = selectors.documents_apart(actor)
    sums: dict[str, int] = public_counts.get("counts:totals", lambda: _sums(public))
    for rows in own:
        more = _sums(rows)
        sums = {
            "models": sums["models"] + more["models"],
            "bytes": sums["bytes"] + more["bytes"],
            "opset": max(sums["opset"], more["opset"]),
        }
    return sums


def _sums(rows: QuerySet[SearchDocument]) -> dict[str, int]:
    sums = rows.exclude(latest=None).aggregate(
        models=Count("pk"), bytes=Sum("size"), opset=Max("opset")
    )
    return {key: value or 0 for key, value in sums.items()}


def _counts_everywhere(actor: Actor) -> tuple[dict[str, Counter[Any]], bool]:
    """What is public is counted for all who ask, and kept; what is the actor's own, at once."""
    public, *own = selectors.documents_apart(actor)
    public_ones = public_counts.get(
        "counts:facets",
        lambda: {group: _all_of(public, group) for group in GROUPS},
    )
    if not own:
        return public_ones, False
    counts, capped = _counts(own, list(GROUPS))
    return {group: public_ones[group] + counts[group] for group in GROUPS}, capped


def _all_of(rows: QuerySet[SearchDocument], group: str) -> Counter[Any]:
    """Count each value of a group in public documents; few are not public, so they are barred."""
    pairs: Iterable[tuple[Any, int]]
    column = _column(group)
    if _steps(group):
        return _bounded(rows, group)
    if not column:
        others = SearchDocument.objects.exclude(audience=EVERYBODY).values("pk")
        values: QuerySet[Any, Any] = (
            DocumentKeyword.objects.values_list("word")
            if group == _KEYWORD
            else DocumentFact.objects.filter(group=group).values_list("value")
        )
        pairs = values.exclude(document__in=others).annotate(models=Count("document")).order_by()
    elif group == _LICENCE:
        several = DocumentFact.objects.filter(
            group=group, document__in=rows.order_by().values("pk")
        )
        alone = rows.exclude(pk__in=several.values("document"))
        pairs = chain(
            alone.values_list(column).annotate(models=Count("pk")).order_by(),
            several.values_list("value").annotate(models=Count("document")).order_by(),
        )
        counts: Counter[Any] = Counter()
        for value, models in pairs:
            counts[value] += models
        return counts
    else:
        pairs = rows.values_list(column).annotate(models=Count("pk")).order_by()
    return Counter(dict(pairs))


def _bounded(rows: QuerySet[SearchDocument], group: str) -> Counter[Any]:
    """For each bound of a group how many documents stay at or below it."""
    column = _column(group)
    within = {
        str(bound): Count("pk", filter=Q(**{f"{column}__lte": bound})) for bound in _steps(group)
    }
    none = Count("pk", filter=Q(**{f"{column}__isnull": True}))
    counts = rows.order_by().aggregate(**within, missing=none)
    missing = counts.pop("missing")
    return Counter({int(bound): models for bound, models in counts.items()} | {None: missing})


def _counts(
    parts: list[QuerySet[SearchDocument]], groups: list[str]
) -> tuple[dict[str, Counter[Any]], bool]:
    """Count the values of some groups in the first ``MATCHES`` rows.

    One column is read of each row: that of a group alone, else all pairs of its model.
    """
    column = _column(groups[0]) if len(groups) == 1 else ""
    is_plain = bool(column) and groups[0] != _LICENCE
    rows: list[Any] = []
    for part in parts:
        values = part.order_by().values_list(column if is_plain else "facets__pairs", flat=True)
        rows += values[: MATCHES + 1 - len(rows)]
    capped = len(rows) > MATCHES
    rows = rows[:MATCHES]
    return {groups[0]: _counter(groups[0], rows)} if is_plain else _of_pairs(rows, groups), capped


def _of_pairs(rows: Iterable[str | None], groups: list[str]) -> dict[str, Counter[Any]]:
    """Count the values of these groups in the pairs of documents."""
    counters: dict[str, Counter[Any]] = {_KEPT_AS.get(group, group): Counter() for group in groups}
    every = chain.from_iterable(row.split(_BETWEEN) for row in rows if row)
    for pair, models in Counter(every).items():
        group, _, value = pair.partition(":")
        if group not in counters:
            continue
        is_number = group in filters.BOUNDS
        counters[group][(int(value) if value else None) if is_number else value] = models
    for group, counts in counters.items():
        within = {
            bound: sum(models for least, models in counts.items() if least and least <= bound)
            for bound in _steps(group)
        }
        if within:
            counters[group] = Counter({None: counts[None]} | within)
    return {group: counters[_KEPT_AS.get(group, group)] for group in groups}


def _counter(group: str, column: Iterable[Any]) -> Counter[Any]:
    """Count the values of a column, or those within each bound of its group."""
    steps = _steps(group)
    if not steps:
        return Counter(column)
    values = list(column)
    numbers = sorted(value for value in values if value is not None)
    within = {bound: bisect_right(numbers, bound) for bound in steps}
    return Counter({None: len(values) - len(numbers)} | within)


def _values(group: str, counts: Counter[Any]) -> list[tuple[str, int]]:
    """The values that say something: opsets from the highest, others from the most frequent."""
    if steps := _steps(group):
        return [(str(bound), counts[bound]) for bound in steps if counts.total()]
    pairs = [(value, count) for value, count in counts.items() if value not in ("", None)]
    if group in filters.BOUNDS:
        return [(str(value), count) for value, count in sorted(pairs, reverse=True)]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:VALUES]
