"""Recording what happened, inside the transaction in which it happens."""

from __future__ import annotations

from typing import Any

import structlog
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Model

from registry.core import event_verbs, outbox, security_log
from registry.models import Delivery, Event, RegisteredModel, User, Version

# What happens to versions that were released; before that nothing of them is published.
RELEASE_VERBS = (
    "version.published",
    "version.yanked",
    "version.restored",
    "version.withdrawn",
    "version.deprecated",
    "version.undeprecated",
    "version.annotated",
    "version.described",
)


def record(
    verb: str,
    subject: Model,
    *,
    actor: User | AnonymousUser | None,
    model: RegisteredModel | None = None,
    **data: Any,
) -> Event:
    """Write one Event and a Delivery for each subscriber; they are delivered after the commit.

    From where a request came is an entry of the security log, in the same transaction.

    Raises ValueError for a verb that is in no `event_verbs`.
    """
    if verb not in event_verbs.names():
        raise ValueError(f"{verb} is not among the verbs of events")
    user = actor if actor is not None and actor.is_authenticated else None
    event = Event.objects.create(
        actor=user,
        verb=verb,
        subject_kind=subject._meta.model_name or "",  # noqa: SLF001 - Django's documented API
        subject_id=str(subject.pk),
        model=model,
        request_id=structlog.contextvars.get_contextvars().get("request_id", ""),
        data=data,
    )
    security_log.keep_change(event)
    released = not isinstance(subject, Version) or subject.state in Version.VISIBLE
    consumers = outbox.consumers_of(verb, released=released)
    Delivery.objects.bulk_create([Delivery(event=event, consumer=name) for name in consumers])
    transaction.on_commit(outbox.nudge)
    return event
