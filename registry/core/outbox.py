"""Telling subscribers what happened, at least once, whatever dies in between.

A Delivery row is written with the event. Handlers are level-triggered: they get the subject's key,
read the rows as they are now and make their view match, so they may run twice, late or out of
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from registry.core import maintenance_mode
from registry.core.prepared_queries import Prepared
from registry.models import Delivery

log = structlog.get_logger(__name__)

LONGEST_DELAY_SECONDS = 3600
# How long a delivery outside a transaction is reserved for the process that takes it.
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
    event_id: int = 0


Handler = Callable[[Subject], None]

_handlers: dict[str, Handler] = {}
_verbs: dict[str, tuple[str, ...]] = {}
_background: set[str] = set()
_apart: set[str] = set()
_released: set[str] = set()
_each: set[str] = set()


def subscribe(
    consumer: str,
    verbs: tuple[str, ...],
    handler: Handler,
    *,
    background: bool = False,
    apart: bool = False,
    released: bool = False,
    each: bool = False,
) -> None:
    """Call ``handler`` for events whose verb starts with one of ``verbs``.

    What takes long belongs in the ``background``: no request waits for it. The process that keeps
    graphs delivers it within a second, and so do workers that wait for jobs. What waits for another
    process is delivered ``apart``, outside any transaction, so that no writes wait for it. With
    ``released``, events of a version arrive from `version.published` on, which ``verbs`` must name.
    With ``each``, every event is delivered, also beside others about the same subject.
    """
    _handlers[consumer] = handler
    _verbs[consumer] = verbs
    (_background.add if background or apart else _background.discard)(consumer)
    (_apart.add if apart else _apart.discard)(consumer)
    (_released.add if released else _released.discard)(consumer)
    (_each.add if each else _each.discard)(consumer)


def consumers_of(verb: str, *, released: bool) -> list[str]:
    """Who wants to know of ``verb``, which may concern a version that was not ``released`` yet."""
    wanting = [name for name, verbs in _verbs.items() if verb.startswith(verbs)]
    return [name for name in wanting if released or name not in _released]


def deliver(limit: int = 1000, *, background: bool = True) -> int:
    """Make the deliveries that are due, each once; returns how many were settled or postponed.

    During read-only maintenance they wait.
    """
    if maintenance_mode.current().is_read_only:
        return 0
    settled = 0
    due = _due(frozenset() if background else frozenset(_background))
    began = timezone.now()
    with _bounded_waits():
        while settled < limit and (done := _deliver_next(due, began)):
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


class _Delivery(NamedTuple):
    """A delivery that is due, and what its event was about."""

    key: int
    consumer: str
    attempts: int
    event_id: int
    subject: Subject


def _locked(rows: QuerySet[Delivery], *columns: str) -> QuerySet[Any, Any]:
    """Columns of deliveries that no other process has; those that it has are left out."""
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True, of=("self",))
    return rows.values_list("pk", *columns)


@cache
def _due(excluded: frozenset[str]) -> Prepared:
    """The next delivery at a time to other consumers than these.

    What was tried before must have been due when the pass began: so each is tried once in it.
    """

    def make(now: datetime, began: datetime) -> QuerySet[Any, Any]:
        rows = Delivery.objects.filter(Q(attempts=0) | Q(next_at__lte=began), next_at__lte=now)
        columns = ("consumer", "attempts", "event", "event__subject_kind", "event__subject_id")
        return _locked(rows.exclude(consumer__in=excluded), *columns, "event__model")[:1]

    return Prepared(make, planned=True)


def _deliver_next(due: Prepared, began: datetime) -> int:
    """Deliver what is due next; what its handler wrote is undone where it fails."""
    delivery = None
    try:
        with transaction.atomic():
            delivery = _claimed(due, began)
            if delivery is None:
                return 0
            row = Delivery.objects.filter(pk=delivery.key)
            handler = _handlers.get(delivery.consumer)
            if handler is None:  # a subscriber that this release no longer has
                row.delete()
                return 1
            keys = _keys(delivery)
            if delivery.consumer not in _apart:
                handler(delivery.subject)
                return Delivery.objects.filter(pk__in=keys).delete()[0]
            row.update(next_at=timezone.now() + timedelta(seconds=APART_SECONDS))
        handler(delivery.subject)
        with transaction.atomic():
            rows = Delivery.objects.filter(pk__in=keys).order_by()
            return Delivery.objects.filter(pk__in=_locked(rows)).delete()[0]
    except Exception as error:
        if delivery is None:
            raise
        # One failure must not stop the others.
        return _postpone(delivery, error)


def _claimed(due: Prepared, began: datetime) -> _Delivery | None:
    """What is due next, locked until the transaction ends; None where nothing is."""
    for key, consumer, attempts, event_id, kind, subject_key, model_id in due.rows(
        timezone.now(), began
    ):
        subject = Subject(kind, subject_key, model_id, event_id)
        return _Delivery(key, consumer, attempts, event_id, subject)
    return None


@contextmanager
def _bounded_waits() -> Iterator[None]:
    """Bound the wait for locks meanwhile, since their holder may be frozen permanently."""
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


def _keys(delivery: _Delivery) -> list[int]:
    """The deliveries that its handler serves: it, and earlier ones about the same subject.

    They are read before the handler runs. An event may get a lower number than another and be
    committed later; what it says, the handler may not have seen, so it is delivered by itself. What
    another process is delivering is left to it: each could wait for the other indefinitely.
    """
    if delivery.consumer in _each:
        return [delivery.key]
    beside = Delivery.objects.filter(
        consumer=delivery.consumer,
        event__subject_kind=delivery.subject.kind,
        event__subject_id=delivery.subject.key,
        event__lte=delivery.event_id,
    )
    return [key for (key,) in _locked(beside.order_by())]


def _postpone(delivery: _Delivery, error: Exception) -> int:
    """Have it tried again after twice the time; returns 1, the deliveries put off."""
    if getattr(error.__cause__, "pgcode", "") == _LOCK_NOT_AVAILABLE:
        _wait_for_locks(LOCK_MILLISECONDS_LATER)
    attempts = delivery.attempts + 1
    delay = min(2**attempts, LONGEST_DELAY_SECONDS)
    Delivery.objects.filter(pk=delivery.key).update(
        attempts=attempts,
        next_at=timezone.now() + timedelta(seconds=delay),
        error=f"{type(error).__name__}: {error}"[:2000],
    )
    log.error(
        "delivery_failed", consumer=delivery.consumer, event_id=delivery.event_id, exc_info=error
    )
    return 1
