"""What monitors learn of backups."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Max
from prometheus_client.core import GaugeMetricFamily, Metric

from registry.models import Backup


def read() -> Iterator[Metric]:
    """When the newest whole backup began."""
    newest = Backup.objects.filter(is_whole=True).aggregate(at=Max("started_at"))["at"]
    if newest:
        yield GaugeMetricFamily(
            "hub_backup_timestamp_seconds",
            "Start of the newest whole backup.",
            value=newest.timestamp(),
        )
