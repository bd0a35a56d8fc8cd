"""What a user or an organisation published: models and data sets that everyone may see."""

from __future__ import annotations

from typing import Any

from registry.models import Dataset, Namespace, SearchDocument
from registry.models.search import EVERYBODY
from registry.people import selectors

MOST = 20


def read(slug: str) -> dict[str, Any]:
    """The context of the profile of a namespace; empty where the hub has none of this name.

    Members are not part of it: only members see each other.
    """
    namespace: Namespace | None = selectors.by_slug(slug).first()
    if namespace is None:
        return {}
    models = SearchDocument.objects.filter(audience=EVERYBODY, namespace_slug=namespace.slug)
    datasets = Dataset.objects.filter(namespace=namespace, withdrawn_at=None)
    return {
        "namespace": namespace,
        "models": list(models.select_related("model").order_by("-updated_at", "-pk")[:MOST]),
        "model_count": models.count(),
        "datasets": list(datasets.order_by("slug")[:MOST]),
        "dataset_count": datasets.count(),
    }
