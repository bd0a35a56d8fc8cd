"""What happened on the hub, as administrators read it."""

from __future__ import annotations

import difflib
from datetime import datetime

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from hub.protocol import problems
from registry.core import event_verbs
from registry.core.permissions import Actor, require_admin
from registry.models import Event, RegisteredModel
from registry.people import selectors


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
    ``until`` is not. Raises NotFound for an actor, and InvalidRequest for a model or a verb, of no
    such name.
    """
    require_admin(reader)
    verbs = event_verbs.names()
    if verb and verb not in verbs:
        near = difflib.get_close_matches(verb, sorted(verbs), n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise problems.InvalidRequest.at("/verb", f"No event has the verb {verb!r}.{hint}")
    rows = Event.objects.select_related("actor", "model__namespace")
    if verb:
        rows = rows.filter(verb=verb)
    return rows.filter(
        conditions(
            actor=actor,
            subject=subject,
            model=model,
            request_id=request_id,
            since=since,
            until=until,
        )
    )


def conditions(
    *,
    actor: str,
    subject: str,
    model: str,
    request_id: str,
    since: datetime | None,
    until: datetime | None,
) -> Q:
    """What events and entries of the security log alike can be asked for; raises as ``events``."""
    kind, _, key = subject.partition("/")
    columns = {
        "actor": selectors.user(actor) if actor else None,
        "model__in": _named(model) if model else None,
        "subject_kind": kind,
        "subject_id": key,
        "request_id": request_id,
        "at__gte": since,
        "at__lt": until,
    }
    return Q(**{name: value for name, value in columns.items() if value})


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
