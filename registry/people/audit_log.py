"""What happened on the hub, as administrators read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models.functions import Lower

from hub.protocol import problems
from registry.core.permissions import require_admin
from registry.models import Event, RegisteredModel
from registry.people import selectors

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from registry.core.permissions import Actor


def events(
    reader: Actor,
    *,
    actor: str = "",
    verb: str = "",
    subject: str = "",
    model: str = "",
    request_id: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Event]:
    """The events that meet all conditions; raises NotAllowed for all but administrators.

    ``subject`` is a kind, or a kind and the key of a row, such as version or version/12. ``model``
    is the present name of a model, or the last one of a deleted model. ``since`` is included,
    ``until`` is not. Raises NotFound for an actor, and InvalidRequest for a model, of no such name.
    """
    require_admin(reader)
    rows = Event.objects.select_related("actor", "model__namespace")
    kind, _, key = subject.partition("/")
    if actor:
        rows = rows.filter(actor=selectors.user(actor))
    if model:
        rows = rows.filter(model__in=_named(model))
    conditions = {
        "verb": verb,
        "subject_kind": kind,
        "subject_id": key,
        "request_id": request_id,
        "at__gte": since,
        "at__lt": until,
    }
    return rows.filter(**{name: value for name, value in conditions.items() if value})


def _named(ref: str) -> list[int]:
    """The key of the model with this name, deleted or not."""
    slug, _, name = ref.partition("/")
    rows = RegisteredModel.objects.alias(lower_name=Lower("name")).filter(
        namespace__in=selectors.by_slug(slug), lower_name=name.lower()
    )
    keys = list(rows.values_list("pk", flat=True))
    if not keys:
        raise problems.InvalidRequest.at("/model", f"There is no model {ref}.")
    return keys
