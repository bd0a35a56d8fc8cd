"""Who does the work."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Worker(models.Model):
    """A process that takes jobs; ``seen_at`` is its last sign of life."""

    name = models.CharField(max_length=100, unique=True)
    host = models.CharField(max_length=100)
    pool = models.CharField(max_length=32)
    capabilities = models.JSONField(default=dict)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name
