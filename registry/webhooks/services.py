"""Adding, changing and removing webhooks, and what becomes a delivery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hub.protocol import problems
from registry.core import event_subjects, events, public_addresses
from registry.core.account_uses import Dependent
from registry.core.outbox import Subject
from registry.core.permissions import Actor, require, require_user
from registry.core.row_locks import lock
from registry.models import Event, Namespace, RegisteredModel, User
from registry.webhooks import signing
from registry.webhooks.models import LONGEST_URL, DeliveryState, Webhook, WebhookDelivery

CONSUMER = "webhooks"
# For each namespace, and for each user beside their namespaces.
MOST = 20
# How long receivers have to take over a new secret.
ROTATION = timedelta(hours=24)
RETENTION = timedelta(days=30)
_DELETED_AT_ONCE = 5_000


@transaction.atomic
def add(
    actor: Actor,
    *,
    url: str,
    events: Sequence[str],
    namespace: Namespace | None = None,
    model: RegisteredModel | None = None,
) -> Webhook:
    """Register an address for events of a namespace, for its owners, or of a model that one sees.

    The caller has found the model by a selector. The row has its ``secret``. Raises InvalidRequest,
    NotAllowed, StateConflict.
    """
    if (namespace is None) == (model is None):
        raise problems.InvalidRequest.at("/namespace", "Name a namespace or a model, not both.")
    if namespace is not None:
        user = require(actor, "webhook.edit", namespace)
        # Those who add webhooks come one after another, so that none is beyond the limit.
        lock(namespace)
        others = Webhook.objects.filter(namespace=namespace)
    else:
        user = require_user(actor, "admin", of=model)
        lock(user)
        others = Webhook.objects.filter(user=user, namespace=None)
    if others.count() >= MOST:
        raise problems.StateConflict(f"There are {MOST} webhooks already. Remove one first.")
    secret = signing.new_secret()
    webhook = Webhook.objects.create(
        user=user,
        namespace=namespace,
        model=model,
        url=checked_url(url),
        events=checked_events(events),
        sealed_secret=signing.seal(secret),
    )
    _record("webhook.created", webhook, actor)
    webhook.secret = secret
    return webhook


@transaction.atomic
def edit(actor: Actor, *, webhook: Webhook, **fields: Any) -> Webhook:
    """Change the address or the events, pause or resume; fields left out stay.

    What was disabled becomes active again. Raises NotAllowed, InvalidRequest.
    """
    webhook = _locked(actor, webhook)
    if "url" in fields:
        webhook.url = checked_url(fields["url"])
    if "events" in fields:
        webhook.events = checked_events(fields["events"])
    if (is_paused := fields.get("is_paused")) is not None:
        webhook.state = Webhook.State.PAUSED if is_paused else Webhook.State.ACTIVE
        webhook.reason, webhook.failing_since, webhook.is_slow = "", None, False
    webhook.save()
    _record("webhook.edited", webhook, actor, fields=sorted(fields))
    return webhook


@transaction.atomic
def rotate(actor: Actor, *, webhook: Webhook) -> Webhook:
    """Replace the ``secret``; for a day messages are signed with the former one, too."""
    webhook = _locked(actor, webhook)
    secret = signing.new_secret()
    webhook.sealed_former_secret, webhook.former_until = (
        webhook.sealed_secret,
        timezone.now() + ROTATION,
    )
    webhook.sealed_secret = signing.seal(secret)
    webhook.save(update_fields=["sealed_secret", "sealed_former_secret", "former_until"])
    _record("webhook.rotated", webhook, actor)
    webhook.secret = secret
    return webhook


@transaction.atomic
def remove(actor: Actor, *, webhook: Webhook) -> None:
    """Remove a webhook with its deliveries; what is pending is not sent."""
    webhook = _locked(actor, webhook)
    _record("webhook.removed", webhook, actor)
    webhook.delete()


@transaction.atomic
def replay(actor: Actor, *, webhook: Webhook, delivery: WebhookDelivery) -> WebhookDelivery:
    """Send a delivery again from the start of the schedule, under the same message id.

    Raises StateConflict unless the webhook is active.
    """
    webhook = _locked(actor, webhook)
    if webhook.state != Webhook.State.ACTIVE:
        raise problems.StateConflict(f"The webhook is {webhook.state}. Resume it first.")
    delivery = lock(delivery, "event")
    delivery.state, delivery.attempts = DeliveryState.PENDING, 0
    delivery.next_at = timezone.now()
    delivery.save(update_fields=["state", "attempts", "next_at"])
    return delivery


def checked_url(url: str) -> str:
    """An address that may receive events; raises InvalidRequest.

    Names are resolved and judged at each connection (``registry.core.public_addresses``).
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        parts, is_address = urlsplit(""), None
    if not is_address or "@" in parts.netloc or len(url) > LONGEST_URL or not _is_plain(url):
        raise problems.InvalidRequest.at(
            "/url",
            f"Write the address as https://host/path, in ASCII, with up to {LONGEST_URL} "
            "characters and without a user.",
        )
    allowed = settings.HUB_WEBHOOK_NETWORKS
    if parts.scheme == "http" and not allowed:
        raise problems.InvalidRequest.at(
            "/url", "The address must begin with https://: events are sent over TLS alone."
        )
    try:
        address = ip_address(parts.hostname or "")
    except ValueError:
        return url
    if not public_addresses.is_public(address) and not any(address in net for net in allowed):
        raise problems.InvalidRequest.at(
            "/url",
            f"{address} is not a public address. Operators allow internal networks with "
            "HUB_WEBHOOK_NETWORKS.",
        )
    return url


def checked_events(verbs: Sequence[str]) -> list[str]:
    """Verbs of events, sorted; raises InvalidRequest for others and for none."""
    readable = event_subjects.readable_verbs()
    unknown = sorted(set(verbs) - set(readable))
    if unknown or not verbs:
        words = f"unknown event {unknown[0][:60]!r}" if unknown else "no event"
        raise problems.InvalidRequest.at("/events", f"{words}. Known: {', '.join(readable)}.")
    return sorted(set(verbs))


def on_event(subject: Subject) -> None:
    """Make a delivery for each active webhook that wants an event."""
    event = Event.objects.select_related("model").get(pk=subject.event_id)
    kind = event_subjects.subject_of(event)
    namespace = kind.namespace(event) if kind else None
    wanting = Q(namespace=namespace) if namespace else Q(pk__in=[])
    wanting |= Q(model=event.model_id) if event.model_id else Q(pk__in=[])
    rows = Webhook.objects.filter(wanting, state=Webhook.State.ACTIVE, created_at__lte=event.at)
    WebhookDelivery.objects.bulk_create(
        [WebhookDelivery(webhook=row, event=event) for row in rows if event.verb in row.events],
        ignore_conflicts=True,
    )


def delete_old() -> int:
    """Delete deliveries that ended and are older than 30 days; returns the number."""
    rows = WebhookDelivery.objects.filter(created_at__lt=timezone.now() - RETENTION)
    ended = rows.exclude(state=DeliveryState.PENDING).order_by("created_at")
    keys = list(ended.values_list("pk", flat=True)[:_DELETED_AT_ONCE])
    return WebhookDelivery.objects.filter(pk__in=keys).delete()[0]


def of_account(user: User) -> Iterator[Dependent]:
    """The webhooks that read in the name of a user; those of models end with the account."""

    def hand_over(webhook: Webhook, heir: User) -> None:
        Webhook.objects.filter(pk=webhook.pk).update(user=heir)

    rows = Webhook.objects.filter(user=user).select_related("namespace", "model__namespace")
    for webhook in rows:
        name = f"{webhook.pk} of {webhook.scope}"
        if webhook.namespace is None:
            yield Dependent("webhook", name)
            continue
        transfer = partial(hand_over, webhook)
        yield Dependent("webhook", name, webhook.namespace, "webhook.edit", transfer)


def _locked(actor: Actor, webhook: Webhook) -> Webhook:
    if webhook.namespace is not None:
        require(actor, "webhook.edit", webhook.namespace)
    elif require_user(actor, "admin", of=webhook.model) != webhook.user:
        raise problems.NotAllowed("This webhook belongs to another user.")
    return lock(webhook)


def _record(verb: str, webhook: Webhook, actor: Actor, **data: Any) -> None:
    # The address may hold a secret of its receiver, and events are kept permanently.
    host = urlsplit(webhook.url).hostname
    events.record(verb, webhook, actor=actor, scope=webhook.scope, host=host, **data)


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url and "\\" not in url
