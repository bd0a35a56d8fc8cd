"""Predicted speeds of listed models, kept apart from what was measured.

A prediction counts only where a model has no result at all in its setup; see
runners.benchmarks.predictions for how they are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Exists, FilteredRelation, OuterRef, Q, QuerySet

from registry.catalogue.speeds import Setup
from registry.core.prepared_queries import Prepared
from registry.models import DocumentSpeed, PredictedSpeed, SearchDocument
from registry.models.search import EVERYBODY

# The column that `predicted` orders by.
P50 = "expected__p50_ms"


class Prediction(NamedTuple):
    """What a model's main variant is predicted to take in a setup."""

    document: int
    variant: int
    p50_ms: float
    low_ms: float
    high_ms: float


def add(setup: Setup, title: str, predictions: Sequence[Prediction], models_measured: int) -> None:
    """Add predictions of a setup on a device called ``title``."""
    PredictedSpeed.objects.bulk_create(
        [
            PredictedSpeed(
                document_id=prediction.document,
                variant=prediction.variant,
                device_title=title,
                p50_ms=prediction.p50_ms,
                low_ms=prediction.low_ms,
                high_ms=prediction.high_ms,
                models_measured=models_measured,
                **setup._asdict(),
            )
            for prediction in predictions
        ],
        batch_size=500,
        ignore_conflicts=True,  # another process had the same idea
    )


def of_documents(pks: Iterable[int], setup: Setup) -> dict[int, PredictedSpeed]:
    """Predictions in a setup for documents without a result there, by their keys."""
    if not setup.device:
        return {}
    rows = _unmeasured(setup).filter(document__in=list(pks))
    return {row.document_id: row for row in rows.order_by()}


def of_model(pk: int) -> list[PredictedSpeed]:
    """Predictions for one model, in the setups in which it was not measured."""
    rows: list[PredictedSpeed] = _of_model.instances(pk)
    return rows


@Prepared
def _of_model(pk: int) -> QuerySet[PredictedSpeed]:
    measured = DocumentSpeed.objects.filter(
        document=OuterRef("document"),
        device=OuterRef("device"),
        runtime=OuterRef("runtime"),
        provider=OuterRef("provider"),
    )
    rows = PredictedSpeed.objects.filter(~Exists(measured), document=pk)
    return rows.order_by("device", "runtime", "provider")


def exist(setup: Setup) -> bool:
    """Whether anything that everybody may see is predicted in a setup."""
    rows = PredictedSpeed.objects.filter(document__audience=EVERYBODY, **setup._asdict())
    return rows.exists()


def within(setup: Setup, limit: float) -> QuerySet[PredictedSpeed]:
    """Predictions in a setup whose upper end keeps a limit, in milliseconds."""
    return _unmeasured(setup).filter(high_ms__lte=limit)


def predicted(
    rows: QuerySet[SearchDocument], setup: Setup, most_ms: float | None = None
) -> QuerySet[SearchDocument]:
    """Those with a prediction in a setup, which is then their ``expected``, and no result.

    Of those within a limit the upper end keeps it.
    """
    same = Q(**{f"predictions__{name}": value for name, value in setup._asdict().items()})
    related = rows.annotate(expected=FilteredRelation("predictions", condition=same))
    limit = Q(expected__isnull=False) if most_ms is None else Q(expected__high_ms__lte=most_ms)
    return related.filter(~_has_result(setup, "pk"), limit)


def _unmeasured(setup: Setup) -> QuerySet[PredictedSpeed]:
    rows = PredictedSpeed.objects.filter(**setup._asdict())
    return rows.filter(~_has_result(setup, "document"))


def _has_result(setup: Setup, document: str) -> Exists:
    """Whether a document, by the name of its column, has a result in a setup."""
    results = DocumentSpeed.objects.filter(document=OuterRef(document), **setup._asdict())
    return Exists(results)
