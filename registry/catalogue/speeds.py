"""How fast listed models ran: one figure for each model and setup, for a column and an order.

A setup is a class of machines, a runtime and its provider. The figures are of each model's main
variant with an input of its own, so the order by them is one of models as they are, and no ranking:
that exists inside one comparability key alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count, FilteredRelation, Min, Q, QuerySet

from registry.catalogue import selectors
from registry.core import public_counts
from registry.core.permissions import Actor
from registry.models import DocumentSpeed, SearchDocument, Variant

# The column that `measured` orders by.
P50 = "there__p50_ms"
# Keys that a condition names one by one.
FEW = 1_000
# Setups that a list offers, those with most models.
SETUPS = 200


class Setup(NamedTuple):
    """What a model ran on and with."""

    device: str
    runtime: str
    provider: str


class Speed(NamedTuple):
    """One result of a variant that a list shows; ``result`` is its number.

    ``low_ms`` and ``high_ms`` are the interval of the median, where the result has one.
    """

    setup: Setup
    device_title: str
    status: str
    p50_ms: float
    low_ms: float | None
    high_ms: float | None
    result: int


class Offer(NamedTuple):
    """A setup in which the user can see models measured, and how many."""

    setup: Setup
    device_title: str
    models: int


Reader = Callable[["Variant"], Iterable[Speed]]
_readers: list[Reader] = []


def contribute(reader: Reader) -> None:
    """Have ``reader`` give the speeds of a released main variant, at most one for each setup.

    It is called whenever a document is refreshed, see registry.catalogue.documents.
    """
    if reader not in _readers:
        _readers.append(reader)


def keep(document: SearchDocument, main: Variant | None) -> bool:
    """Make the stored speeds of a document those of its main variant, and no prediction older.

    Whether one of them is accepted.
    """
    document.predictions.exclude(variant=main.pk if main else 0).delete()
    speeds = [speed for reader in _readers for speed in (reader(main) if main else ())]
    rows = [
        DocumentSpeed(
            document=document,
            device=speed.setup.device,
            device_title=speed.device_title,
            runtime=speed.setup.runtime,
            provider=speed.setup.provider,
            status=speed.status,
            p50_ms=speed.p50_ms,
            p50_low_ms=speed.low_ms,
            p50_high_ms=speed.high_ms,
            result=speed.result,
        )
        for speed in speeds
    ]
    if set(map(_key, document.speeds.all())) != set(map(_key, rows)):
        document.speeds.all().delete()
        DocumentSpeed.objects.bulk_create(rows)
    return any(row.status == DocumentSpeed.Status.ACCEPTED for row in rows)


def _key(row: DocumentSpeed) -> tuple[int, float | None]:
    """What tells stored rows apart: a result never changes, but older rows lack its interval."""
    return row.result, row.p50_low_ms


def offers(actor: Actor) -> list[Offer]:
    """The setups in which models of the actor's lists were measured, those with most models first.

    Of public models the counts are of some time ago (`registry.core.public_counts`).
    """
    public, *own = selectors.documents_apart(actor)
    public_offers: list[Offer] = public_counts.get("counts:setups", lambda: _offers(public))
    by_setup = {offer.setup: offer for offer in public_offers}
    for rows in own:
        for offer in _offers(rows):
            before = by_setup.get(offer.setup)
            more = before.models if before else 0
            by_setup[offer.setup] = offer._replace(models=offer.models + more)
    return _most_first(by_setup.values())


def names(offered: Iterable[Offer]) -> dict[str, str]:
    """Device classes by what people call them, in lower case: their slugs and their titles."""
    return {
        name.lower(): offer.setup.device
        for offer in offered
        for name in (offer.device_title, offer.setup.device.replace("-", " "), offer.setup.device)
    }


def settled(offered: Sequence[Offer], partial: Setup, devices: Sequence[str] = ()) -> Setup:
    """The setup that is meant where it is given in part, or not at all: the most measured such one.

    Of several device classes that a list is narrowed to, one is taken where none is given. What
    nothing was measured on stays as it is given.
    """
    fitting = [
        offer.setup
        for offer in offered
        if all(part in ("", own) for part, own in zip(partial, offer.setup, strict=True))
    ]
    narrowed = [setup for setup in fitting if setup.device in devices]
    return next(iter(narrowed or fitting), partial)


def of_documents(pks: Iterable[int], setup: Setup) -> dict[int, DocumentSpeed]:
    """What these documents, which the actor may see, show in a setup, by their keys."""
    if not setup.device:
        return {}
    rows = DocumentSpeed.objects.filter(document__in=list(pks), **setup._asdict())
    return {row.document_id: row for row in rows.order_by()}


def measured(
    rows: QuerySet[SearchDocument], setup: Setup, status: str, most_ms: float | None = None
) -> QuerySet[SearchDocument]:
    """Those with a result of this status in a setup, within a limit: it is then their `there`."""
    limit = Q(there__isnull=False) if most_ms is None else Q(**{f"{P50}__lte": most_ms})
    return _there(rows, setup, {"status": status}).filter(limit)


def unmeasured(rows: QuerySet[SearchDocument], setup: Setup) -> QuerySet[SearchDocument]:
    """Those that were not measured there at all."""
    # Where hardly any were, their keys keep a database from joining all models with all speeds.
    results = DocumentSpeed.objects.filter(**setup._asdict()).order_by()
    few = list(results.values_list("document_id", flat=True)[: FEW + 1])
    if len(few) <= FEW:
        return rows.exclude(pk__in=few)
    return _there(rows, setup, {}).filter(Q(there__isnull=True))


def _there(
    rows: QuerySet[SearchDocument], setup: Setup, more: Mapping[str, str]
) -> QuerySet[SearchDocument]:
    same = Q(**{f"speeds__{name}": value for name, value in {**setup._asdict(), **more}.items()})
    return rows.annotate(there=FilteredRelation("speeds", condition=same))


def _offers(rows: QuerySet[SearchDocument]) -> list[Offer]:
    """How many of these documents were measured in each setup."""
    speeds = DocumentSpeed.objects.filter(document__in=rows.order_by().values("pk"))
    setups = (
        speeds.order_by()
        .values_list("device", "runtime", "provider")
        .annotate(title=Min("device_title"), models=Count("pk"))
    )
    return _most_first(Offer(Setup(*setup), title, models) for *setup, title, models in setups)


def _most_first(offers: Iterable[Offer]) -> list[Offer]:
    return sorted(offers, key=lambda offer: (-offer.models, offer.setup))[:SETUPS]
