"""Backups of the hub: while one runs, storage keeps what its database dump names."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Backup(models.Model):
    """One run of ``manage.py backup``.

    A dump contains the row of its own backup, which has not ended there. A database with such a row
    and without ``restored_at`` is a dump whose restore was interrupted.
    """

    uuid = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    is_whole = models.BooleanField(default=False)
    restored_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_whole=False) | Q(ended_at__isnull=False),
                name="backup_whole_has_ended",
            ),
        ]

    def __str__(self) -> str:
        return f"backup {self.uuid}"
