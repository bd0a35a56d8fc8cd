"""Periodic tasks of the embedded worker and of Celery beat.

Each task does nothing if another worker or machine has run it recently.
"""

from __future__ import annotations

from django.conf import settings

from registry.core import leases, periodic, usage
from runners.background import WorkerTask, worker_tasks
from runners.benchmarks import calibrations, predictions
from runners.proofs import verification
from runners.queue import services

# A sweep runs every few seconds.
WRITE_SECONDS = 60.0
TIDY_SECONDS = 3600.0
# How old the download counts of lists may be; pages of models are current.
LISTS_SECONDS = 300.0


def sweep_seconds() -> float:
    """Interval between searches for lost jobs."""
    return float(settings.HUB_LIMITS_LEASE_SECONDS) / 3


def sweep() -> None:
    """Recover lost jobs, deliver events, and schedule missing proofs of older versions."""
    if not leases.take_turn("sweep", sweep_seconds()):
        return
    with periodic.run("sweep", at_most_every=WRITE_SECONDS):
        services.sweep()
        verification.keep_up()
        calibrations.keep_up()


def refresh_downloads() -> None:
    """Update the download counts that lists sort by."""
    if not leases.take_turn("downloads", LISTS_SECONDS):
        return
    with periodic.run("downloads"):
        usage.refresh_lists()


def predict_latencies() -> None:
    """Predict the latencies of unmeasured variants for lists."""
    if not leases.take_turn("predictions", LISTS_SECONDS):
        return
    with periodic.run("predictions"):
        predictions.keep_up()


def tidy() -> None:
    """Delete expired rows, schedule the operator suite, and do what capabilities do hourly."""
    if not leases.take_turn("tidy", TIDY_SECONDS):
        return
    with periodic.run("tidy"):
        services.tidy()
        verification.schedule_suite()


worker_tasks.register(
    "runners",
    WorkerTask("sweep", sweep_seconds, sweep, queues=frozenset()),
    WorkerTask("downloads", lambda: LISTS_SECONDS, refresh_downloads),
    WorkerTask("predictions", lambda: LISTS_SECONDS, predict_latencies),
    WorkerTask("tidy", lambda: TIDY_SECONDS, tidy),
)
