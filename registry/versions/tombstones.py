"""Tombstones of deleted models: the time, the user and the reason of the deletion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Lower

from hub.protocol import problems
from registry.models import Event, RegisteredModel
from registry.people import selectors as people


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The deletion of a model; ``by`` is empty where no event names a user."""

    ref: str
    at: datetime
    by: str = ""
    reason: str = ""

    @property
    def problem(self) -> problems.Deleted:
        """What the address of the model answers."""
        by = f" by {self.by}" if self.by else ""
        words = f"{self.ref} was deleted on {self.at:%Y-%m-%d}{by}"
        return problems.Deleted(
            f"{words}: {self.reason}" if self.reason else f"{words}. No reason was given.",
            deleted_at=self.at.isoformat(),
            deleted_by=self.by or None,
            reason=self.reason,
        )


def of(model: RegisteredModel) -> Tombstone | None:
    """The tombstone of a model; None where it left none."""
    if model.deleted_at is None or not model.has_tombstone:
        return None
    ended = Event.objects.filter(
        subject_kind="registeredmodel", subject_id=str(model.pk), verb="model.deleted"
    )
    by = ended.order_by("-pk").values_list("actor__username", flat=True).first()
    return Tombstone(model.ref, model.deleted_at, by or "", model.deletion_reason)


def named(namespace: str, name: str) -> Tombstone | None:
    """The tombstone at the address of a model, ignoring case; None where there is none."""
    model = (
        RegisteredModel.objects.filter(has_tombstone=True, namespace__in=people.by_slug(namespace))
        .select_related("namespace")
        .alias(lower_name=Lower("name"))
        .filter(lower_name=name.lower())
        .first()
    )
    return of(model) if model else None
