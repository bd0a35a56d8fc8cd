"""What people think of models: likes, and models that they watch."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from registry.models.constraints import one_of
from registry.models.registered_models import RegisteredModel


class Like(models.Model):
    """One person's like of one model."""

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="likes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="likes")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["model", "user"], name="like_unique")]

    def __str__(self) -> str:
        return f"like {self.pk} of model {self.model_id}"


class Watch(models.Model):
    """A model of which one person wants to see what is new, seen by that person alone."""

    model = models.ForeignKey(RegisteredModel, models.CASCADE, related_name="watches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="watches")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["user", "model"], name="watch_unique")]

    def __str__(self) -> str:
        return f"watch {self.pk} of model {self.model_id}"


class DigestInterval(models.TextChoices):
    DAILY = "daily"
    WEEKLY = "weekly"


class WatchDigest(models.Model):
    """That one person wants news of watched models by mail; without a row they do not."""

    Interval = DigestInterval

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="watch_digest"
    )
    interval = models.CharField(max_length=6, choices=DigestInterval.choices)
    next_at = models.DateTimeField()
    covered_until = models.DateTimeField(help_text="what happened until then was sent")

    class Meta:
        constraints = [one_of("interval", DigestInterval, "watchdigest")]
        indexes = [models.Index(fields=["next_at"], name="watchdigest_due")]

    def __str__(self) -> str:
        return f"{self.interval} digest of {self.user_id}"
