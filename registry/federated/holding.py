"""Which stored bytes trainings need."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet, Sum

from registry.federated.models import Aggregate, Contribution, DeviceEvaluation, Round, Training
from registry.models import Namespace
from registry.models.registered_models import has_files

# Rows with a blob, by the names of their columns, and the way from each to its model.
_HOLDERS = (
    (Training, ("skeleton", "weights", "optimiser"), "model"),
    (Round, ("base",), "training__model"),
    (Contribution, ("blob",), "round__training__model"),
    (Aggregate, ("result", "optimiser"), "round__training__model"),
    (DeviceEvaluation, ("base", "candidate"), "round__training__model"),
)


def bytes_of_contributions(namespace: Namespace) -> int:
    """Bytes that devices handed in to a namespace's trainings and that are kept still."""
    contributions = Contribution.objects.filter(
        has_files("round__training__model__"),
        blob__isnull=False,
        round__training__model__namespace=namespace,
    )
    return contributions.aggregate(sum=Sum("size"))["sum"] or 0


def of_trainings(blob: Any) -> list[QuerySet[Any]]:
    """Queries that are empty where no training of a model that is there needs a blob."""
    return [
        kind._default_manager.filter(  # noqa: SLF001 - Django's documented API
            has_files(f"{model}__"), **{column: blob}
        )
        for kind, columns, model in _HOLDERS
        for column in columns
    ]
