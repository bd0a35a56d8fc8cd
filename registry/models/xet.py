"""What is remembered of large files that came in chunks (Xet), for each model apart.

Clients remember which chunks a store has and name them again without sending them, for as long as
its address stays the same. So nothing of a living epoch is ever forgotten: what must be forgotten
ends the epoch, and the store's address changes.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from registry.models.blobs import Blob
from registry.models.constraints import HEX64, matches
from registry.models.registered_models import RegisteredModel


class XetStore(models.Model):
    """A model's own chunk store; its address is made of ``uuid`` and ``epoch``."""

    model = models.OneToOneField(RegisteredModel, models.CASCADE, related_name="xet_store")
    uuid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    epoch = models.PositiveIntegerField(default=1)
    used_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.uuid.hex}-{self.epoch}"


class Xorb(models.Model):
    """A pack of chunks that came to a store: its own bytes, until files hold all its chunks."""

    store = models.ForeignKey(XetStore, models.CASCADE, related_name="xorbs")
    name = models.CharField(max_length=64, help_text="its hash, as addresses have it")
    lengths = models.BinaryField(help_text="each chunk's plain bytes, u32 little-endian")
    size = models.PositiveIntegerField(help_text="bytes that storage holds of it")
    is_kept = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["store", "name"], name="xorb_name_unique"),
            matches("name", HEX64, "xorb"),
        ]

    def __str__(self) -> str:
        return self.name


class XorbPart(models.Model):
    """Where a range of a xorb's chunks lies in a file: they begin at ``offset`` of ``blob``."""

    xorb = models.ForeignKey(Xorb, models.CASCADE, related_name="parts")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    blob = models.ForeignKey(Blob, models.PROTECT, related_name="xorb_parts")
    offset = models.BigIntegerField()

    class Meta:
        ordering = ["xorb_id", "start", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["xorb", "start", "end"], name="xorbpart_range_unique"),
            models.CheckConstraint(
                condition=Q(start__lt=F("end")), name="xorbpart_range_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.xorb_id}[{self.start}:{self.end}]"
