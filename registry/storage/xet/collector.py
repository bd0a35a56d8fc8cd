"""Freeing what chunk stores hold that nothing uses."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from registry.models import Blob, XetStore
from registry.models.registered_models import has_files
from registry.storage.services import blobs
from registry.storage.xet import chunks

IDLE = timedelta(days=7)


def collect() -> int:
    """End the epochs of unused chunk stores that hold something back; returns how many.

    That is: those of deleted models, and those with chunks that were sent and never made a file.
    """
    ended = 0
    deleted = XetStore.objects.exclude(has_files("model__")).filter(xorbs__isnull=False)
    idle = XetStore.objects.filter(xorbs__is_kept=True, used_at__lt=timezone.now() - IDLE)
    for store in (deleted | idle).distinct():
        chunks.end_epoch(store)
        ended += 1
    return ended


def release(blob: Blob) -> bool:
    """End the epochs of chunk stores that count on a blob; False while one of them is in use."""
    stores = list(XetStore.objects.filter(xorbs__parts__blob=blob).distinct())
    if any(row.used_at > timezone.now() - blobs.GRACE for row in stores):
        return False
    for row in stores:
        chunks.end_epoch(row)
    return True
