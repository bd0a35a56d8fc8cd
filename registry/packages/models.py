"""The package that a version's files are."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

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
