"""Keeping the documents that lists and searches read equal to the rows they are made from."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Sum

from registry import outbox
from registry.cards import Card
from registry.models import DocumentKeyword, RegisteredModel, SearchDocument, Version
from registry.models.search import EVERYBODY

BODY_CHARACTERS = 20_000


def connect() -> None:
    """Have documents follow what happens to models and versions."""
    verbs = ("model.", "version.", "variant.")
    outbox.subscribe("registry.search", verbs, _on_event)


def _on_event(subject: outbox.Subject) -> None:
    if subject.model_id is not None:
        refresh(subject.model_id)


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
