"""Keeping the documents that lists and searches read equal to the rows they are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Sum

from hub.protocol import filters
from hub.protocol.vocabularies import REFERENCE
from registry.cards import cards, licences, resolution
from registry.catalogue import accuracies, facets, searchable, speeds
from registry.core import events, outbox, spellings
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
    """Have ``reader`` give facts of versions to search by, again after ``verbs``."""
    searchable.contribute(reader)
    follow(name, verbs)


def follow(name: str, verbs: tuple[str, ...]) -> None:
    """Refresh the document of a model again after events of these ``verbs``."""
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
    """The entry of a data set counts for every model whose card names it."""
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
        .select_related("deprecation")
        .prefetch_related("variants__entry")
        .first()
    )
    variants = version.variants.all() if version else ()
    return version, min(variants, key=lambda variant: variant.pk, default=None)


def _columns(
    model: RegisteredModel, version: Version | None, main: Variant | None
) -> dict[str, Any]:
    declared = _declared(model, version)
    latest = _latest(version, main) if version else {}
    return {
        "title": model.ref,
        "audience": EVERYBODY if model.is_public else model.namespace_id,
        "body": _body(model, version, declared),
        "namespace_slug": model.namespace.slug,
        "license": declared.license.lower(),
        "task": declared.task,
        "keywords": sorted(
            {str(word).lower()[:64] for word in declared.keywords if str(word).strip()}
        ),
        "precision": latest.get("precision") or "",
        "opset": latest.get("opset"),
        "size": latest.get("size"),
        "parameters": latest.get("parameters"),
        "macs": latest.get("macs"),
        "memory_bytes": latest.get("memory_bytes"),
        "carbon_kg": latest.get("training_carbon_kg"),
        "accuracy_loss": accuracies.loss_of(version) if version else None,
        "downloads": model.downloads,
        "deprecated_at": _deprecated_at(model, version),
        "updated_at": (version and version.published_at) or model.created_at,
        "latest": latest or None,
    }


def _deprecated_at(model: RegisteredModel, version: Version | None) -> datetime | None:
    """When a model was deprecated, or else its newest version."""
    rows = [getattr(row, "deprecation", None) for row in (model, version)]
    return next((row.at for row in rows if row is not None), None)


def refresh(model_id: int) -> None:
    """Make the document of one model equal to its rows."""
    model = (
        RegisteredModel.objects.select_for_update(of=("self",))
        .select_related("namespace", "download_count", "deprecation")
        .filter(pk=model_id, deleted_at=None)
        .first()
    )
    if model is None:
        SearchDocument.objects.filter(pk=model_id).delete()
        return
    version, main = _newest(model)
    facts = searchable.facts_of(version, main) if version else set()
    columns = _columns(model, version, main)
    document = SearchDocument(model=model, **columns)
    # The lock on the model's row keeps others from writing its document meanwhile.
    if not SearchDocument.objects.filter(pk=model.pk).update(**columns):
        document.save(force_insert=True)
    _keep_words(document, set(document.keywords))
    _keep(document, facts)
    pairs = facets.pairs(document, facts)
    if not DocumentFacets.objects.filter(document=document).update(pairs=pairs):
        DocumentFacets.objects.create(document=document, pairs=pairs)
    measured = speeds.keep(document, main) + accuracies.keep(document, main)
    SearchDocument.objects.filter(pk=document.pk).update(proof_rank=proof_rank(facts, measured))


def proof_rank(facts: Iterable[searchable.Fact], measured: int) -> int | None:
    """How well a model is proven; None where it passes on no runtime.

    What fails nowhere comes first, then what passes on more runtimes, then that of which more is
    ``measured`` (accuracy, latency), then what has more kinds of other evidence.
    """
    values = Counter(group for group, value in facts if value != REFERENCE)
    passes = values[filters.PASSES_ON.name]
    if not passes:
        return None
    fails = values[filters.FAILS_ON.name] > 0
    evidence = values[filters.EVIDENCE.name]
    return (0 if fails else 10_000) + 100 * min(passes, 99) + 10 * measured + min(evidence, 9)


@dataclass(frozen=True, slots=True)
class _Declared:
    """What is declared of a model: by the newest published version's card, else the model's row."""

    license: str = ""
    task: str = ""
    keywords: Sequence[str] = ()


def _declared(model: RegisteredModel, version: Version | None) -> _Declared:
    if version is not None:
        card = version.typed_card
        return _Declared(
            licences.text(*card.licenses) or model.license,
            card.task or model.task,
            card.keywords or model.keywords,
        )
    if model.first_published_at is None:
        return _Declared(model.license, model.task, model.keywords)
    return _Declared()  # the declarations were of versions that are no longer published


def _keep_words(document: SearchDocument, words: set[str]) -> None:
    """Make the stored keywords of a document these."""
    stored = set(document.words.order_by().values_list("word", flat=True))
    if gone := stored - words:
        document.words.filter(word__in=gone).delete()
    DocumentKeyword.objects.bulk_create(
        [DocumentKeyword(document=document, word=word) for word in sorted(words - stored)]
    )


def _keep(document: SearchDocument, facts: set[searchable.Fact]) -> None:
    """Make the stored facts of a document these."""
    rows = document.facts.order_by().values_list("group", "value", "pk")
    stored = {(group, value): pk for group, value, pk in rows}
    gone = [pk for fact, pk in stored.items() if fact not in facts]
    if gone:
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
        "macs": variant.macs if variant else None,
        "memory_bytes": variant.memory_bytes if variant else None,
        "entry": variant.entry.path if variant else None,
        "size": sizes["sum"] or 0,
        "files": sizes["n"],
        "barcode": variant.facts.get("barcode") if variant else None,
        "summary": summary_of(version),
        "licenses": list(licences.items(*version.typed_card.licenses)),
        "training_carbon_kg": version.typed_card.emissions.kilograms,
    }


def summary_of(version: Version) -> str:
    """One sentence: the card's summary, else the first sentence of its prose, else the model's."""
    own = cards.summary(version.typed_card.summary, cards.body(version.readme))
    return own or version.model.summary


def _body(model: RegisteredModel, version: Version | None, declared: _Declared) -> str:
    parts = [model.summary, declared.task, declared.license]
    parts.append(" ".join(map(str, declared.keywords)))
    if version:
        parts.append(version.readme)
        parts += [
            " ".join(operator.title for operator in row.typed_facts.operators)
            for row in version.variants.all()
        ]
    text = "\n".join(part for part in parts if part)[:BODY_CHARACTERS]
    return "\n".join((text, *spellings.of_text(text)))
