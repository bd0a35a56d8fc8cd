"""What readers may see of events of discussions and collections."""

from __future__ import annotations

from registry.core.event_subjects import Description, EventSubject, event_subjects
from registry.core.permissions import Actor
from registry.models import Collection, Discussion, Event


def register(package: str) -> None:
    """Plug into the events of the core."""
    event_subjects.register(
        package,
        EventSubject(("discussion",), _discussion),
        EventSubject(
            ("collection",), _collection, namespace=_namespace_of_collection, silent=("deleted",)
        ),
    )


def _discussion(actor: Actor, event: Event) -> Description | None:
    row = Discussion.objects.visible_to(actor).filter(pk=int(event.subject_id)).first()
    if row is None:
        return None
    names: dict[str, str | int] = {"model": row.model.ref, "discussion": row.number}
    return Description(f"/models/{row.model.ref}/discussions/{row.number}", names)


def _collection(actor: Actor, event: Event) -> Description | None:
    row = Collection.objects.visible_to(actor).filter(pk=int(event.subject_id)).first()
    return None if row is None else Description(f"/collections/{row.ref}", {"collection": row.ref})


def _namespace_of_collection(event: Event) -> int | None:
    rows = Collection.objects.filter(pk=int(event.subject_id))
    return rows.values_list("namespace", flat=True).first()
