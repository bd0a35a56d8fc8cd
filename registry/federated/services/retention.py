"""Which bytes trainings need, and dropping old ones: contributions after some days, old results.

Digests, signatures and figures stay. Storage is freed by the hub's collector, a day later at least.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Sum
from django.utils import timezone

from registry.federated.models import Aggregate, Contribution, Round, Training
from registry.federated.services import releases

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from registry.models import Namespace


# Rows with a blob, by the names of their columns, and the way from each to its model.
_HOLDERS = (
    (Training, ("skeleton", "weights", "optimiser"), "model"),
    (Round, ("base",), "training__model"),
    (Contribution, ("blob",), "round__training__model"),
    (Aggregate, ("result", "optimiser"), "round__training__model"),
)


def forget() -> int:
    """Let go of what trainings need no more; returns of how many contributions."""
    forgotten = 0
    for training in Training.objects.exclude(state=Training.State.DRAFT).iterator():
        schedule = training.typed_schedule
        over = timezone.now() - timedelta(days=schedule.retention_days)
        forgotten += Contribution.objects.filter(
            round__training=training, round__ended_at__lt=over, blob__isnull=False
        ).update(blob=None)
        _forget_results(training, schedule.checkpoints_kept)
    return forgotten


def _forget_results(training: Training, count: int) -> None:
    """Let go of all but the newest results and the best; versions hold theirs for themselves."""
    rounds = Round.objects.filter(training=training, state=Round.State.AGGREGATED)
    oldest = rounds.values_list("number", flat=True)[count - 1 : count].first()
    if oldest is None:
        return
    best = releases.best(training)
    Aggregate.objects.filter(round__training=training, round__number__lt=oldest).exclude(
        result=None, optimiser=None
    ).exclude(round=best).update(result=None, optimiser=None)
    Round.objects.filter(
        training=training, number__lt=oldest, base__isnull=False, state__in=Round.ENDED
    ).update(base=None)


def bytes_of_contributions(namespace: Namespace) -> int:
    """Bytes that devices handed in to a namespace's trainings and that are kept still."""
    contributions = Contribution.objects.filter(
        blob__isnull=False,
        round__training__model__namespace=namespace,
        round__training__model__deleted_at=None,
    )
    return contributions.aggregate(sum=Sum("size"))["sum"] or 0


def of_trainings(blob: Any) -> list[QuerySet[Any]]:
    """Queries that are empty where no training of a model that is there needs a blob."""
    return [
        kind._default_manager.filter(  # noqa: SLF001 - Django's documented API
            **{column: blob, f"{model}__deleted_at": None}
        )
        for kind, columns, model in _HOLDERS
        for column in columns
    ]
