"""How often models and versions were downloaded, apart from what lists read: counts alone."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from registry.models.registered_models import RegisteredModel
from registry.models.versions import Version


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


class DownloadWeek(models.Model):
    """The downloads of one version in one week, from its Monday, in UTC.

    Written by ``registry.core.usage`` alone, and deleted after ``WEEKS_KEPT`` weeks. Nothing says
    who downloaded, or from where.
    """

    version = models.ForeignKey(Version, models.CASCADE, related_name="download_weeks")
    week = models.DateField()
    downloads = models.BigIntegerField()

    class Meta:
        ordering = ["-week", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "week"], name="downloadweek_unique"),
            models.CheckConstraint(condition=Q(downloads__gt=0), name="downloadweek_positive"),
        ]
        indexes = [models.Index(fields=["week"], name="downloadweek_week")]

    def __str__(self) -> str:
        return f"{self.version_id}, {self.week}: {self.downloads}"
