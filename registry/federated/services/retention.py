"""Dropping old bytes of trainings: contributions after some days, old results.

Digests, signatures and figures stay. Storage is freed by the hub's collector, a day later at least.
"""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from registry.federated.models import Aggregate, Contribution, Round, Training
from registry.federated.services import releases


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
    """Let go of all but the newest results and the best; versions hold theirs for themselves.

    What the first round began with stays: devices compare results with it until one is released.
    """
    rounds = Round.objects.filter(training=training, state=Round.State.AGGREGATED)
    oldest = rounds.values_list("number", flat=True)[count - 1 : count].first()
    if oldest is None:
        return
    best = releases.best(training)
    Aggregate.objects.filter(round__training=training, round__number__lt=oldest).exclude(
        result=None, optimiser=None
    ).exclude(round=best).update(result=None, optimiser=None)
    Round.objects.filter(
        training=training,
        number__lt=oldest,
        number__gt=1,
        base__isnull=False,
        state__in=Round.ENDED,
    ).update(base=None)
