"""The condition that a list's query is for the database, and whose models it is asked of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from hub.protocol import attributes, filters, sorts
from hub.protocol.sorts import Sort
from hub.protocol.vocabularies import TASKS_OF, task_name
from registry.cards import licences, resolution
from registry.catalogue import (
    accuracies,
    full_text,
    predictions,
    selectors,
    speeds,
    substrings,
    tags,
)
from registry.catalogue.query import Query
from registry.core.permissions import Actor
from registry.models import (
    DocumentFact,
    DocumentKeyword,
    DocumentSpeed,
    RegisteredModel,
    SearchDocument,
)

# The orders of lists, and those that the Hub protocol has beside them, with the largest first.
ORDERS = sorts.SORTS | {
    sort.name: sort
    for sort in (
        Sort("created", "Newest", "", column="pk", is_descending=True),
        Sort("modified", "Recently changed", "", column="updated_at", is_descending=True),
        Sort("name-down", "Name, backwards", "", column="title", is_descending=True),
        Sort("largest", "Largest", "", attributes.SIZE, is_descending=True),
        Sort("most-parameters", "Most parameters", "", attributes.PARAMETERS, is_descending=True),
    )
}
# A condition of either-or takes the keys of so few documents themselves, see `_among`.
FEW = speeds.FEW


def matching(actor: Actor, query: Query, *, apart: bool = True) -> list[QuerySet[SearchDocument]]:
    """What the query matches and the actor may see, public and own models apart by default."""
    documents = selectors.documents_apart(actor, unpublished=query.unpublished)
    parts = documents if apart else [selectors.union(documents)]
    conditions = of(query)
    if query.text:
        matches = full_text.match(query.text, near=query.near)
        return [rows.filter(conditions).filter(matches) for rows in parts] if matches else []
    return [rows.filter(conditions) for rows in parts] if conditions else parts


def of(query: Query) -> Q:
    """Everything that the query asks for but its text."""
    conditions = Q()
    for name, value in query.values:
        filter_ = filters.FILTERS[name]
        if name in _OTHERS:
            conditions &= _OTHERS[name](query)
        elif isinstance(filter_, filters.Choice):
            conditions &= _has_choice(filter_, value)
        elif isinstance(filter_, filters.Bound) and filter_.attribute:
            lookup = "" if filter_.is_exact else "__lte"
            conditions &= Q(**{f"{filter_.attribute.column}{lookup}": value})
    for limit in query.accuracy:
        conditions &= Q(pk__in=accuracies.within(limit).values("document_id"))
    for tag in query.tags:
        conditions &= _has_tag(tag)
    if attribute := ORDERS[query.sort].attribute:
        conditions &= Q(**{f"{attribute.column}__isnull": False})
    return conditions


def _has_choice(choice: filters.Choice, values: tuple[str, ...]) -> Q:
    """The condition that a model has one of the values, or all of them, as the filter asks."""
    if choice.column:
        return Q(**{f"{choice.column}__in": values})
    conditions = Q()
    for alternatives in [(value,) for value in values] if choice.needs_all else [values]:
        facts = DocumentFact.objects.filter(group=choice.name, value__in=alternatives)
        conditions &= Q(pk__in=facts.values("document_id"))
    return conditions


def _in_domain(query: Query) -> Q:
    domains = query[filters.DOMAIN]
    return Q(task__in=[task for domain in domains for task in TASKS_OF.get(domain.lower(), ())])


def _has_task(query: Query) -> Q:
    return Q(task__in=[task_name(task) for task in query[filters.TASK]])


def _has_keyword(query: Query) -> Q:
    keywords = [word.lower() for word in query[filters.KEYWORD]]
    words = DocumentKeyword.objects.filter(word__in=keywords)
    return Q(pk__in=words.values("document_id"))


def licensed(values: tuple[str, ...]) -> Q:
    """The condition that a model has one of these licences, alone or beside others.

    A value that names several, as a choice does, asks for all of them.
    """
    conditions = Q(pk__in=())
    for value in values:
        every = Q()
        for name in licences.named(value) or ("",):
            facts = DocumentFact.objects.filter(group="license", value=name.lower())
            every &= Q(license=name.lower()) | _among(facts)
        conditions |= every
    return conditions


def _among(rows: QuerySet[Any]) -> Q:
    """The condition that a model is one of those that these rows belong to.

    Beside an "or", a database looks into a subquery row by row, and where hardly any model matches
    it does so for all of them. With keys it can ask an index for each side.
    """
    keys = rows.order_by().values_list("document_id", flat=True)
    few = list(keys[: FEW + 1])
    return Q(pk__in=few if len(few) <= FEW else keys)


def _is_fast(query: Query) -> Q:
    """The condition that an accepted result in the query's setup keeps its limit.

    Where predictions count, the upper end of one does as well.
    """
    limit = query[filters.MAX_LATENCY] or 0
    results = DocumentSpeed.objects.filter(
        **query.setup._asdict(), status=DocumentSpeed.Status.ACCEPTED, p50_ms__lte=limit
    )
    fast = Q(pk__in=results.values("document_id"))
    if query.predicted:
        fast |= Q(pk__in=predictions.within(query.setup, limit).values("document_id"))
    return fast


def _is_derived(query: Query) -> Q:
    """The condition that a model comes from one of these, as far as guests may know."""
    names = {name.strip().lower() for name in query[filters.DERIVED_FROM]}
    public = RegisteredModel.objects.known_to(AnonymousUser())
    keys = map(str, resolution.models_named(public, names).values())
    facts = DocumentFact.objects.filter(group=filters.DERIVED_FROM.name, value__in=keys)
    return Q(pk__in=facts.values("document_id"))


def _is_published(query: Query) -> Q:
    """The condition that the newest version was published between two days."""
    conditions = Q(latest__isnull=False)
    for day in filters.DAYS.values():
        if text := query[day]:
            lookup = "lt" if day.is_end else "gte"
            conditions &= Q(**{f"updated_at__{lookup}": day.bound(text)})
    return conditions


def _has_tag(tag: str) -> Q:
    """The condition that a model has a tag of the Hub protocol."""
    if tag == "onnx":
        return Q(latest__isnull=False)  # nothing is published without a model
    prefix, _, value = tag.partition(":")
    if prefix == "license":
        return licensed((value,))
    if prefix == "gated":
        is_open = Q(model__gate="open")
        return is_open if value in ("false", "0") else ~is_open
    words = DocumentKeyword.objects.filter(word=tag.lower())
    facts = DocumentFact.objects.filter(group=tags.GROUP, value__in=tags.spellings(tag))
    return Q(task=tag) | _among(words) | _among(facts)


# Filters that compare neither a column nor facts of their own name with their values.
_OTHERS: dict[str, Callable[[Query], Q]] = {
    filters.DOMAIN.name: _in_domain,
    filters.KEYWORD.name: _has_keyword,
    filters.LICENCE.name: lambda query: licensed(query[filters.LICENCE]),
    filters.MAX_LATENCY.name: _is_fast,
    filters.TASK.name: _has_task,
    filters.DERIVED_FROM.name: _is_derived,
    **dict.fromkeys(filters.DAYS, _is_published),
    filters.MAX_ACCURACY_LOSS.name: lambda query: Q(
        accuracy_loss__lte=query[filters.MAX_ACCURACY_LOSS]
    ),
    filters.CONTAINS.name: lambda query: substrings.contain(query[filters.CONTAINS]),
}
