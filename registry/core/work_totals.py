"""Adding up what work has cost, by kind of job and outcome."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from registry.models import WorkTotal


@dataclass(frozen=True, slots=True)
class Cost:
    """What one attempt took: wall-clock and CPU seconds, and joules; None where not measured."""

    seconds: float
    cpu_seconds: float | None = None
    joules: float | None = None


@transaction.atomic
def add(kind: str, outcome: str, cost: Cost) -> None:
    """Count one attempt."""
    row, _ = WorkTotal.objects.get_or_create(kind=kind, outcome=outcome)
    WorkTotal.objects.filter(pk=row.pk).update(
        attempts=F("attempts") + 1,
        seconds=F("seconds") + cost.seconds,
        cpu_attempts=F("cpu_attempts") + int(cost.cpu_seconds is not None),
        cpu_seconds=F("cpu_seconds") + (cost.cpu_seconds or 0.0),
        metered_attempts=F("metered_attempts") + int(cost.joules is not None),
        joules=F("joules") + (cost.joules or 0.0),
    )
