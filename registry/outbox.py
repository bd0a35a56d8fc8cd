"""Telling subscribers what happened, at least once, whatever dies in between.

A Delivery row is written with the event. Handlers are level-triggered: they get the subject's key,
read the rows as they are now and make their view match, so they may run twice, late or out of
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from registry.models import Delivery

log = structlog.get_logger(__name__)

LONGEST_DELAY_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event was about: the kind of row and its key, and the model it belongs to."""

    kind: str
    key: str
    model_id: int | None


Handler = Callable[[Subject], None]

_handlers: dict[str, Handler] = {}
_verbs: dict[str, tuple[str, ...]] = {}


def subscribe(consumer: str, verbs: tuple[str, ...], handler: Handler) -> None:
    """Have ``handler`` told of events whose verb starts with one of ``verbs``."""
    _handlers[consumer] = handler
    _verbs[consumer] = verbs


def consumers_of(verb: str) -> list[str]:
    """Who wants to know of ``verb``."""
    return [name for name, verbs in _verbs.items() if verb.startswith(verbs)]


def deliver(limit: int = 1000) -> int:
    """Tell whoever is due; returns how many deliveries were settled."""
    settled = 0
    while settled < limit:
        done = _deliver_next()
        if not done:
            break
        settled += done
    return settled


def nudge() -> None:
    """Deliver now what the transaction just committed left; what fails waits for the sweep."""
    try:
        deliver(limit=100)
    except DatabaseError:
        log.warning("outbox_nudge_failed", exc_info=True)


def _deliver_next() -> int:
    with transaction.atomic():
        due = Delivery.objects.filter(next_at__lte=timezone.now()).select_related("event")
        if connection.features.has_select_for_update_skip_locked:
            due = due.select_for_update(skip_locked=True, of=("self",))
        delivery = due.first()
        if delivery is None:
            return 0
        event = delivery.event
        handler = _handlers.get(delivery.consumer)
        if handler is None:  # a subscriber that this release no longer has
            delivery.delete()
            return 1
        try:
            with transaction.atomic():
                handler(Subject(event.subject_kind, event.subject_id, event.model_id))
        except Exception as error:  # noqa: BLE001 - a handler's failure must not stop the others
            _postpone(delivery, error)
            return 1
        # Deliveries about the same subject that waited beside this one have been served with it.
        same = Delivery.objects.filter(
            consumer=delivery.consumer,
            event__subject_kind=event.subject_kind,
            event__subject_id=event.subject_id,
            event_id__lte=event.pk,
        )
        if connection.features.has_select_for_update_skip_locked:
            # What somebody else is delivering is theirs; each could wait for the other for ever.
            same = same.select_for_update(skip_locked=True, of=("self",))
        return Delivery.objects.filter(pk__in=[row.pk for row in same]).delete()[0]


def _postpone(delivery: Delivery, error: Exception) -> None:
    delivery.attempts += 1
    delay = min(2**delivery.attempts, LONGEST_DELAY_SECONDS)
    delivery.next_at = timezone.now() + timedelta(seconds=delay)
    delivery.error = f"{type(error).__name__}: {error}"[:2000]
    delivery.save(update_fields=["attempts", "next_at", "error"])
    log.error(
        "delivery_failed", consumer=delivery.consumer, event_id=delivery.event_id, exc_info=error
    )
