"""What is done periodically, by the embedded worker and by Celery beat alike.

Each does nothing where another worker or machine has had its turn.
"""

from __future__ import annotations

from django.conf import settings

from registry.core import leases, periodic, usage
from runners.benchmarks import calibrations, predictions, scheduling
from runners.proofs import verification
from runners.queue import services

# A sweep runs every few seconds.
WRITE_SECONDS = 60.0
TIDY_SECONDS = 3600.0
# How far lists may lag behind the downloads that models' own pages show.
LISTS_SECONDS = 300.0


def sweep_seconds() -> float:
    """How often lost jobs are looked for."""
    return float(settings.HUB_LIMITS_LEASE_SECONDS) / 3


def sweep() -> None:
    """Put lost jobs back, deliver what is due, and queue what older versions are owed."""
    if not leases.take_turn("sweep", sweep_seconds()):
        return
    with periodic.run("sweep", at_most_every=WRITE_SECONDS):
        services.sweep()
        verification.keep_up()
        calibrations.keep_up()


def refresh_downloads() -> None:
    """Have lists sort by the downloads counted since."""
    if not leases.take_turn("downloads", LISTS_SECONDS):
        return
    with periodic.run("downloads"):
        usage.refresh_lists()


def predict_latencies() -> None:
    """Have lists show predictions of what was not measured."""
    if not leases.take_turn("predictions", LISTS_SECONDS):
        return
    with periodic.run("predictions"):
        predictions.keep_up()


def tidy() -> None:
    """Forget what is over, and queue the operator suite and benchmarks where they are owed."""
    if not leases.take_turn("tidy", TIDY_SECONDS):
        return
    with periodic.run("tidy"):
        services.tidy()
        verification.owe_suite()
        scheduling.catch_up()
