"""How often models were downloaded: a narrow row for each, apart from what lists read."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from registry.models.registered_models import RegisteredModel


class DownloadCount(models.Model):
    """The downloads of one model, all versions; a model that has no row was never downloaded.

    Written by ``registry.core.usage`` alone, every few seconds. ``SearchDocument.downloads`` is a
    copy for lists, which follows within minutes.
    """

    model = models.OneToOneField(
        RegisteredModel, models.CASCADE, primary_key=True, related_name="download_count"
    )
    downloads = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["model"]
        constraints = [
            models.CheckConstraint(condition=Q(downloads__gte=0), name="downloadcount_not_negative")
        ]

    def __str__(self) -> str:
        return f"{self.model_id}: {self.downloads}"
