"""Writing the security log, and deleting what is older than it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry.core.security_log import Entry
from registry.identity import syslog
from registry.identity.models import SecurityEvent, SecurityRetention

# Rows of one transaction, so that no one waits long for it.
BATCH = 1_000


def keep(entries: Sequence[Entry]) -> None:
    """Write entries, in the transaction of the caller."""
    SecurityEvent.objects.bulk_create(
        SecurityEvent(
            at=entry.at,
            kind=entry.kind,
            actor=entry.actor,
            address=entry.address,
            token=str(entry.token) if entry.token else "",
            request_id=entry.request_id,
            subject_kind=entry.subject_kind,
            subject_id=entry.subject_id,
            model_id=entry.model_id,
            data=entry.data,
        )
        for entry in entries
    )
    syslog.queue(entries)


def forget() -> int:
    """Delete entries older than HUB_SECURITY_LOG_DAYS; returns how many."""
    before = timezone.now() - timedelta(days=settings.HUB_SECURITY_LOG_DAYS)
    retention, _ = SecurityRetention.objects.get_or_create(pk=1, defaults={"before": before})
    if retention.before < before:  # it never moves back, as when more days are kept from now on
        retention.before = before
        retention.save()
    deleted = 0
    while True:
        with transaction.atomic():
            old = SecurityEvent.objects.filter(at__lt=before).order_by("at")
            keys = list(old.values_list("pk", flat=True)[:BATCH])
            deleted += SecurityEvent.objects.filter(pk__in=keys).delete()[0]
        if len(keys) < BATCH:
            return deleted
