"""Sending deliveries: one request at a time to each webhook, at least once, under one message id.

A webhook is claimed for a turn by its row, so several processes share the work, and one that is
killed leaves its webhook to others when the lease ends. An answer that came and was not recorded
is asked for again, with the same message id.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from smtplib import SMTPException
from typing import Any
from urllib.parse import urljoin

import structlog
import urllib3
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from hub.protocol.mirrors import clean
from hub.protocol.version import __version__
from registry.core import event_subjects, events, mail, maintenance_mode, public_addresses
from registry.core.permissions import can
from registry.models import Event, User
from registry.webhooks import signing
from registry.webhooks.models import LONGEST_ANSWER, DeliveryState, Webhook, WebhookDelivery

log = structlog.get_logger(__name__)

# The first attempt is made at once; these seconds pass before each further one. It is the example
# of Standard Webhooks, section "Deliverability and reliability", and ends after three days.
WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 72_000)
# How long every attempt fails before a webhook is disabled: within the schedule of one delivery.
DISABLED_AFTER = timedelta(days=3)
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
# A turn, and how long a process that is silent keeps one: several times what one request may take.
TURN_SECONDS = 10.0
LEASE = timedelta(seconds=90)
# Requests at once. Those that fail or are slow have half of the places, so others never wait long.
PLACES = 8
SLOW_MILLISECONDS = 3_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended; without ``error`` the receiver took the message."""

    status: int | None
    answer: str
    error: str
    milliseconds: int


def is_due() -> bool:
    """Whether a webhook waits for its turn: a quick look that locks nothing."""
    return _due().exists()


def take_turn() -> bool:
    """Send what is due for one webhook; False where none waits."""
    webhook = _claim()
    if webhook is None:
        return False
    until = time.monotonic() + TURN_SECONDS
    pool = _pool()
    try:
        while time.monotonic() < until and _send_next(webhook, pool):
            pass
    finally:
        pool.clear()
        rows = Webhook.objects.filter(pk=webhook.pk, claim=webhook.claim)
        rows.update(claim=None, claimed_until=None)
    return True


def _pool() -> urllib3.PoolManager:
    return public_addresses.manager(
        allowed=settings.HUB_WEBHOOK_NETWORKS, plain_public=False, maxsize=1
    )


def _due() -> QuerySet[Webhook]:
    """The webhooks with a delivery that is due, and without a process at it."""
    now = timezone.now()
    pending = WebhookDelivery.objects.filter(
        webhook=OuterRef("pk"), state=DeliveryState.PENDING, next_at__lte=now
    )
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    rows = Webhook.objects.filter(free, Exists(pending), state=Webhook.State.ACTIVE)
    return rows.order_by(F("attempted_at").asc(nulls_first=True), "pk")


def _claim() -> Webhook | None:
    if maintenance_mode.current().is_read_only:
        return None
    now = timezone.now()
    trouble = Q(failing_since__isnull=False) | Q(is_slow=True)
    busy = Webhook.objects.filter(trouble, claimed_until__gte=now).count()
    rows = _due().exclude(trouble) if busy >= PLACES // 2 else _due()
    for key in list(rows.values_list("pk", flat=True)[:PLACES]):
        claim = uuid.uuid4()
        if _due().filter(pk=key).update(claim=claim, claimed_until=now + LEASE, attempted_at=now):
            return Webhook.objects.select_related("user").filter(pk=key, claim=claim).first()
    return None


def _send_next(webhook: Webhook, pool: urllib3.PoolManager) -> bool:
    """Send the next delivery; False where none is due, or the claim was lost."""
    held = Webhook.objects.filter(pk=webhook.pk, claim=webhook.claim, state=Webhook.State.ACTIVE)
    if not held.update(claimed_until=timezone.now() + LEASE):
        return False
    webhook.refresh_from_db()
    due = webhook.deliveries.filter(state=DeliveryState.PENDING, next_at__lte=timezone.now())
    delivery = (
        due.select_related("event__actor", "event__model__namespace")
        .order_by("next_at", "pk")
        .first()
    )
    if delivery is None:
        return False
    body = body_of(webhook, delivery.event)
    if body is None:
        WebhookDelivery.objects.filter(pk=delivery.pk).update(
            state=DeliveryState.WITHHELD, error="The user of the webhook may not read this."
        )
        return True
    outcome = _post(webhook, delivery, body, pool)
    return _record(webhook, delivery, outcome)


def body_of(webhook: Webhook, event: Event) -> bytes | None:
    """The message about an event, as the user of a webhook may read it now; None if they may not.

    Its form is that of Standard Webhooks, section "Payload structure": type, timestamp and data.
    """
    user = User.objects.filter(pk=webhook.user_id, is_active=True).first()
    kind = event_subjects.subject_of(event)
    if user is None or kind is None:
        return None
    if webhook.namespace is not None:
        owned = can(user, "webhook.edit", webhook.namespace)
        if not owned or kind.namespace(event) != webhook.namespace_id:
            return None
    description = kind.describe(user, event)
    if description is None:
        return None
    data: dict[str, Any] = {"event": event.pk, **description.names}
    if webhook.namespace is not None:
        data["actor"] = event.actor.username if event.actor else None
    data["url"] = urljoin(settings.HUB_PUBLIC_URL, description.path)
    message = {
        "type": event.verb,
        "timestamp": event.at.isoformat().replace("+00:00", "Z"),
        "data": data,
    }
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def _post(
    webhook: Webhook, delivery: WebhookDelivery, body: bytes, pool: urllib3.PoolManager
) -> Outcome:
    sealed = [webhook.sealed_secret]
    if webhook.former_until and webhook.former_until > timezone.now():
        sealed.append(webhook.sealed_former_secret)
    secrets = [secret for text in sealed if (secret := signing.unseal(text))]
    if not secrets:
        return Outcome(None, "", "No key of this hub opens the secret. Rotate it.", 0)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"onnx-hub/{__version__} webhook",
        "Accept-Encoding": "identity",
        **signing.headers(delivery.message, int(time.time()), body, secrets),
    }
    began = time.monotonic()
    status, answer, error = None, "", ""
    try:
        response = pool.request(
            "POST",
            webhook.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            preload_content=False,
            redirect=False,
            retries=False,
        )
        try:
            status = response.status
            answer = response.read(LONGEST_ANSWER).decode(errors="replace")
        finally:
            # The rest of a long answer is not read.
            response.close()
    except public_addresses.NotPublicError as refused:
        error = f"{refused}. Operators allow internal networks with HUB_WEBHOOK_NETWORKS."
    except (urllib3.exceptions.HTTPError, OSError, UnicodeError, ValueError) as failure:
        # A status that came decides; what is wrong with the body does not.
        error = "" if status else f"no answer ({type(failure).__name__}: {failure})"
    if status is not None and not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        is_redirect = status < HTTPStatus.BAD_REQUEST
        error = f"answered {status}" + ("; redirects are not followed" if is_redirect else "")
    milliseconds = round(1000 * (time.monotonic() - began))
    return Outcome(
        status, clean(answer)[:LONGEST_ANSWER], clean(error)[:LONGEST_ANSWER], milliseconds
    )


def _record(webhook: Webhook, delivery: WebhookDelivery, outcome: Outcome) -> bool:
    """Record how an attempt ended; whether the next one may follow at once."""
    now = timezone.now()
    attempts = delivery.attempts + 1
    fields: dict[str, Any] = {
        "attempts": attempts,
        "attempted_at": now,
        "status": outcome.status,
        "milliseconds": outcome.milliseconds,
        "answer": outcome.answer,
        "error": outcome.error,
    }
    if not outcome.error:
        fields["state"] = DeliveryState.DELIVERED
    elif attempts > len(WAITS):
        fields["state"] = DeliveryState.FAILED
    else:
        fields["next_at"] = now + timedelta(seconds=WAITS[attempts - 1])
    reason = ""
    with transaction.atomic():
        # A replay that was asked for meanwhile stays.
        rows = WebhookDelivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts)
        rows.filter(next_at=delivery.next_at).update(**fields)
        own = Webhook.objects.select_for_update().filter(pk=webhook.pk, claim=webhook.claim)
        row = own.first()
        if row is None:
            return False
        row.is_slow = outcome.milliseconds > SLOW_MILLISECONDS
        row.failing_since = (row.failing_since or now) if outcome.error else None
        if outcome.status == HTTPStatus.GONE:
            reason = "The receiver answered 410: it wants no more messages."
        elif row.failing_since and row.failing_since <= now - DISABLED_AFTER:
            reason = (
                f"Every attempt failed for {DISABLED_AFTER.days} days. The last: {outcome.error}"
            )
        if reason:
            row.state, row.reason = Webhook.State.DISABLED, reason[:LONGEST_ANSWER]
            events.record("webhook.disabled", row, actor=None, scope=row.scope)
        row.save(update_fields=["is_slow", "failing_since", "state", "reason"])
    if reason:
        _notify(row)
    return not outcome.error


def _notify(webhook: Webhook) -> None:
    """Say by mail that a webhook is disabled; its page says so, too."""
    if not (mail.is_possible() and webhook.user.email and webhook.user.is_active):
        return
    page = urljoin(settings.HUB_PUBLIC_URL, f"account/webhooks/{webhook.pk}")
    text = (
        f"The hub sends no more events of {webhook.scope} to {webhook.url}\n\n"
        f"{webhook.reason}\n\n"
        "Pending events are kept for 30 days. Repair the receiver, then resume the webhook:\n"
        f"{page}\n"
    )
    try:
        mail.send(webhook.user.email, f"Webhook of {webhook.scope} disabled", text)
    except (SMTPException, OSError) as error:
        log.warning("webhook_notice_not_sent", webhook=webhook.pk, error=str(error)[:200])
