"""What people think of models: likes, and models that they watch."""

from __future__ import annotations

from django.conf import settings
from django.db import models

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
