"""Webhooks and their deliveries; one delivery for each event of each webhook."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models import Event, Namespace, RegisteredModel
from registry.models.constraints import at_most, one_of

LONGEST_URL = 500
# Of an answer's body, and of a reason why there is none.
LONGEST_ANSWER = 1_000


class WebhookState(models.TextChoices):
    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"


class Webhook(models.Model):
    """An address that receives events of a namespace or of a model, as its user may read them."""

    State = WebhookState
    # In the clear where it was just made, and nowhere else.
    secret: str | None = None

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="registered_webhooks"
    )
    namespace = models.ForeignKey(
        Namespace, models.CASCADE, null=True, blank=True, related_name="webhooks"
    )
    model = models.ForeignKey(
        RegisteredModel, models.CASCADE, null=True, blank=True, related_name="webhooks"
    )
    url = models.CharField(max_length=LONGEST_URL)
    events = models.JSONField(default=list, help_text="verbs, such as version.published")
    sealed_secret = models.TextField()
    sealed_former_secret = models.TextField(blank=True, default="")
    former_until = models.DateTimeField(null=True, blank=True)
    state = models.CharField(
        max_length=10, choices=WebhookState.choices, default=WebhookState.ACTIVE
    )
    reason = models.TextField(blank=True, default="", help_text="why it is disabled")
    failing_since = models.DateTimeField(null=True, blank=True)
    is_slow = models.BooleanField(default=False)
    attempted_at = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            one_of("state", WebhookState, "webhook"),
            models.CheckConstraint(
                condition=Q(namespace__isnull=True) ^ Q(model__isnull=True), name="webhook_scope"
            ),
            models.CheckConstraint(
                condition=~Q(state="disabled") | ~Q(reason=""), name="webhook_reason_stated"
            ),
        ]
        indexes = [models.Index(fields=["state", "attempted_at"], name="webhook_turns")]

    def __str__(self) -> str:
        return f"webhook {self.pk} of {self.scope}"

    @property
    def scope(self) -> str:
        """The namespace or the model whose events it receives."""
        if self.namespace is not None:
            return self.namespace.slug
        return self.model.ref if self.model else ""


class DeliveryState(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    WITHHELD = "withheld"


class WebhookDelivery(models.Model):
    """An event for a webhook, under one message id however often it is sent."""

    State = DeliveryState

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, models.CASCADE, related_name="webhook_deliveries")
    message_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING
    )
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    attempted_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="HTTP status of the last answer"
    )
    milliseconds = models.PositiveIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True, default="", help_text="beginning of its body")
    error = models.TextField(blank=True, default="", help_text="why there is no 2xx answer")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event"], name="webhookdelivery_unique"),
            one_of("state", DeliveryState, "webhookdelivery"),
            at_most("answer", LONGEST_ANSWER, "webhookdelivery"),
            at_most("error", LONGEST_ANSWER, "webhookdelivery"),
        ]
        indexes = [
            models.Index(
                fields=["webhook", "next_at"],
                name="webhookdelivery_due",
                condition=Q(state="pending"),
            ),
            models.Index(fields=["created_at"], name="webhookdelivery_by_time"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk} of webhook {self.webhook_id}"

    @property
    def message(self) -> str:
        """The id of its message, as receivers get it in `webhook-id`."""
        return f"msg_{self.message_id.hex}"
