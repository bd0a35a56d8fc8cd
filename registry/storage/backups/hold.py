"""Keeping bytes in storage from the moment that a dump of the database names them.

A dump is older than the copies of its blobs. What the collector would free in between stays until
the backup has ended, or has not been seen for ``LIFETIME`` because it was killed.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry.models import Backup

# Longer than one blob of the largest size takes to copy.
LIFETIME = timedelta(hours=6)
RENEWAL = timedelta(minutes=1)
# The key of PostgreSQL's advisory lock: shared by those who free, exclusive for a backup's start.
# On SQLite, transactions that write follow each other anyway.
_KEY = 0x4855_4242_4143_4B00


class HoldLostError(Exception):
    """The backup was suspended for so long that its blobs may have been freed."""


@transaction.atomic
def begin() -> Backup:
    """Hold everything that rows name from now on; waits for frees that are under way."""
    _lock("pg_advisory_xact_lock")
    return Backup.objects.create()


def renew(backup: Backup) -> None:
    """Hold on; raises HoldLostError. Cheap: it writes once a minute."""
    now = timezone.now()
    if now - backup.seen_at < RENEWAL:
        return
    if not _running().filter(pk=backup.pk).update(seen_at=now):
        raise HoldLostError
    backup.seen_at = now


def end(backup: Backup, *, is_whole: bool) -> None:
    """Let go."""
    Backup.objects.filter(pk=backup.pk, ended_at=None).update(
        ended_at=timezone.now(), is_whole=is_whole
    )


@transaction.atomic
def may_free() -> bool:
    """Whether no backup runs; none begins before this transaction ends."""
    _lock("pg_advisory_xact_lock_shared")
    return not _running().exists()


def _running() -> QuerySet[Backup]:
    return Backup.objects.filter(ended_at=None, seen_at__gt=timezone.now() - LIFETIME)


def _lock(function: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [_KEY])
