"""Telling subscribers what happened, at least once, whatever dies in between.

A Delivery row is written with the event. Handlers are level-triggered: they get the subject's key,
read the rows as they are now and make their view match, so they may run twice, late or out of
order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from registry.models import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from registry.models import Event

log = structlog.get_logger(__name__)

LONGEST_DELAY_SECONDS = 3600
# How long whoever takes a delivery that is made apart has it for itself.
APART_SECONDS = 30
# How long a delivery waits for rows that another process holds; then it is tried again later.
LOCK_MILLISECONDS = 2_000
# And those after it, whose rows that process is likely to hold too.
LOCK_MILLISECONDS_LATER = 50
_LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's appendix A


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event was about: the kind of row and its key, and the model it belongs to."""

    kind: str
    key: str
    model_id: int | None


Handler = Callable[[Subject], None]

_handlers: dict[str, Handler] = {}
_verbs: dict[str, tuple[str, ...]] = {}
_background: set[str] = set()
_apart: set[str] = set()
_released: set[str] = set()


def subscribe(
    consumer: str,
    verbs: tuple[str, ...],
    handler: Handler,
    *,
    background: bool = False,
    apart: bool = False,
    released: bool = False,
) -> None:
    """Have ``handler`` told of events whose verb starts with one of ``verbs``.

    What takes long belongs in the ``background``: no request waits for it. The process that keeps
    graphs tells it within a second, and so do workers that wait for jobs. What waits for another
    process is told ``apart``, in no transaction: nobody's writes wait for it. Who cares for
    ``released`` versions alone hears of none before `version.published`, which it has to ask for.
    """
    _handlers[consumer] = handler
    _verbs[consumer] = verbs
    (_background.add if background or apart else _background.discard)(consumer)
    (_apart.add if apart else _apart.discard)(consumer)
    (_released.add if released else _released.discard)(consumer)


def consumers_of(verb: str, *, released: bool) -> list[str]:
    """Who wants to know of ``verb``, which may concern a version that was not ``released`` yet."""
    wanting = [name for name, verbs in _verbs.items() if verb.startswith(verbs)]
    return [name for name in wanting if released or name not in _released]


def deliver(limit: int = 1000, *, background: bool = True) -> int:
    """Tell whoever is due, each once; returns how many deliveries were settled or put off."""
    settled = 0
    failed: list[int] = []
    with _bounded_waits():
        while settled < limit:
            done = _deliver_next(failed, background=background)
            if not done:
                break
            settled += done
    return settled


def waits() -> bool:
    """Whether anything is due: a quick look that locks nothing."""
    return Delivery.objects.filter(next_at__lte=timezone.now()).exists()


def nudge() -> None:
    """Deliver now what the transaction just committed left; what fails waits for the sweep."""
    try:
        deliver(limit=100, background=False)
    except DatabaseError:
        log.warning("outbox_nudge_failed", exc_info=True)


def _deliver_next(failed: list[int], *, background: bool) -> int:
    taken: Delivery | None = None
    with transaction.atomic():
        due = Delivery.objects.filter(next_at__lte=timezone.now()).select_related("event")
        if failed:
            due = due.exclude(pk__in=failed)
        if not background:
            due = due.exclude(consumer__in=_background)
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
        if delivery.consumer not in _apart:
            try:
                with transaction.atomic():
                    handler(_subject(event))
            except Exception as error:  # noqa: BLE001 - one failure must not stop the others
                failed.append(_postpone(delivery, error))
                return 1
            return _settle(delivery)
        delivery.next_at = timezone.now() + timedelta(seconds=APART_SECONDS)
        delivery.save(update_fields=["next_at"])
        taken = delivery
    try:
        handler(_subject(taken.event))
    except Exception as error:  # noqa: BLE001 - one failure must not stop the others
        failed.append(_postpone(taken, error))
        return 1
    with transaction.atomic():
        return _settle(taken)


@contextmanager
def _bounded_waits() -> Iterator[None]:
    """Bound what is waited for locks meanwhile, since their holder may be frozen for good."""
    if connection.vendor != "postgresql":
        yield
        return
    _wait_for_locks(LOCK_MILLISECONDS)
    try:
        yield
    finally:
        # A failure in a transaction of the caller's own has put it back already.
        if not connection.needs_rollback:
            with connection.cursor() as cursor:
                cursor.execute("RESET lock_timeout")


def _wait_for_locks(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {milliseconds}")


def _subject(event: Event) -> Subject:
    return Subject(event.subject_kind, event.subject_id, event.model_id)


def _settle(delivery: Delivery) -> int:
    """Forget a delivery, and what waited beside it about the same subject: it was served too."""
    event = delivery.event
    same = Delivery.objects.filter(
        consumer=delivery.consumer,
        event__subject_kind=event.subject_kind,
        event__subject_id=event.subject_id,
        event_id__lte=event.pk,
    )
    if connection.features.has_select_for_update_skip_locked:
        # What somebody else is delivering is theirs; each could wait for the other for ever.
        free = same.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True)
        same = Delivery.objects.filter(pk__in=list(free))
    return same.delete()[0]


def _postpone(delivery: Delivery, error: Exception) -> int:
    if getattr(error.__cause__, "pgcode", "") == _LOCK_NOT_AVAILABLE:
        _wait_for_locks(LOCK_MILLISECONDS_LATER)
    delivery.attempts += 1
    delay = min(2**delivery.attempts, LONGEST_DELAY_SECONDS)
    delivery.next_at = timezone.now() + timedelta(seconds=delay)
    delivery.error = f"{type(error).__name__}: {error}"[:2000]
    delivery.save(update_fields=["attempts", "next_at", "error"])
    log.error(
        "delivery_failed", consumer=delivery.consumer, event_id=delivery.event_id, exc_info=error
    )
    return delivery.pk
