"""What training took, as cards declare it: the public models of a task that declare theirs."""

from __future__ import annotations

from registry.models import SearchDocument
from registry.models.search import EVERYBODY


def of_task(task: str, *, apart_from: int, limit: int) -> list[SearchDocument]:
    """The public models of a task that declare the carbon of their training, the least first.

    Each is represented by its newest published version. ``apart_from`` is a model's key.
    At most ``limit``; none for a model without a task.
    """
    if not task:
        return []
    rows = SearchDocument.objects.filter(
        audience=EVERYBODY, task=task, carbon_kg__isnull=False
    ).exclude(model=apart_from)
    return list(rows.select_related("model").defer("body").order_by("carbon_kg", "pk")[:limit])
