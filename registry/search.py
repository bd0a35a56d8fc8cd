"""Listing and searching models: one index, two engines (SQLite FTS5, PostgreSQL full text).

Pages go on from a key, never from an offset; counts stop at 1,000; only a bounded set of candidates
is ranked. What somebody may not see takes part in nothing: not in pages, counts or facets.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import Count, F, Max, Q, Sum
from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_datetime

from hub.protocol import problems
from registry import outbox, selectors
from registry.cards import Card
from registry.models import DocumentKeyword, RegisteredModel, SearchDocument, Version
from registry.models.search import EVERYBODY

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from registry.permissions import Actor

COUNT_CAP = 1_000
CANDIDATES = 1_000
BODY_CHARACTERS = 20_000
FACET_VALUES = 50

# Sort word -> (column, whether the largest comes first).
SORTS = {
    "updated": ("updated_at", True),
    "downloads": ("downloads", True),
    "name": ("title", False),
    "size": ("size", False),
}


@dataclass(frozen=True, slots=True)
class Query:
    """What a list is asked for. Values of one group are alternatives; groups narrow each other."""

    text: str = ""
    sort: str = "updated"
    namespace: tuple[str, ...] = ()
    license: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    keyword: tuple[str, ...] = ()
    precision: tuple[str, ...] = ()
    opset_max: int | None = None

    def without(self, group: str) -> Query:
        """The same query with one group's choice lifted."""
        lifted: dict[str, Any] = {group: None if group == "opset_max" else ()}
        return replace(self, **lifted)


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents, how to go on, and how many match (at most ``COUNT_CAP`` are counted)."""

    items: list[SearchDocument]
    next: str | None
    count: int
    capped: bool
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)


def find(actor: Actor, query: Query, *, limit: int = 20, cursor: str = "") -> Page:
    """One page of the models that match; raises InvalidRequest for an unknown sort or cursor."""
    if query.sort not in SORTS:
        raise problems.InvalidRequest.at("/sort", f"Sort by one of {', '.join(SORTS)}.")
    rows = _matching(actor, query)
    if query.sort == "size":
        rows = rows.exclude(size=None)
    count = rows.order_by()[: COUNT_CAP + 1].count()
    if query.text and query.sort == "updated":
        items, following = _ranked(rows, query.text, limit, cursor)
    else:
        items, following = _keyset(rows, query.sort, limit, cursor)
    return Page(items, following, min(count, COUNT_CAP), count > COUNT_CAP)


def facets(actor: Actor, query: Query) -> dict[str, list[tuple[str, int]]]:
    """For each group, its values and how many models each would leave, other groups applied."""
    found: dict[str, list[tuple[str, int]]] = {}
    for group, column in {
        "task": "task",
        "license": "license",
        "precision": "precision",
        "namespace": "namespace_slug",
        "keyword": "words__word",
    }.items():
        rows = _matching(actor, query.without(group)).order_by()
        counted = (
            rows.exclude(**{column: ""})
            .exclude(**{f"{column}__isnull": True})
            .values_list(column)
            .annotate(models=Count("model_id"))
            .order_by("-models", column)
        )
        found[group] = [(str(value), int(models)) for value, models in counted[:FACET_VALUES]]
    opsets = _matching(actor, query.without("opset_max")).order_by().exclude(opset=None)
    found["opset_max"] = [
        (str(opset), models)
        for opset, models in opsets.values_list("opset")
        .annotate(n=Count("model_id"))
        .order_by("-opset")
    ]
    return found


def totals(actor: Actor) -> dict[str, int]:
    """How many models are listed, and their bytes."""
    rows = selectors.documents(actor).exclude(latest=None).order_by()
    sums = rows.aggregate(models=Count("pk"), bytes=Sum("size"), opset=Max("opset"))
    return {key: value or 0 for key, value in sums.items()}


def refresh(model_id: int) -> None:
    """Make the document of one model equal to its rows."""
    model = (
        RegisteredModel.objects.select_for_update(of=("self",))
        .select_related("namespace")
        .filter(pk=model_id, deleted_at=None)
        .first()
    )
    if model is None:
        SearchDocument.objects.filter(pk=model_id).delete()
        return
    version = (
        Version.objects.filter(model=model, state=Version.State.PUBLISHED, branch="main")
        .prefetch_related("variants__entry")
        .first()
    )
    latest = _latest(version) if version else None
    words = sorted({str(word).lower()[:64] for word in model.keywords if str(word).strip()})
    document, _ = SearchDocument.objects.update_or_create(
        model=model,
        defaults={
            "title": model.ref,
            "audience": EVERYBODY if model.is_public else model.namespace_id,
            "body": _body(model, version, latest),
            "namespace_slug": model.namespace.slug,
            "license": model.license.lower(),
            "task": model.task,
            "keywords": words,
            "precision": (latest or {}).get("precision") or "",
            "opset": (latest or {}).get("opset"),
            "size": (latest or {}).get("size"),
            "parameters": (latest or {}).get("parameters"),
            "downloads": model.downloads,
            "updated_at": (version and version.published_at) or model.created_at,
            "latest": latest,
        },
    )
    document.words.exclude(word__in=words).delete()
    known = set(document.words.values_list("word", flat=True))
    DocumentKeyword.objects.bulk_create(
        [DocumentKeyword(document=document, word=word) for word in words if word not in known]
    )


def count_download(model_id: int) -> None:
    """Add one to a model's downloads, in its row and in its document."""
    with transaction.atomic():
        RegisteredModel.objects.filter(pk=model_id).update(downloads=F("downloads") + 1)
        SearchDocument.objects.filter(pk=model_id).update(downloads=F("downloads") + 1)


def connect() -> None:
    """Have documents follow what happens to models and versions."""
    verbs = ("model.", "version.", "variant.")
    outbox.subscribe("registry.search", verbs, _on_event)


def _on_event(subject: outbox.Subject) -> None:
    if subject.model_id is not None:
        refresh(subject.model_id)


def _matching(actor: Actor, query: Query) -> QuerySet[SearchDocument]:
    rows = selectors.documents(actor)
    for column, values in (
        ("namespace_slug__in", query.namespace),
        ("license__in", tuple(value.lower() for value in query.license)),
        ("task__in", query.task),
        ("precision__in", query.precision),
    ):
        if values:
            rows = rows.filter(**{column: values})
    if query.keyword:
        words = [word.lower() for word in query.keyword]
        rows = rows.filter(
            pk__in=DocumentKeyword.objects.filter(word__in=words).values("document_id")
        )
    if query.opset_max is not None:
        rows = rows.filter(opset__lte=query.opset_max)
    if query.text:
        rows = rows.filter(pk__in=_engine_match(query.text))
    return rows


def _terms(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())[:12]


def _engine_match(text: str) -> Any:
    """A subquery of the ids whose title or body holds every term, or a word that begins with it."""
    terms = _terms(text)
    if not terms:
        return []
    if connection.vendor == "postgresql":
        return RawSQL(
            "SELECT model_id FROM registry_searchdocument "
            "WHERE registry_search_vector(title::text, body) @@ to_tsquery('simple', %s)",
            [" & ".join(f"{term}:*" for term in terms)],
        )
    return RawSQL(
        "SELECT rowid FROM registry_search_fts WHERE registry_search_fts MATCH %s",
        [" ".join(f'"{term}"*' for term in terms)],
    )


def _ranked(
    rows: QuerySet[SearchDocument], text: str, limit: int, cursor: str
) -> tuple[list[SearchDocument], str | None]:
    """The best of the most downloaded candidates: exact name, then prefix, then word, then text."""
    candidates = rows.order_by("-downloads", "-pk").values_list("pk", "title")[:CANDIDATES]
    wanted = text.strip().lower()
    terms = _terms(text)

    def rank(title: str) -> int:
        full = title.lower()
        name = full.partition("/")[2]
        if wanted in (full, name):
            return 0
        if name.startswith(wanted) or full.startswith(wanted):
            return 1
        words = _terms(title)
        if all(term in words for term in terms):
            return 2
        return 3 if all(term in full for term in terms) else 4

    order = [pk for pk, title in sorted(candidates, key=lambda row: rank(row[1]))]
    start = _position(cursor)
    chosen = order[start : start + limit]
    by_pk = {row.pk: row for row in rows.filter(pk__in=chosen).order_by()}
    following = start + limit
    items = [by_pk[pk] for pk in chosen if pk in by_pk]
    return items, _encode([following]) if following < len(order) else None


def _position(cursor: str) -> int:
    value = _decode(cursor)[0] if cursor else 0
    if not isinstance(value, int) or not 0 <= value <= CANDIDATES:
        raise problems.InvalidRequest.at("/cursor", "This page address is broken; begin again.")
    return value


def _keyset(
    rows: QuerySet[SearchDocument], sort: str, limit: int, cursor: str
) -> tuple[list[SearchDocument], str | None]:
    column, down = SORTS[sort]
    sign = "-" if down else ""
    if cursor:
        rows = rows.filter(_after(column, _decode(cursor), down=down))
    found = list(rows.order_by(f"{sign}{column}", f"{sign}pk")[: limit + 1])
    if len(found) <= limit:
        return found, None
    last = found[limit - 1]
    value = getattr(last, column)
    key = value.isoformat() if column == "updated_at" else value
    return found[:limit], _encode([key, last.pk])


def _after(column: str, key: list[Any], *, down: bool) -> Q:
    beyond = "lt" if down else "gt"
    value, pk = key if len(key) == 2 else (None, None)
    if column == "updated_at":
        value = parse_datetime(value) if isinstance(value, str) else None
    if value is None or not isinstance(pk, int):
        raise problems.InvalidRequest.at("/cursor", "This page address is broken; begin again.")
    return Q(**{f"{column}__{beyond}": value}) | Q(**{column: value, f"pk__{beyond}": pk})


def _encode(key: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _decode(cursor: str) -> list[Any]:
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise problems.InvalidRequest.at(
            "/cursor", "This page address is broken; begin again."
        ) from error
    if not isinstance(key, list) or not key:
        raise problems.InvalidRequest.at("/cursor", "This page address is broken; begin again.")
    return key


def _latest(version: Version) -> dict[str, Any]:
    variant = version.variants.order_by("pk").first()
    sizes = version.files.filter(derived=False).aggregate(sum=Sum("blob__size"), n=Count("pk"))
    facts = variant.facts if variant else {}
    return {
        "number": version.number,
        "label": version.label,
        "published_at": version.published_at.isoformat() if version.published_at else None,
        "opset": variant.opset if variant else None,
        "ir_version": variant.ir_version if variant else None,
        "precision": variant.precision if variant else "",
        "parameters": variant.parameters if variant else None,
        "entry": variant.entry.path if variant else None,
        "size": sizes["sum"] or 0,
        "files": sizes["n"],
        "barcode": facts.get("barcode"),
    }


def _body(model: RegisteredModel, version: Version | None, latest: dict[str, Any] | None) -> str:
    parts = [model.summary, model.task, model.license, " ".join(map(str, model.keywords))]
    if version and latest:
        parts.append(Card(version.card, version.readme).body)
        for variant in version.variants.all():
            operators = variant.facts.get("operators", [])
            parts.append(" ".join(str(operator.get("name", "")) for operator in operators))
    return "\n".join(part for part in parts if part)[:BODY_CHARACTERS]
