"""How accurate listed models are, as this hub measured it: for limits and for an order.

The figures are those of each model's main variant, which is also the one whose latency, size and
costs a list shows, so that several limits hold for one file. A limit holds for the figure itself;
its interval stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from hub.protocol import accuracy, problems
from hub.protocol.accuracy import Limit
from registry.catalogue import selectors
from registry.core import public_counts
from registry.core.permissions import Actor
from registry.models import (
    Dataset,
    DatasetVersion,
    DocumentAccuracy,
    SearchDocument,
    Variant,
    Version,
)

# The column that `ranked` orders by.
BEST = "best_value"
# Limits of one query, splits that a list offers, newest versions of a data set whose splits are
# looked at, and data sets among which an error looks for a similar name.
MOST_LIMITS, OFFERS, VERSIONS, NAMES = 10, 200, 20, 1_000


class Accuracy(NamedTuple):
    """A figure of a variant with its interval, and the split that it was measured on."""

    metric: str
    dataset: str
    version: int
    split: str
    value: float
    low: float
    high: float
    rows: int
    interval_method: str


class Offer(NamedTuple):
    """A metric and a split on which models were measured, and how many were."""

    metric: str
    dataset: str
    split: str
    models: int


Reader = Callable[["Variant"], Iterable[Accuracy]]
LossReader = Callable[["Version"], float | None]
_readers: list[Reader] = []
_loss_readers: list[LossReader] = []


def contribute(reader: Reader) -> None:
    """Have ``reader`` give the figures of a main variant, one for each metric and split.

    It is called whenever a document is refreshed, see registry.catalogue.documents.
    """
    if reader not in _readers:
        _readers.append(reader)


def contribute_loss(reader: LossReader) -> None:
    """Have ``reader`` give the percentage points that a version's best derived variant loses."""
    if reader not in _loss_readers:
        _loss_readers.append(reader)


def loss_of(version: Version) -> float | None:
    """The least loss of accuracy among the derived variants of a version; None if unmeasured."""
    losses = (reader(version) for reader in _loss_readers)
    return min((loss for loss in losses if loss is not None), default=None)


def keep(document: SearchDocument, main: Variant | None) -> bool:
    """Make the stored figures of a document those of its main variant; whether there are any."""
    figures = {figure for reader in _readers for figure in (reader(main) if main else ())}
    stored = set(map(Accuracy._make, document.accuracies.values_list(*Accuracy._fields)))
    if stored != figures:
        document.accuracies.all().delete()
        DocumentAccuracy.objects.bulk_create(
            [DocumentAccuracy(document=document, **figure._asdict()) for figure in sorted(figures)]
        )
    return bool(figures)


def limits(minimums: Sequence[str], maximums: Sequence[str]) -> tuple[Limit, ...]:
    """The limits that are written so, each once; raises InvalidRequest for unknown names."""
    if len(minimums) + len(maximums) > MOST_LIMITS:
        raise problems.InvalidRequest.at(
            "/min" if minimums else "/max", f"Give at most {MOST_LIMITS} limits of accuracy."
        )
    parsed = [(accuracy.parse(text, "min"), "/min") for text in minimums]
    parsed += [(accuracy.parse(text, "max"), "/max") for text in maximums]
    for limit, pointer in parsed:
        if limit.dataset:
            _require_data(limit, pointer)
    return tuple(dict.fromkeys(limit for limit, _ in parsed))


def _require_data(limit: Limit, pointer: str) -> None:
    """Raise InvalidRequest where a limit names a data set, version or split that is none.

    Entries, versions and splits are public, so that their names say nothing of models.
    """
    versions = DatasetVersion.objects.filter(
        dataset__slug=limit.dataset, dataset__withdrawn_at=None
    )
    number = {} if limit.version is None else {"number": limit.version}
    rows = versions.filter(**number).order_by("-number")[:VERSIONS]
    splits = [split for row in rows for split in row.typed_splits]
    named = [split for split in splits if limit.split in ("", split.name)]
    if any(limit.metric in accuracy.METRICS[split.task] for split in named):
        return
    if named:
        metrics = dict.fromkeys(name for split in named for name in accuracy.METRICS[split.task])
        words = f"Evaluations on {limit.data} have no {limit.metric}. Known: {', '.join(metrics)}."
    elif splits:
        names = ", ".join(dict.fromkeys(split.name for split in splits))
        words = f"{limit.dataset} has no split {limit.split[:60]!r}. Its splits: {names}."
    elif versions.exists():
        words = f"The data set {limit.dataset} has no version {limit.version}."
    else:
        words = _unknown(limit.dataset)
    raise problems.InvalidRequest.at(pointer, words)


def _unknown(slug: str) -> str:
    entries = Dataset.objects.filter(withdrawn_at=None, versions__isnull=False).distinct()
    slugs = list(entries.order_by("slug").values_list("slug", flat=True)[:NAMES])
    close = get_close_matches(slug, slugs, n=3, cutoff=0.6)
    available = close or slugs[:20]
    words = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(available)}."
    if not available:
        words = "No data set of this hub has a version."
    return f"No data set {slug!r} with a version on this hub. {words} See /datasets."


def within(limit: Limit) -> QuerySet[DocumentAccuracy]:
    """The figures that keep a limit."""
    return _about(limit).filter(_keeps(limit))


def ranked(rows: QuerySet[SearchDocument], limit: Limit) -> QuerySet[SearchDocument]:
    """Documents with the best of their figures that a limit is about as their ``best_value``."""
    order = "value" if limit.is_maximum else "-value"
    figures = _about(limit).filter(document=OuterRef("pk")).order_by(order, "pk")
    return rows.annotate(**{BEST: Subquery(figures.values("value")[:1])})


def of_documents(
    pks: Iterable[int], limits: Sequence[Limit]
) -> dict[int, list[tuple[Limit, DocumentAccuracy]]]:
    """For each limit the best figure of each of these documents, which the actor may see."""
    rows = list(pks)
    figures: dict[int, list[tuple[Limit, DocumentAccuracy]]] = {}
    for limit in limits:
        sign = 1 if limit.is_maximum else -1
        best: dict[int, DocumentAccuracy] = {}
        own = within(limit).filter(document__in=rows).order_by()
        for row in sorted(own, key=lambda row: (sign * row.value, row.pk)):
            best.setdefault(row.document_id, row)
        for pk, row in best.items():
            figures.setdefault(pk, []).append((limit, row))
    return figures


def headlines(pks: Iterable[int]) -> dict[int, DocumentAccuracy]:
    """The figure on the most rows of each of these documents, which the actor may see."""
    rows = DocumentAccuracy.objects.filter(document__in=list(pks)).order_by()
    first = sorted(rows, key=lambda row: (-row.rows, accuracy.ALL.index(row.metric), row.pk))
    return {row.document_id: row for row in reversed(first)}


def offers(actor: Actor) -> list[Offer]:
    """The metrics and splits on which models of the actor's lists were measured, most models first.

    Of public models the counts are of some time ago (`registry.core.public_counts`).
    """
    public, *own = selectors.documents_apart(actor)
    public_offers: list[Offer] = public_counts.get("counts:accuracies", lambda: _offers(public))
    models = {offer[:3]: offer.models for offer in public_offers}
    for rows in own:
        for offer in _offers(rows):
            models[offer[:3]] = models.get(offer[:3], 0) + offer.models
    return sorted((Offer(*key, many) for key, many in models.items()), key=_place)[:OFFERS]


def _offers(rows: QuerySet[SearchDocument]) -> list[Offer]:
    figures = DocumentAccuracy.objects.filter(document__in=rows.order_by().values("pk"))
    groups = figures.order_by().values_list("metric", "dataset", "split")
    counts = groups.annotate(models=Count("document"))
    return sorted((Offer(*row) for row in counts), key=_place)[:OFFERS]


def _place(offer: Offer) -> tuple[int, str, str, int]:
    return -offer.models, offer.dataset, offer.split, accuracy.ALL.index(offer.metric)


def _about(limit: Limit) -> QuerySet[DocumentAccuracy]:
    rows = DocumentAccuracy.objects.filter(metric=limit.metric)
    for column in ("dataset", "version", "split"):
        if value := getattr(limit, column):
            rows = rows.filter(**{column: value})
    return rows


def _keeps(limit: Limit) -> Q:
    return Q(value__lte=limit.value) if limit.is_maximum else Q(value__gte=limit.value)
