"""Keeping the documents that lists and searches read equal to the rows they are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from registry.cards import cards, resolution
from registry.cards.cards import Card
from registry.catalogue import facets, searchable, speeds
from registry.core import events, outbox
from registry.models import (
    Dataset,
    DocumentFacets,
    DocumentFact,
    DocumentKeyword,
    RegisteredModel,
    SearchDocument,
    Variant,
    Version,
)
from registry.models.search import EVERYBODY

BODY_CHARACTERS = 20_000


def connect() -> None:
    """Have documents follow what happens to models and versions."""
    verbs = ("model.", *events.RELEASE_VERBS, "variant.")
    outbox.subscribe("registry.search", verbs, _on_event, released=True)
    outbox.subscribe("registry.search.datasets", ("dataset.",), _on_dataset, background=True)


def contribute(name: str, verbs: tuple[str, ...], reader: searchable.Reader) -> None:
    """Have ``reader`` tell facts of versions that a search can ask for, anew after ``verbs``."""
    searchable.contribute(reader)
    outbox.subscribe(f"registry.search.{name}", verbs, _on_event)


def _on_event(subject: outbox.Subject) -> None:
    """What happens to a version before its release changes nothing that lists show."""
    if subject.model_id is None:
        return
    if subject.kind == "version":
        waiting = Version.objects.filter(pk=subject.key).exclude(state__in=Version.VISIBLE)
        if waiting.exists():
            return
    refresh(subject.model_id)


def _on_dataset(subject: outbox.Subject) -> None:
    """What is told of a data set counts for every model whose card names it."""
    for dataset in Dataset.objects.filter(pk=subject.key):
        for model_id in set(resolution.like(dataset).values_list("version__model", flat=True)):
            refresh(model_id)


def compose(model: RegisteredModel) -> SearchDocument:
    """The document that a model should have, written nowhere."""
    return SearchDocument(model=model, **_columns(model, *_newest(model)))


def _newest(model: RegisteredModel) -> tuple[Version | None, Variant | None]:
    """The newest published version of a model, and its main variant."""
    version = (
        Version.objects.filter(model=model, state=Version.State.PUBLISHED, branch="main")
        .prefetch_related("variants__entry")
        .first()
    )
    return version, version.variants.order_by("pk").first() if version else None


def _columns(
    model: RegisteredModel, version: Version | None, main: Variant | None
) -> dict[str, Any]:
    told = _told(model, version)
    latest = _latest(version, main) if version else None
    return {
        "title": model.ref,
        "audience": EVERYBODY if model.is_public else model.namespace_id,
        "body": _body(model, version, told),
        "namespace_slug": model.namespace.slug,
        "license": told.license.lower(),
        "task": told.task,
        "keywords": sorted({str(word).lower()[:64] for word in told.keywords if str(word).strip()}),
        "precision": (latest or {}).get("precision") or "",
        "opset": (latest or {}).get("opset"),
        "size": (latest or {}).get("size"),
        "parameters": (latest or {}).get("parameters"),
        "carbon_kg": (latest or {}).get("training_carbon_kg"),
        "downloads": model.downloads,
        "updated_at": (version and version.published_at) or model.created_at,
        "latest": latest,
    }


def refresh(model_id: int) -> None:
    """Make the document of one model equal to its rows."""
    model = (
        RegisteredModel.objects.select_for_update(of=("self",))
        .select_related("namespace", "download_count")
        .filter(pk=model_id, deleted_at=None)
        .first()
    )
    if model is None:
        SearchDocument.objects.filter(pk=model_id).delete()
        return
    version, main = _newest(model)
    columns = _columns(model, version, main)
    words = columns["keywords"]
    document, _ = SearchDocument.objects.update_or_create(model=model, defaults=columns)
    document.words.exclude(word__in=words).delete()
    known = set(document.words.values_list("word", flat=True))
    DocumentKeyword.objects.bulk_create(
        [DocumentKeyword(document=document, word=word) for word in words if word not in known]
    )
    facts = searchable.facts_of(version, main) if version else set()
    _keep(document, facts)
    counted = facets.pairs(document, facts)
    DocumentFacets.objects.update_or_create(document=document, defaults={"pairs": counted})
    speeds.keep(document, main)


@dataclass(frozen=True, slots=True)
class _Told:
    """What people say of a model: the newest published version's card, else the model's row."""

    license: str
    task: str
    keywords: list[str]


def _told(model: RegisteredModel, version: Version | None) -> _Told:
    if version is not None:
        card = Card(version.card, "")
        return _Told(
            card.license or model.license, card.task or model.task, card.keywords or model.keywords
        )
    if model.first_published_at is None:
        return _Told(model.license, model.task, model.keywords)
    return _Told("", "", [])  # what was said, was said of versions that are published no more


def _keep(document: SearchDocument, facts: set[searchable.Fact]) -> None:
    """Make the stored facts of a document these."""
    stored = {(row.group, row.value): row.pk for row in document.facts.all()}
    gone = [pk for fact, pk in stored.items() if fact not in facts]
    DocumentFact.objects.filter(pk__in=gone).delete()
    DocumentFact.objects.bulk_create(
        [
            DocumentFact(document=document, group=group, value=value)
            for group, value in sorted(facts - set(stored))
        ]
    )


def _latest(version: Version, variant: Variant | None) -> dict[str, Any]:
    sizes = version.files.filter(derived=False).aggregate(sum=Sum("blob__size"), n=Count("pk"))
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
        "barcode": variant.facts.get("barcode") if variant else None,
        "summary": summary_of(version),
        "training_carbon_kg": searchable.training_carbon_kg(version.card),
    }


def summary_of(version: Version) -> str:
    """One sentence: the card's summary, else the first sentence of its prose, else the model's."""
    return Card(version.card, cards.body(version.readme)).summary or version.model.summary


def _body(model: RegisteredModel, version: Version | None, told: _Told) -> str:
    parts = [model.summary, told.task, told.license, " ".join(map(str, told.keywords))]
    if version:
        parts.append(Card(version.card, version.readme).body)
        parts += [
            " ".join(one.title for one in row.typed_facts.operators)
            for row in version.variants.all()
        ]
    return "\n".join(part for part in parts if part)[:BODY_CHARACTERS]
