"""Which webhooks an actor may see: their own, and those of namespaces that they own."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from hub.protocol import problems
from registry.core.permissions import Actor, can, require_user
from registry.models import Namespace
from registry.people import selectors as people
from registry.webhooks.models import Webhook, WebhookDelivery


def webhooks(actor: Actor) -> QuerySet[Webhook]:
    """The webhooks of the actor and of namespaces that they own; raises NotAuthenticated."""
    user = require_user(actor, "admin", any_namespace=True)
    owned = [space.pk for space, _ in people.namespaces_of(user, "owner")]
    rows = Webhook.objects.filter(Q(namespace__in=owned) | Q(user=user, namespace=None))
    if user.reach is not None:
        reached = user.reach.rows(model="model") | user.reach.rows(namespace="model__namespace")
        rows = rows.filter(reached)
    return rows.select_related("namespace", "model__namespace", "user")


def webhook(actor: Actor, key: int) -> Webhook:
    """One of them; raises NotFound."""
    return problems.expect(
        webhooks(actor).filter(pk=key).first(),
        problems.NotFound(f"Webhook {key} not found. `hub webhooks list` lists yours."),
    )


def of_namespace(actor: Actor, space: Namespace) -> QuerySet[Webhook]:
    """The webhooks of a namespace, for its owners; none for others."""
    rows = Webhook.objects.filter(namespace=space)
    return rows if can(actor, "webhook.edit", space) else rows.none()


def deliveries(_actor: Actor, webhook: Webhook, *, state: str = "") -> QuerySet[WebhookDelivery]:
    """The deliveries of a webhook that the actor sees, newest first."""
    rows = webhook.deliveries.select_related("event")
    return rows.filter(state=state) if state else rows


def delivery(webhook: Webhook, key: int) -> WebhookDelivery:
    """One of them; raises NotFound."""
    return problems.expect(
        webhook.deliveries.select_related("event").filter(pk=key).first(),
        problems.NotFound(
            f"Webhook {webhook.pk} has no delivery {key}. Deliveries are kept for 30 days."
        ),
    )
