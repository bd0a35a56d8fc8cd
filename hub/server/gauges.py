"""The state of the hub as Prometheus metrics, read from the database: the same on every process.

No metric names a model, a user or a worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, F, Min, Sum
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from hub.protocol import problems
from hub.protocol.version import __version__
from registry.core.gauges import Gauges, gauges
from registry.models import Blob, Delivery, PeriodicTask, Upload, WorkTotal
from registry.storage import verification
from registry.storage.files import store
from runners.models import Bar, Job
from runners.queue import selectors

log = structlog.get_logger(__name__)

# Adding up the sizes of a million files takes a while.
STORED_SECONDS = 60.0


class HubCollector:
    """What prometheus_client asks for metrics; a part that cannot be read is left out and named."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, list[Metric] | None] = {}
        self._read_at: dict[str, float] = {}

    def collect(self) -> list[Metric]:
        """The metrics, at most a few seconds old."""
        with self._lock:
            for part in gauges:
                now = time.monotonic()
                if now - self._read_at.get(part.name, float("-inf")) >= part.seconds:
                    self._metrics[part.name], self._read_at[part.name] = _read(part), now
            unreadable = _gauge(
                "hub_metrics_unreadable", "1 for each part that could not be read.", "part"
            )
            for name, metrics in self._metrics.items():
                unreadable.add_metric([name], float(metrics is None))
            read = [metric for metrics in self._metrics.values() for metric in metrics or ()]
            return [*read, unreadable]


def _read(part: Gauges) -> list[Metric] | None:
    try:
        return list(part.read())
    except (DatabaseError, OSError, problems.Unavailable) as error:
        log.warning("metrics_unreadable", part=part.name, error=str(error))
        return None


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _value(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _age(at: datetime | None) -> float:
    return max(0.0, (timezone.now() - at).total_seconds()) if at else 0.0


def _database() -> Iterator[Metric]:
    if connection.vendor == "postgresql":
        query = "SELECT pg_database_size(current_database())"
    else:
        query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    start = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute(query)
        size = cursor.fetchone()[0]
    yield _value("hub_database_bytes", "Size of the database.", size)
    yield _value(
        "hub_database_seconds", "Duration of one small query.", time.perf_counter() - start
    )


def _queue() -> Iterator[Metric]:
    live = Job.objects.filter(state__in=Job.LIVE).values_list("queue", "state").order_by()
    jobs = _gauge("hub_jobs", "Queued and running jobs by pool.", "pool", "state")
    age = _gauge(
        "hub_queue_age_seconds", "How long the oldest job that may run has been waiting.", "pool"
    )
    for pool, state, count in live.annotate(n=Count("pk")):
        jobs.add_metric([pool, state], count)
    for pool, oldest in selectors.waiting_since().items():
        age.add_metric([pool], _age(oldest))
    yield jobs
    yield age
    barred = Bar.objects.filter(lifted_at=None).count()
    yield _value("hub_quarantined_files", "Files that crashed the sandbox twice.", barred)


def _work() -> Iterator[Metric]:
    labels = ("kind", "outcome")
    ended = CounterMetricFamily("hub_attempts", "Attempts at jobs that ended.", labels=labels)
    seconds = CounterMetricFamily("hub_attempt_seconds", "Their wall-clock time.", labels=labels)
    cpu = CounterMetricFamily("hub_attempt_cpu_seconds", "Their CPU time.", labels=labels)
    joules = CounterMetricFamily(
        "hub_attempt_joules", "Their energy, where a meter can be read.", labels=labels
    )
    for row in WorkTotal.objects.all():
        key = [row.kind, row.outcome]
        ended.add_metric(key, row.attempts)
        seconds.add_metric(key, row.seconds)
        cpu.add_metric(key, row.cpu_seconds)
        if row.metered_attempts:
            joules.add_metric(key, row.joules)
    yield from (ended, seconds, cpu, joules)


def _workers() -> Iterator[Metric]:
    workers = _gauge("hub_workers", "Live workers by pool.", "pool")
    counts: dict[str, int] = {}
    for worker in selectors.live_workers():
        for queue in worker.queues:
            counts[queue] = counts.get(queue, 0) + 1
    for queue, count in sorted(counts.items()):
        workers.add_metric([queue], count)
    yield workers
    holds = _gauge("hub_pools_held", "1 for each pool that hands out no job.", "pool", "state")
    for pool, (_, state) in selectors.held_pools().items():
        holds.add_metric([pool, state], 1)
    yield holds


def _uploads() -> Iterator[Metric]:
    open_ = Upload.objects.filter(state=Upload.State.RECEIVING).aggregate(
        n=Count("pk"), left=Sum(F("length") - F("offset"))
    )
    yield _value("hub_uploads_open", "Unfinished uploads.", open_["n"])
    yield _value("hub_uploads_missing_bytes", "Bytes that they still expect.", open_["left"] or 0)


def _deliveries() -> Iterator[Metric]:
    now = timezone.now()
    due = Delivery.objects.filter(next_at__lte=now).aggregate(n=Count("pk"), at=Min("event__at"))
    yield _value("hub_deliveries_due", "Events that wait for their delivery.", due["n"])
    yield _value("hub_deliveries_age_seconds", "Age of the oldest of them.", _age(due["at"]))
    failed = Delivery.objects.filter(attempts__gt=0).count()
    yield _value("hub_deliveries_failed", "Deliveries that failed and will be repeated.", failed)


def _tasks() -> Iterator[Metric]:
    succeeded = _gauge(
        "hub_periodic_task_success_timestamp_seconds", "Last success of a periodic task.", "task"
    )
    failed = _gauge(
        "hub_periodic_task_failure_timestamp_seconds", "Last failure of a periodic task.", "task"
    )
    seconds = _gauge("hub_periodic_task_seconds", "Duration of its last success.", "task")
    for row in PeriodicTask.objects.all():
        if row.succeeded_at:
            succeeded.add_metric([row.name], row.succeeded_at.timestamp())
            seconds.add_metric([row.name], row.seconds)
        if row.failed_at:
            failed.add_metric([row.name], row.failed_at.timestamp())
    yield from (succeeded, failed, seconds)


def _space() -> Iterator[Metric]:
    unsound = verification.unsound().count()
    yield _value("hub_files_unsound", "Stored files that are missing or damaged.", unsound)
    free = store().free_bytes()
    if free is not None:
        yield _value("hub_storage_free_bytes", "Free space for stored files.", free)
        yield _value(
            "hub_storage_reserve_bytes",
            "Below this, uploads are refused.",
            settings.HUB_LIMITS_FREE_BYTES,
        )


def _files() -> Iterator[Metric]:
    total = Blob.objects.filter(erased_at=None).aggregate(n=Count("pk"), bytes=Sum("size"))
    yield _value("hub_files", "Stored files.", total["n"])
    yield _value("hub_files_bytes", "Their size.", total["bytes"] or 0)


def _release() -> Iterator[Metric]:
    release = _gauge("hub_release", "1, labelled with the release of the hub.", "version")
    release.add_metric([__version__], 1)
    yield release


gauges.register(
    "hub.server",
    Gauges("release", _release),
    Gauges("database", _database),
    Gauges("queue", _queue),
    Gauges("work", _work),
    Gauges("workers", _workers),
    Gauges("uploads", _uploads),
    Gauges("deliveries", _deliveries),
    Gauges("tasks", _tasks),
    Gauges("space", _space),
    Gauges("files", _files, STORED_SECONDS),
)
