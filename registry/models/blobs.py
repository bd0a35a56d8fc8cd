"""Bytes, named by their SHA-256 and stored once."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from registry.models.constraints import HEX64, matches, one_of


class Blob(models.Model):
    """Bytes that never change; ``erased_at`` says that storage no longer has them."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    media_type = models.CharField(max_length=100, default="application/octet-stream")
    touched_at = models.DateTimeField(default=timezone.now)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sha256"]
        constraints = [
            matches("sha256", HEX64, "blob"),
            models.CheckConstraint(condition=models.Q(size__gte=0), name="blob_size_not_negative"),
        ]

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"


class BlobProblem(models.TextChoices):
    NONE = "", "sound"
    MISSING = "missing", "is missing from storage"
    SIZE = "size", "has another size than its row says"
    DIGEST = "digest", "has changed on disk"
    UNREADABLE = "unreadable", "cannot be read"


class BlobCheck(models.Model):
    """When a blob is to be read again, and what was wrong with it the last time."""

    Problem = BlobProblem

    blob = models.OneToOneField(Blob, models.CASCADE, primary_key=True, related_name="check_state")
    due_at = models.DateTimeField(db_index=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(
        max_length=10, choices=Problem.choices, blank=True, default=Problem.NONE
    )

    class Meta:
        ordering = ["due_at", "pk"]
        constraints = [one_of("problem", BlobProblem, "blobcheck")]

    def __str__(self) -> str:
        return f"{self.blob_id} {BlobProblem(self.problem).label}"
