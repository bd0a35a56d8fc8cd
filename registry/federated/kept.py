"""Which bytes trainings need: what the collector has to leave alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from registry.federated.models import Aggregate, Contribution, Round, Training

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Rows with a blob, by the names of their columns, and the way from each to its model.
_HOLDERS = (
    (Training, ("skeleton", "weights", "optimiser"), "model"),
    (Round, ("base",), "training__model"),
    (Contribution, ("blob",), "round__training__model"),
    (Aggregate, ("result", "optimiser"), "round__training__model"),
)


def of_trainings(blob: Any) -> list[QuerySet[Any]]:
    """Queries that are empty where no training of a model that is there needs a blob."""
    return [
        kind._default_manager.filter(  # noqa: SLF001 - Django's documented API
            **{column: blob, f"{model}__deleted_at": None}
        )
        for kind, columns, model in _HOLDERS
        for column in columns
    ]
