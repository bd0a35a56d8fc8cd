"""Bytes, named by their SHA-256 and stored once."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from registry.models.constraints import HEX64, matches


class BlobManager(models.Manager["Blob"]):
    def keep(self, sha256: str, size: int) -> Blob:
        """The row of bytes that storage has just taken; a blob erased before is back."""
        blob, _ = self.update_or_create(
            sha256=sha256,
            defaults={"size": size, "touched_at": timezone.now(), "erased_at": None},
        )
        return blob


class Blob(models.Model):
    """Bytes that never change; ``erased_at`` says that storage no longer has them."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    media_type = models.CharField(max_length=100, default="application/octet-stream")
    touched_at = models.DateTimeField(default=timezone.now)
    erased_at = models.DateTimeField(null=True, blank=True)

    objects = BlobManager()

    class Meta:
        ordering = ["sha256"]
        constraints = [
            matches("sha256", HEX64, "blob"),
            models.CheckConstraint(condition=models.Q(size__gte=0), name="blob_size_not_negative"),
        ]

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"
