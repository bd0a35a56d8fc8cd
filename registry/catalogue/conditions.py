"""The condition that a list's query is for the database, and whose models it is asked of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Q

from hub.protocol.vocabularies import TASKS_OF
from registry.cards import licences
from registry.catalogue import accuracies, full_text, predictions, speeds, substrings, tags
from registry.models import DocumentFact, DocumentKeyword, DocumentSpeed
from registry.versions import selectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from registry.catalogue.query import Query
    from registry.core.permissions import Actor
    from registry.models import SearchDocument

# Groups whose values are facts of documents, see registry.catalogue.searchable.
FACTS = (
    "operator", "pixel_format", "personal_data", "passes_on", "fails_on", "evidence",
    "measured_on",
)  # fmt: skip
CUMULATIVE = ("passes_on", "evidence")
# Sorts by what not every model has, and its column: those without it are left out.
SPARSE = {
    "size": "size", "largest": "size", "carbon": "carbon_kg", "parameters": "parameters",
    "most-parameters": "parameters", "macs": "macs", "memory": "memory_bytes",
}  # fmt: skip
# A condition of either-or takes the keys of so few documents themselves, see `_among`.
FEW = speeds.FEW


def matching(actor: Actor, query: Query, *, apart: bool = True) -> list[QuerySet[SearchDocument]]:
    """What the query matches and the actor may see, public and own models apart by default."""
    parts = selectors.documents_apart(actor) if apart else [selectors.documents(actor)]
    conditions = of(query)
    if query.text:
        matches = full_text.match(query.text, near=query.near)
        return [rows.filter(conditions).filter(matches) for rows in parts] if matches else []
    return [rows.filter(conditions) for rows in parts] if conditions else parts


def of(query: Query) -> Q:
    """Everything that the query asks for but its text."""
    tasks = [task for domain in query.domain for task in TASKS_OF.get(domain.lower(), ())]
    conditions = Q()
    for column, choices, values in (
        ("namespace_slug__in", query.namespace, query.namespace),
        ("task__in", query.task, query.task),
        ("task__in", query.domain, tuple(tasks)),
        ("precision__in", query.precision, query.precision),
    ):
        if choices:
            conditions &= Q(**{column: values})
    if query.license:
        conditions &= licensed(query.license)
    if query.keyword:
        words = DocumentKeyword.objects.filter(word__in=[word.lower() for word in query.keyword])
        conditions &= Q(pk__in=words.values("document_id"))
    conditions &= _is_within(query) & _is_fast(query) & _is_accurate(query)
    if query.contains:
        conditions &= substrings.contain(query.contains)
    conditions &= _has_facts(query)
    for tag in query.tags:
        conditions &= _has_tag(tag)
    if query.sort in SPARSE:
        conditions &= Q(**{f"{SPARSE[query.sort]}__isnull": False})
    return conditions


def licensed(values: Iterable[str]) -> Q:
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


def _has_facts(query: Query) -> Q:
    """The condition that the facts of a model are those that are asked for."""
    conditions = Q()
    for group in FACTS:
        values = getattr(query, group)
        for choices in [[value] for value in values] if group in CUMULATIVE else [values]:
            if choices:
                facts = DocumentFact.objects.filter(group=group, value__in=choices)
                conditions &= Q(pk__in=facts.values("document_id"))
    return conditions


def _is_within(query: Query) -> Q:
    """The condition that what is counted from the file keeps its bounds."""
    conditions = Q()
    for column, bound in (
        ("opset", query.opset),
        ("opset__lte", query.opset_max),
        ("size__lte", query.max_bytes),
        ("parameters__lte", query.max_parameters),
        ("macs__lte", query.max_macs),
        ("memory_bytes__lte", query.max_memory),
    ):
        if bound is not None:
            conditions &= Q(**{column: bound})
    return conditions


def _is_accurate(query: Query) -> Q:
    """The condition that measured figures keep each limit of accuracy."""
    conditions = Q()
    for limit in query.accuracy:
        conditions &= Q(pk__in=accuracies.within(limit).values("document_id"))
    return conditions


def _is_fast(query: Query) -> Q:
    """The condition that an accepted result in the query's setup keeps its limit.

    Where predictions count, the upper end of one does as well.
    """
    if query.max_p50 is None:
        return Q()
    results = DocumentSpeed.objects.filter(
        **query.setup._asdict(), status=DocumentSpeed.Status.ACCEPTED, p50_ms__lte=query.max_p50
    )
    fast = Q(pk__in=results.values("document_id"))
    if query.predicted:
        fast |= Q(pk__in=predictions.within(query.setup, query.max_p50).values("document_id"))
    return fast


def _has_tag(tag: str) -> Q:
    """The condition that a model has a tag of the Hub protocol."""
    if tag == "onnx":
        return Q(latest__isnull=False)  # nothing is published without a model
    prefix, _, value = tag.partition(":")
    if prefix == "license":
        return licensed([value])
    if prefix == "gated":
        is_open = Q(model__gate="open")
        return is_open if value in ("false", "0") else ~is_open
    words = DocumentKeyword.objects.filter(word=tag.lower())
    facts = DocumentFact.objects.filter(group=tags.GROUP, value__in=tags.spellings(tag))
    return Q(task=tag) | _among(words) | _among(facts)
