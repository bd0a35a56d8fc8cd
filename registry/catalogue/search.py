"""Listing and searching models: one index, two engines (SQLite FTS5, PostgreSQL full text).

Pages go on from a key, never from an offset; counts stop at 1,000; only a bounded set of candidates
is ranked. What a user may not see appears nowhere: not in pages, counts or facets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache as cache_function
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from hub.protocol import filters, problems, sorts
from registry.catalogue import accuracies, conditions, full_text, predictions, speeds
from registry.catalogue.query import Query
from registry.catalogue.summaries import COLUMNS, Summary
from registry.core import cursors, public_counts
from registry.core.permissions import Actor
from registry.core.prepared_queries import Prepared
from registry.models import DocumentSpeed, SearchDocument

COUNT_CAP = 1_000
CANDIDATES = COUNT_CAP
# How many of the most downloaded are looked at for a text that may be common.
WALK = 5_000

FASTEST, ACCURACY, UPDATED = (sort.name for sort in (sorts.FASTEST, sorts.ACCURACY, sorts.UPDATED))
# Column -> its name in what a list shows of the newest version.
_IN_LATEST = {
    attribute.column: attribute.key or attribute.column
    for attribute in (sort.attribute for sort in sorts.SORTS.values())
    if attribute and attribute.column not in COLUMNS
}
# Downloads, key and title of a document, and when it was deprecated.
_Candidate = tuple[int, int, str, datetime | None]
# The parts of the list by speed, with the sign that the key of each has; then come the unmeasured.
_MEASURED = ((DocumentSpeed.Status.ACCEPTED, 1), (DocumentSpeed.Status.NOISY, -1))


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents, how to go on, and how many match (at most ``COUNT_CAP`` are counted).

    The items are documents, or named tuples of the columns that were asked for.
    """

    items: list[Any]
    next: str | None
    count: int
    capped: bool


def find(
    actor: Actor, query: Query, *, limit: int = 20, cursor: str = "", columns: Sequence[str] = ()
) -> Page:
    """One page of the models that match; raises InvalidRequest for an unknown sort or cursor."""
    if query.sort not in conditions.ORDERS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(sorts.SORTS)}.")
    if query.sort == ACCURACY and not query.accuracy:
        raise problems.InvalidRequest.at(
            "/sort",
            "Sorting by accuracy needs a limit of it, since figures of different metrics and data "
            "sets have no order: add `min` or `max`, such as min=accuracy@digits=0.5.",
        )
    if query.sort == FASTEST:
        page = _fastest(actor, query, limit, cursor, columns)
    elif query.sort == ACCURACY:
        page = _most_accurate(actor, query, limit, cursor, columns)
    elif query.text and query.sort == UPDATED:
        page = _ranked(actor, query, limit, cursor, columns)
    else:
        page = _keyset(actor, query, limit, cursor, columns)
    if page.items or query.near or not full_text.is_nowhere(actor, query.text):
        return page
    return find(actor, replace(query, near=True), limit=limit, cursor=cursor, columns=columns)


def best_proven(actor: Actor, query: Query) -> SearchDocument | None:
    """The best proven of the models that match, the newest of several; None where none is."""
    rows = (
        part.filter(proof_rank__isnull=False, deprecated_at=None)
        .select_related("model")
        .order_by("-proof_rank", "-pk")
        for part in conditions.matching(actor, query)
    )
    best = filter(None, (part.first() for part in rows))
    return max(best, key=lambda row: (row.proof_rank, row.pk), default=None)


def _ranked(actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]) -> Page:
    """The best of the most downloaded candidates: exact name, then prefix, then word, then text.

    Of equal ones, what is deprecated comes last.
    """
    # Ranks need the title alone, so no document is read but those of the page. Among equal ranks
    # the sort is stable: the most downloaded comes first.
    candidates: list[_Candidate] = []
    every = conditions.matching(actor, replace(query, text=""))
    for place, rows in enumerate(conditions.matching(actor, query)):
        candidates += _walked(every[place], query) or _popular(rows)[: CANDIDATES + 1]
    candidates.sort(key=lambda row: row[:3], reverse=True)
    text = query.text.strip('" ').lower()
    terms = full_text.terms(query.text)

    def rank(title: str) -> int:
        full = title.lower()
        name = full.partition("/")[2]
        if text in (full, name):
            return 0
        if name.startswith(text) or full.startswith(text):
            return 1
        if not all(term in full for term in terms):
            return 4
        return 2 if set(terms) <= set(full_text.terms(title)) else 3

    best = sorted(candidates[:CANDIDATES], key=lambda row: (rank(row[2]), row[3] is not None))
    order = [pk for _, pk, *_ in best]
    start = cursors.position(cursor, CANDIDATES)
    return Page(
        items=_rows(order[start : start + limit], columns),
        next=cursors.encode([start + limit]) if start + limit < len(order) else None,
        count=min(len(candidates), COUNT_CAP),
        capped=len(candidates) > COUNT_CAP,
    )


def _popular(rows: QuerySet[SearchDocument], *columns: str) -> QuerySet[Any, Any]:
    ordered = rows.order_by("-downloads", "-pk")
    return ordered.values_list("downloads", "pk", "title", "deprecated_at", *columns)


def _walked(rows: QuerySet[SearchDocument], query: Query) -> list[_Candidate]:
    """The candidates where enough of the most downloaded match; else none of them."""
    if query.near or _narrows(replace(query, text="")) or not full_text.may_be_common(query.text):
        return []
    matches = rows.annotate(matches=full_text.match(query.text))
    first = [tuple(row) for *row, is_match in _popular(matches, "matches")[:WALK] if is_match]
    return first[: CANDIDATES + 1] if len(first) > CANDIDATES else []


def _fastest(actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]) -> Page:
    """Those that were measured in the query's setup, from the least p50; then the others, newest.

    Accepted results come before noisy ones; where predictions count, they are in one order with the
    accepted ones. The key of a page's last row says in which of the three parts it was: a number of
    milliseconds, one below zero, or a time. A limit of latency leaves the first part alone.
    """
    # A page begins in the part of its cursor and goes on into the next ones until it is full; one
    # more row than it shows says whether another page follows.
    is_limited = query[filters.MAX_LATENCY] is not None
    parts = conditions.matching(actor, query.without(filters.MAX_LATENCY.name))
    begun, cursor = _part_of(cursor)
    keys: list[tuple[Any, int]] = []
    for part, (status, sign) in enumerate(_MEASURED[:1] if is_limited else _MEASURED):
        if part >= begun and len(keys) <= limit:
            at = cursor if part == begun else ""
            rows = _measured(parts, query, status, at, limit + 1 - len(keys))
            keys += [(sign * p50, pk) for p50, pk in rows]
    if len(keys) <= limit and not is_limited:
        at_rest = begun == len(_MEASURED)
        after = cursors.after("updated_at", cursor, down=True) if at_rest else Q()
        rest: list[tuple[Any, int]] = []
        for documents in parts:
            others = speeds.unmeasured(documents, query.setup).filter(after)
            if query.predicted:
                expected = predictions.predicted(documents, query.setup)
                others = others.exclude(pk__in=expected.order_by().values("pk"))
            rest += _ordered(others, UPDATED).values_list("updated_at", "pk")[: limit + 1]
        keys += sorted(rest, reverse=True)[: limit + 1 - len(keys)]
    following = None
    if len(keys) > limit:
        value, pk = keys[limit - 1]
        following = cursors.encode([value if isinstance(value, float) else value.isoformat(), pk])
    items = _rows([pk for _, pk in keys[:limit]], columns)
    if is_limited:
        ranked = _in_order(parts, query, DocumentSpeed.Status.ACCEPTED)
        parts = [rows.order_by() for rows, _ in ranked]
    count = _count(parts, query) if cursor or following else len(items)
    return Page(items, following, min(count, COUNT_CAP), count > COUNT_CAP)


def _most_accurate(
    actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]
) -> Page:
    """Those that keep the first limit of accuracy, the best figure first."""
    parts, first = conditions.matching(actor, query), query.accuracy[0]
    down = not first.is_maximum
    sign = "-" if down else ""
    after = cursors.after(accuracies.BEST, cursor, down=down) if cursor else Q()
    keys: list[tuple[float, int]] = []
    for documents in parts:
        rows = accuracies.ranked(documents, first).filter(after)
        ordered = rows.order_by(f"{sign}{accuracies.BEST}", f"{sign}pk")
        keys += ordered.values_list(accuracies.BEST, "pk")[: limit + 1]
    keys.sort(reverse=down)
    following = cursors.encode(list(keys[limit - 1])) if len(keys) > limit else None
    items = _rows([pk for _, pk in keys[:limit]], columns)
    count = _count(parts, query) if cursor or following else len(items)
    return Page(items, following, min(count, COUNT_CAP), count > COUNT_CAP)


def _part_of(cursor: str) -> tuple[int, str]:
    """In which part of a list by speed a key lies, and the key as that part has it."""
    if not cursor:
        return 0, ""
    if cursors.is_time(cursor):
        return len(_MEASURED), cursor
    value, pk = cursors.decode(cursor)
    return (1, cursors.encode([-value, pk])) if value < 0 else (0, cursor)


def _measured(
    parts: Sequence[QuerySet[SearchDocument]], query: Query, status: str, cursor: str, most: int
) -> list[tuple[float, int]]:
    """The p50 and the key of those with a result of this status, from the least."""
    keys: list[tuple[float, int]] = []
    for rows, column in _in_order(parts, query, status):
        after = cursors.after(column, cursor, down=False) if cursor else Q()
        keys += rows.filter(after).order_by(column, "pk").values_list(column, "pk")[:most]
    return sorted(keys)[:most]


def _in_order(
    parts: Sequence[QuerySet[SearchDocument]], query: Query, status: str
) -> Iterator[tuple[QuerySet[SearchDocument], str]]:
    """Those with a result of this status that keeps the query's limit, with the column to order by.

    Predictions that count stand among the accepted results.
    """
    limit = query[filters.MAX_LATENCY]
    for documents in parts:
        yield speeds.measured(documents, query.setup, status, limit), speeds.P50
        if query.predicted and status == DocumentSpeed.Status.ACCEPTED:
            yield predictions.predicted(documents, query.setup, limit), predictions.P50


def _rows(pks: Sequence[int], columns: Sequence[str]) -> list[Any]:
    """The rows of these documents, which the actor may see, in this order.

    Asked for the audience again, SQLite would walk all of it.
    """
    rows = SearchDocument.objects.filter(pk__in=pks).order_by()
    by_pk = {row.pk: row for row in _selected(rows, columns)}
    return [by_pk[pk] for pk in pks if pk in by_pk]


def _narrows(query: Query) -> bool:
    return query.in_any_order != Query()


def _order(sort: str) -> tuple[str, bool]:
    """The column of an order, and whether its largest value comes first."""
    order = conditions.ORDERS[sort]
    return order.attribute.column if order.attribute else order.column, order.is_descending


def _ordered(rows: QuerySet[SearchDocument], sort: str) -> QuerySet[SearchDocument]:
    column, down = _order(sort)
    sign = "-" if down else ""
    return rows.order_by(f"{sign}{column}", f"{sign}pk")


@cache_function
def _front(sort: str, limit: int) -> Prepared:
    """The first page of everything as a guest sees it, the list that is asked for most."""

    def make() -> QuerySet[Any, Any]:
        (rows,) = conditions.matching(AnonymousUser(), Query(sort=sort))
        return _ordered(rows, sort).values_list(*COLUMNS)[: limit + 1]

    return Prepared(make)


def _count(parts: list[QuerySet[SearchDocument]], query: Query) -> int:
    """How many match, at most one above the cap; that all models are more is remembered."""
    everything = query.sort in (UPDATED, sorts.DOWNLOADS.name, FASTEST) and not _narrows(query)
    if everything and public_counts.get("counts:many", lambda: None):
        return COUNT_CAP + 1
    counts = [rows.order_by()[: COUNT_CAP + 1].count() for rows in parts]
    if everything and counts[0] > COUNT_CAP:
        public_counts.get("counts:many", lambda: True)
    return sum(counts)


def _selected(rows: QuerySet[SearchDocument], columns: Sequence[str]) -> QuerySet[Any, Any]:
    if columns:
        return rows.values_list(*columns, named=True)
    return rows.select_related("model")


def _key(row: Any, column: str) -> Any:
    """What a row is sorted by; of the columns of a summary some are in `latest` alone."""
    name = _IN_LATEST.get(column, "")
    return row.latest[name] if name and not hasattr(row, column) else getattr(row, column)


def _keyset(actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]) -> Page:
    """The rows after the cursor's key, of each part as many as a page holds, in one order."""
    column, down = _order(query.sort)
    if columns and column not in columns and not ("latest" in columns and column in _IN_LATEST):
        columns = (*columns, column)
    # Only the database knows the order of names (its collation), so their parts are not merged.
    parts = conditions.matching(actor, query, apart=column != "title")
    after = cursors.after(column, cursor, down=down) if cursor else None
    documents: list[Any] = []
    if columns == COLUMNS and not (actor.is_authenticated or cursor or _narrows(query)):
        documents += [Summary(*row) for row in _front(query.sort, limit).rows()]
    else:
        for rows in parts:
            rest = rows.filter(after) if after else rows
            documents += _selected(_ordered(rest, query.sort), columns)[: limit + 1]
    if len(parts) > 1:
        documents.sort(key=lambda row: (_key(row, column), row.pk), reverse=down)
    items = documents[:limit]
    following = None
    if len(documents) > limit:
        value = _key(items[-1], column)
        key = value.isoformat() if column == "updated_at" else value
        following = cursors.encode([key, items[-1].pk])
    count = _count(parts, query) if cursor or following else len(items)
    return Page(items, following, min(count, COUNT_CAP), count > COUNT_CAP)
