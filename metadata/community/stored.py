"""Keeping the stored graphs of collections equal to their rows."""

from __future__ import annotations

from django.db import transaction

from metadata.community import graphs
from metadata.store import maintenance, services
from registry.core.outbox import Subject
from registry.models import Collection, Event


@transaction.atomic
def refresh(pk: int) -> bool:
    """Make a collection's graph equal to its rows, or empty where it is not public, or deleted."""
    services.lock_counter()
    collection = Collection.objects.select_related("namespace").filter(pk=pk).first()
    if collection is None:
        return _remove_deleted(pk)
    iri = graphs.iri(collection.ref)
    if not collection.is_public:
        return maintenance.remove(iri)
    return maintenance.put(iri, graphs.of_collection(collection))


def on_collection(subject: Subject) -> None:
    """A collection's event concerns its own graph."""
    refresh(int(subject.key))


def on_model(subject: Subject) -> None:
    """A model's event concerns the collections that contain it: at once, since it may be hidden."""
    rows = Collection.objects.filter(visibility="public", entries__model=subject.model_id or 0)
    for pk in rows.order_by("pk").values_list("pk", flat=True):
        refresh(pk)


def _remove_deleted(pk: int) -> bool:
    """Empty the graph that a deleted collection had, unless another has its name by now."""
    deleted = Event.objects.filter(
        verb="collection.deleted", subject_kind="collection", subject_id=str(pk)
    ).first()
    if deleted is None:
        return False
    ref = str(deleted.data["ref"])
    space, _, slug = ref.partition("/")
    heir = Collection.objects.filter(namespace__slug=space, slug=slug).first()
    return refresh(heir.pk) if heir is not None else maintenance.remove(graphs.iri(ref))
