"""Listing and searching models: one index, two engines (SQLite FTS5, PostgreSQL full text).

Pages go on from a key, never from an offset; counts stop at 1,000; only a bounded set of candidates
is ranked. What somebody may not see takes part in nothing: not in pages, counts or facets.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache as cache_function
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Count, F, Max, Q, Sum

from hub.protocol import problems
from registry import cursors, full_text, kept, selectors, tags
from registry.models import DocumentFact, DocumentKeyword, RegisteredModel, SearchDocument
from registry.models.search import EVERYBODY
from registry.prepared import Prepared
from registry.summaries import COLUMNS, Summary
from registry.tasks import TASKS_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet

    from registry.permissions import Actor

COUNT_CAP = 1_000
CANDIDATES = COUNT_CAP
FACET_MATCHES = 10_000
FACET_VALUES = 50
# Parameters that one question to SQLite may have, with room to spare.
IDS_AT_ONCE = 10_000

# Sort word -> (column, whether the largest comes first).
SORTS = {
    "updated": ("updated_at", True),
    "downloads": ("downloads", True),
    "name": ("title", False),
    "size": ("size", False),
    "carbon": ("carbon_kg", False),
}
# Sorts by what not every model has: those without it are left out.
SPARSE = ("size", "carbon", "largest", "parameters")
# The orders of the Hub protocol, all of them with the largest first.
ORDERS = SORTS | {
    "created": ("pk", True),
    "modified": ("updated_at", True),
    "parameters": ("parameters", True),
    "largest": ("size", True),
    "name-down": ("title", True),
}


@dataclass(frozen=True, slots=True)
class Query:
    """What a list is asked for. Values of one group are alternatives; groups narrow each other.

    Of the groups in CUMULATIVE a model must have every value. All of them go by the newest
    published version.
    """

    text: str = ""
    contains: str = ""
    sort: str = "updated"
    namespace: tuple[str, ...] = ()
    license: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    keyword: tuple[str, ...] = ()
    precision: tuple[str, ...] = ()
    opset_max: int | None = None
    tags: tuple[str, ...] = ()
    """Each of these must hold: a keyword, task, library or language, or `license:`, `dataset:` …"""

    operator: tuple[str, ...] = ()
    pixel_format: tuple[str, ...] = ()
    personal_data: tuple[str, ...] = ()
    passes_on: tuple[str, ...] = ()
    fails_on: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    near: bool = False
    """Whether names with one typo in them are meant, since no text holds what was written."""

    def without(self, group: str) -> Query:
        """The same query with one group's choice lifted."""
        lifted: dict[str, Any] = {group: getattr(_NOTHING, group)}
        return replace(self, **lifted)


_NOTHING = Query()
# Groups whose values are facts of documents, see registry.searchable.
FACTS = ("operator", "pixel_format", "personal_data", "passes_on", "fails_on", "evidence")
CUMULATIVE = ("passes_on", "evidence")


# Group -> column; those of facts have none.
FACETS = {
    "task": "task",
    "license": "license",
    "precision": "precision",
    "namespace": "namespace_slug",
    "keyword": "keywords",
    "opset_max": "opset",
    "passes_on": "",
    "evidence": "",
}


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents, how to go on, and how many match (at most ``COUNT_CAP`` are counted).

    The items are documents, or named tuples of the columns that were asked for.
    """

    items: list[Any]
    next: str | None
    count: int
    capped: bool


class Facets(dict[str, list[tuple[str, int]]]):
    """For each group its values, with how many models each would leave."""

    capped = False
    """Whether only the first ``FACET_MATCHES`` matches were counted."""

    def __init__(self) -> None:
        super().__init__()
        self.untold: dict[str, int] = {}
        """For each group that a model has one value of, how many models have none."""


def find(
    actor: Actor, query: Query, *, limit: int = 20, cursor: str = "", columns: Sequence[str] = ()
) -> Page:
    """One page of the models that match; raises InvalidRequest for an unknown sort or cursor."""
    if query.sort not in ORDERS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    ranked = query.text and query.sort == "updated"
    page = (_ranked if ranked else _keyset)(actor, query, limit, cursor, columns)
    if page.items or query.near or not full_text.is_nowhere(actor, query.text):
        return page
    return find(actor, replace(query, near=True), limit=limit, cursor=cursor, columns=columns)


def facets(actor: Actor, query: Query) -> Facets:
    """What each group offers while the choices of the other groups hold.

    Over everything the counts are up to ``kept.SECONDS`` old; over a search they are made from at
    most ``FACET_MATCHES`` matches.
    """
    wanted: dict[Query, list[str]] = {}
    for group in FACETS:
        wanted.setdefault(replace(query.without(group), sort="updated"), []).append(group)
    found = Facets()
    for wider, groups in wanted.items():
        if wider == Query():
            counted, capped = _counted_everywhere(actor)
        else:
            counted, capped = _counted(_matching(actor, wider), groups)
        found.capped |= capped
        for group in groups:
            found[group] = _listed(group, counted[group])
            if FACETS[group] not in ("", "keywords"):
                found.untold[group] = counted[group][""] + counted[group][None]
    if any(found.values()) or query.near or not full_text.is_nowhere(actor, query.text):
        return found
    return facets(actor, replace(query, near=True))


def totals(actor: Actor) -> dict[str, int]:
    """How many models are listed, their bytes, and the highest opset; public ones as kept."""
    public, *own = selectors.documents_apart(actor)
    sums: dict[str, int] = kept.counted("search:totals", lambda: _sums(public))
    for rows in own:
        more = _sums(rows)
        sums = {
            "models": sums["models"] + more["models"],
            "bytes": sums["bytes"] + more["bytes"],
            "opset": max(sums["opset"], more["opset"]),
        }
    return sums


def count_download(model_id: int) -> None:
    """Add one to a model's downloads, in its row and in its document."""
    with transaction.atomic():
        RegisteredModel.objects.filter(pk=model_id).update(downloads=F("downloads") + 1)
        SearchDocument.objects.filter(pk=model_id).update(downloads=F("downloads") + 1)


def _sums(rows: QuerySet[SearchDocument]) -> dict[str, int]:
    sums = rows.exclude(latest=None).aggregate(
        models=Count("pk"), bytes=Sum("size"), opset=Max("opset")
    )
    return {key: value or 0 for key, value in sums.items()}


def _counted_everywhere(actor: Actor) -> tuple[dict[str, Counter[Any]], bool]:
    """What is public is counted for all who ask, and kept; what is the actor's own, at once."""
    public, *own = selectors.documents_apart(actor)
    public_ones = kept.counted(
        "search:facets",
        lambda: {group: _all_of(public, group) for group in FACETS},
    )
    if not own:
        return public_ones, False
    counted, capped = _counted(own, list(FACETS))
    return {group: public_ones[group] + counted[group] for group in FACETS}, capped


def _all_of(rows: QuerySet[SearchDocument], group: str) -> Counter[Any]:
    """Count each value of a group in public documents; few are not public, so they are barred."""
    pairs: Iterable[tuple[Any, int]]
    column = FACETS[group]
    if column in ("", "keywords"):
        others = SearchDocument.objects.exclude(audience=EVERYBODY).values("pk")
        listed: QuerySet[Any, Any] = (
            DocumentKeyword.objects.values_list("word")
            if column
            else DocumentFact.objects.filter(group=group).values_list("value")
        )
        pairs = listed.exclude(document__in=others).annotate(models=Count("pk")).order_by()
    else:
        pairs = rows.values_list(column).annotate(models=Count("pk")).order_by()
    return Counter(dict(pairs))


def _counted(
    parts: list[QuerySet[SearchDocument]], groups: list[str]
) -> tuple[dict[str, Counter[Any]], bool]:
    """Count the values of some groups in the first ``FACET_MATCHES`` rows."""
    plain = [group for group in groups if FACETS[group]]
    rows: list[tuple[Any, ...]] = []
    for part in parts:
        columns = part.order_by().values_list("pk", *(FACETS[group] for group in plain))
        rows += columns[: FACET_MATCHES + 1 - len(rows)]
    capped = len(rows) > FACET_MATCHES
    rows = rows[:FACET_MATCHES]
    pks, *values = zip(*rows, strict=True) if rows else ((),) * (len(plain) + 1)
    counted = {
        group: Counter(word for words in column for word in words)
        if group == "keyword"
        else Counter(column)
        for group, column in zip(plain, values, strict=True)
    }
    facts = [group for group in groups if not FACETS[group]]
    return counted | _counted_facts(pks, facts), capped


def _counted_facts(pks: Sequence[int], groups: list[str]) -> dict[str, Counter[Any]]:
    """Count the facts of some groups that these documents have."""
    counted: dict[str, Counter[Any]] = {group: Counter() for group in groups}
    for start in range(0, len(pks) if groups else 0, IDS_AT_ONCE):
        rows = DocumentFact.objects.filter(
            group__in=groups, document__in=pks[start : start + IDS_AT_ONCE]
        )
        pairs = rows.values_list("group", "value").annotate(models=Count("pk")).order_by()
        for group, value, models in pairs:
            counted[group][value] += models
    return counted


def _listed(group: str, counted: Counter[Any]) -> list[tuple[str, int]]:
    """The values that say something: opsets from the highest, others from the most frequent."""
    pairs = [(value, count) for value, count in counted.items() if value not in ("", None)]
    if group == "opset_max":
        return [(str(value), count) for value, count in sorted(pairs, reverse=True)]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES]


def _matching(actor: Actor, query: Query, *, apart: bool = True) -> list[QuerySet[SearchDocument]]:
    """What the actor may see and the query asks for, public and own apart unless told."""
    parts = selectors.documents_apart(actor) if apart else [selectors.documents(actor)]
    conditions = _conditions(query)
    if query.text:
        found = full_text.match(query.text, near=query.near)
        return [rows.filter(conditions).filter(found) for rows in parts] if found else []
    return [rows.filter(conditions) for rows in parts] if conditions else parts


def _tagged(wanted: Iterable[str]) -> Q:
    """The condition that a model has all these tags of the Hub protocol."""
    conditions = Q()
    for tag in wanted:
        conditions &= _has_tag(tag)
    return conditions


def _has_tag(tag: str) -> Q:
    if tag == "onnx":
        return Q(latest__isnull=False)  # nothing is published without a model
    prefix, _, value = tag.partition(":")
    if prefix == "license":
        return Q(license=value.lower())
    if prefix == "gated":
        is_open = Q(model__gate="open")
        return is_open if value in ("false", "0") else ~is_open
    words = DocumentKeyword.objects.filter(word=tag.lower())
    facts = DocumentFact.objects.filter(group=tags.GROUP, value__in=tags.spellings(tag))
    return (
        Q(task=tag) | Q(pk__in=words.values("document_id")) | Q(pk__in=facts.values("document_id"))
    )


def _conditions(query: Query) -> Q:
    """Everything that the query asks for but its text."""
    tasks = [task for domain in query.domain for task in TASKS_OF.get(domain.lower(), ())]
    conditions = Q()
    for column, asked, values in (
        ("namespace_slug__in", query.namespace, query.namespace),
        ("license__in", query.license, tuple(value.lower() for value in query.license)),
        ("task__in", query.task, query.task),
        ("task__in", query.domain, tuple(tasks)),
        ("precision__in", query.precision, query.precision),
    ):
        if asked:
            conditions &= Q(**{column: values})
    if query.keyword:
        words = DocumentKeyword.objects.filter(word__in=[word.lower() for word in query.keyword])
        conditions &= Q(pk__in=words.values("document_id"))
    for group in FACTS:
        values = getattr(query, group)
        for chosen in [[value] for value in values] if group in CUMULATIVE else [values]:
            if chosen:
                facts = DocumentFact.objects.filter(group=group, value__in=chosen)
                conditions &= Q(pk__in=facts.values("document_id"))
    if query.opset_max is not None:
        conditions &= Q(opset__lte=query.opset_max)
    if query.contains:
        part = query.contains
        said = Q(model__name__icontains=part) | Q(latest__summary__icontains=part)
        conditions &= Q(latest__isnull=False) & said
    conditions &= _tagged(query.tags)
    if query.sort in SPARSE:
        conditions &= Q(**{f"{ORDERS[query.sort][0]}__isnull": False})
    return conditions


def _ranked(actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]) -> Page:
    """The best of the most downloaded candidates: exact name, then prefix, then word, then text."""
    candidates: list[tuple[int, int, str]] = []
    for rows in _matching(actor, query):
        popular = rows.order_by("-downloads", "-pk").values_list("downloads", "pk", "title")
        candidates += popular[: CANDIDATES + 1]
    candidates.sort(reverse=True)
    wanted = query.text.strip().lower()
    terms = full_text.terms(query.text)

    def rank(title: str) -> int:
        full = title.lower()
        name = full.partition("/")[2]
        if wanted in (full, name):
            return 0
        if name.startswith(wanted) or full.startswith(wanted):
            return 1
        if not all(term in full for term in terms):
            return 4
        return 2 if set(terms) <= set(full_text.terms(title)) else 3

    best = sorted(candidates[:CANDIDATES], key=lambda row: rank(row[2]))
    order = [pk for _, pk, _ in best]
    start = cursors.position(cursor, CANDIDATES)
    chosen = order[start : start + limit]
    # Chosen from what the actor may see; asked for the audience again, SQLite would walk all of it.
    rows = SearchDocument.objects.filter(pk__in=chosen).order_by()
    by_pk = {row.pk: row for row in _shown(rows, columns)}
    return Page(
        items=[by_pk[pk] for pk in chosen if pk in by_pk],
        next=cursors.encode([start + limit]) if start + limit < len(order) else None,
        count=min(len(candidates), COUNT_CAP),
        capped=len(candidates) > COUNT_CAP,
    )


def _narrows(query: Query) -> bool:
    return replace(query, sort="updated") != Query()


def _ordered(rows: QuerySet[SearchDocument], sort: str) -> QuerySet[SearchDocument]:
    column, down = ORDERS[sort]
    sign = "-" if down else ""
    return rows.order_by(f"{sign}{column}", f"{sign}pk")


@cache_function
def _front(sort: str, limit: int) -> Prepared:
    """The first page of everything as a guest sees it, the list that is asked for most."""

    def make() -> QuerySet[Any, Any]:
        (rows,) = _matching(AnonymousUser(), Query(sort=sort))
        return _ordered(rows, sort).values_list(*COLUMNS)[: limit + 1]

    return Prepared(make)


def _count(parts: list[QuerySet[SearchDocument]], query: Query) -> int:
    """How many match, at most one above the cap; that all models are more is remembered."""
    everything = query.sort in ("updated", "downloads") and not _narrows(query)
    if everything and kept.counted("search:many", lambda: None):
        return COUNT_CAP + 1
    counts = [rows.order_by()[: COUNT_CAP + 1].count() for rows in parts]
    if everything and counts[0] > COUNT_CAP:
        kept.counted("search:many", lambda: True)
    return sum(counts)


def _shown(rows: QuerySet[SearchDocument], columns: Sequence[str]) -> QuerySet[Any, Any]:
    if columns:
        return rows.values_list(*columns, named=True)
    return rows.select_related("model")


def _key(row: Any, column: str) -> Any:
    """What a row is sorted by; carbon is also in the part that is shown of it."""
    return row.latest["training_carbon_kg"] if column == "carbon_kg" else getattr(row, column)


def _keyset(actor: Actor, query: Query, limit: int, cursor: str, columns: Sequence[str]) -> Page:
    """The rows after the cursor's key, of each part as many as a page holds, in one order."""
    column, down = ORDERS[query.sort]
    # Only the database knows the order of names (its collation), so their parts are not merged.
    parts = _matching(actor, query, apart=column != "title")
    after = cursors.after(column, cursor, down=down) if cursor else None
    found: list[Any] = []
    if columns == COLUMNS and not (actor.is_authenticated or cursor or _narrows(query)):
        found += [Summary(*row) for row in _front(query.sort, limit).rows()]
    else:
        for rows in parts:
            rest = rows.filter(after) if after else rows
            found += _shown(_ordered(rest, query.sort), columns)[: limit + 1]
    if len(parts) > 1:
        found.sort(key=lambda row: (_key(row, column), row.pk), reverse=down)
    items = found[:limit]
    following = None
    if len(found) > limit:
        value = _key(items[-1], column)
        key = value.isoformat() if column == "updated_at" else value
        following = cursors.encode([key, items[-1].pk])
    count = _count(parts, query) if cursor or following else len(items)
    return Page(items, following, min(count, COUNT_CAP), count > COUNT_CAP)
