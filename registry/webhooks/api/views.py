"""The API of webhooks: their addresses and events, secrets, and deliveries."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.api.inputs import Input, Items
from registry.api.operations import View, command, detail, operation, resource, rows
from registry.api.outputs import Column, Columns, Output, Shape
from registry.people import selectors as people
from registry.versions import selectors as versions
from registry.webhooks import selectors, services
from registry.webhooks.models import LONGEST_URL, DeliveryState, Webhook, WebhookDelivery

_URL: dict[str, Any] = {
    "kind": str,
    "max_length": LONGEST_URL,
    "help_text": "https://host/path; deliveries are POST requests to it",
}


def _verbs(**options: Any) -> Items:
    return Items(
        child=serializers.CharField(max_length=40),
        max_length=200,
        help_text="events to receive, such as version.published",
        **options,
    )


class WebhookInput(Input):
    """A new webhook, for the events of a namespace or of a model."""

    columns = Columns(
        Column("url", **_URL),
        "events",
        Column("namespace", kind=str, default="", allow_blank=True, help_text="for its owners"),
        Column(
            "model",
            kind=str,
            default="",
            allow_blank=True,
            help_text="instead of a namespace: a model that you can read, such as zoo/digits",
        ),
    )
    events = _verbs()


class WebhookEdit(Input):
    """The changeable fields of a webhook; omitted fields stay unchanged."""

    columns = Columns(
        Column("url", **_URL),
        "events",
        Column(
            "is_paused", kind=bool, help_text="false also makes a disabled webhook active again"
        ),
        required=False,
    )
    events = _verbs(required=False)


class WebhookOutput(Output[Webhook]):
    """A webhook, and how its last attempts went."""

    columns = Columns(
        "id",
        "url",
        Column("events", kind=list[str], help_text="events to receive, such as version.published"),
        Column("namespace", "namespace.slug"),
        Column("model", "model.ref"),
        Column("user", "user.username", help_text="it receives what this user may read"),
        "state",
        "reason",
        Column("failing_since", help_text="since when every attempt failed; null otherwise"),
        "created_at",
    )


class NewSecretOutput(WebhookOutput):
    """A webhook with its secret."""

    columns = Columns(
        Column("secret", kind=str, help_text="whsec_ and base64; it is shown this once"),
    )


class DeliveryOutput(Output[WebhookDelivery]):
    """An event for a webhook, and how its last attempt ended."""

    columns = Columns(
        "id",
        Column("message_id", "message", help_text="the header webhook-id"),
        Column("event", "event.verb"),
        Column("event_id", "event.id"),
        Column(
            "state",
            help_text="pending: sent again at `next_at`; withheld: the user may not read it",
        ),
        "attempts",
        "next_at",
        "attempted_at",
        "status",
        Column("milliseconds", help_text="duration of the last attempt"),
        "answer",
        "error",
        "created_at",
    )


class DeliveriesQuery(Shape[Any]):
    """Conditions of deliveries."""

    columns = Columns(
        Column("state", choices=DeliveryState.choices, required=False, help_text="only this state"),
    )


class Webhooks(View):
    """Your webhooks, and those of namespaces that you own."""

    targets = ("webhook",)
    webhook = resource(selectors.webhook, "webhook_id")

    index = rows(
        "webhooks_list",
        selectors.webhooks,
        "List webhooks, newest first.",
        WebhookOutput,
        by="id",
        targets=(),
    )

    @operation("webhooks_create", NewSecretOutput, targets=(), reads=WebhookInput, status=201)
    def create(self, namespace: str, model: str, url: str, events: list[str]) -> Webhook:
        """Register an address for events; the answer has the secret that signs them."""
        actor = self.request.user
        slug, _, name = model.partition("/")
        return services.add(
            actor,
            url=url,
            events=events,
            namespace=people.own_namespace(actor, namespace) if namespace else None,
            model=versions.model(actor, slug, name) if model else None,
        )

    read = detail("webhooks_read", WebhookOutput, "Read a webhook.")
    edit = command(
        "webhooks_edit",
        services.edit,
        "Change the address or events of a webhook, pause or resume it.",
        WebhookOutput,
        reads=WebhookEdit,
    )
    remove = command("webhooks_remove", services.remove, "Remove a webhook and its deliveries.")
    rotate = command(
        "webhooks_rotate",
        services.rotate,
        "Replace the secret. For 24 hours, messages are signed with both.",
        NewSecretOutput,
    )
    deliveries = rows(
        "webhooks_deliveries",
        selectors.deliveries,
        "List the deliveries of a webhook of the last 30 days, newest first.",
        DeliveryOutput,
        DeliveriesQuery,
        by="id",
    )


class Deliveries(View):
    """The deliveries of a webhook."""

    targets = ("webhook", "delivery")
    webhook = resource(selectors.webhook, "webhook_id")
    delivery = resource(selectors.delivery, "webhook", "delivery_id", needs_actor=False)

    replay = command(
        "webhooks_replay",
        services.replay,
        "Send a delivery again, under the same message id.",
        DeliveryOutput,
    )
