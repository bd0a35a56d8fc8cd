"""The package that a version's files are."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from hub.protocol import strict
from hub.protocol.generation import Generation
from hub.protocol.packages import Layout, Package
from registry.models import Version
from registry.models.constraints import HEX64, matches


class VersionPackage(models.Model):
    """The newest check of a version's package.

    It holds for the files with this manifest alone: a version that went back to draft may get
    others. ``document`` has what ``package`` reads.
    """

    version = models.OneToOneField(
        Version, models.CASCADE, primary_key=True, related_name="package_check"
    )
    manifest_sha256 = models.CharField(max_length=64)
    method = models.PositiveSmallIntegerField()
    layout = models.CharField(
        max_length=24, choices=[(layout.value, layout.label) for layout in Layout]
    )
    document = models.JSONField()
    checked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(layout__in=[layout.value for layout in Layout]),
                name="versionpackage_layout_known",
            ),
            matches("manifest_sha256", HEX64, "versionpackage"),
        ]

    def __str__(self) -> str:
        return f"{self.layout} of version {self.version_id}"

    @property
    def package(self) -> Package:
        """The package, as it was stored."""
        return Package.stored(self.document)


class VersionGeneration(models.Model):
    """The newest result about the decoder of a version's package, for the files of this manifest.

    ``document`` has what ``generation`` reads, and ``tokens_per_second`` is its accepted figure of
    the shortest prompt.
    """

    version = models.OneToOneField(
        Version, models.CASCADE, primary_key=True, related_name="generation"
    )
    manifest_sha256 = models.CharField(max_length=64)
    method = models.PositiveSmallIntegerField()
    document = models.JSONField()
    tokens_per_second = models.FloatField(null=True)
    measured_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(tokens_per_second=None) | models.Q(tokens_per_second__gt=0),
                name="versiongeneration_speed_positive",
            ),
            matches("manifest_sha256", HEX64, "versiongeneration"),
        ]

    def __str__(self) -> str:
        return f"generation of version {self.version_id}"

    @property
    def generation(self) -> Generation | None:
        """The result, as it was stored; None where another release wrote it otherwise."""
        try:
            return Generation.read(self.document)
        except strict.UnreadableError:
            return None
