"""What happened, kept permanently, and the deliveries that are still due."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from registry.models.registered_models import RegisteredModel

ALIAS_MOVED, ALIAS_DELETED = "alias.moved", "alias.deleted"
ALIAS_VERBS = (ALIAS_MOVED, ALIAS_DELETED)


class Event(models.Model):
    """Something that happened: the audit log and the source of every follow-up."""

    at = models.DateTimeField(default=timezone.now)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="events"
    )
    verb = models.CharField(max_length=40)
    subject_kind = models.CharField(max_length=20)
    subject_id = models.CharField(max_length=40)
    model = models.ForeignKey(
        RegisteredModel, models.PROTECT, null=True, blank=True, related_name="events"
    )
    request_id = models.CharField(max_length=64, blank=True, default="")
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["subject_kind", "subject_id"], name="event_by_subject"),
            models.Index(fields=["verb", "-id"], name="event_by_verb"),
            models.Index(fields=["at"], name="event_by_time"),
            models.Index(
                fields=["request_id"], name="event_by_request", condition=~Q(request_id="")
            ),
            models.Index(
                fields=["model", "-id"], name="event_of_alias", condition=Q(verb__in=ALIAS_VERBS)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject_kind} {self.subject_id}"


class Delivery(models.Model):
    """An event still to be delivered to a subscriber; the row is deleted once it has been."""

    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    consumer = models.CharField(max_length=40)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["next_at", "pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["event", "consumer"], name="delivery_unique"),
        ]
        indexes = [models.Index(fields=["next_at"], name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.consumer} of event {self.event_id}"
