"""Calibration of hosts: how noisy a host is, measured by runs of one file against itself."""

from __future__ import annotations

import json
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from runners.benchmarks.timing_jobs import CALIBRATING, CALIBRATION
from runners.models import Host, Job
from runners.queue import selectors, services

# A host that has just started gets other work first.
_SETTLED = timedelta(minutes=5)
_CALIBRATED_FOR = timedelta(days=30)
_TRIED_WITHIN = timedelta(days=1)
_MOST_BYTES = 20_000


def keep_up() -> None:
    """Queue calibrations of hosts of live bench workers that lack a recent one on a quiet host."""
    if settings.HUB_BENCH == "off":
        return
    now = timezone.now()
    wanting = {
        worker.host
        for worker in selectors.live_workers("bench-cpu")
        if worker.started_at < now - _SETTLED and "onnxruntime" in worker.typed_features.runtimes
    }
    if not wanting:
        return
    fresh = Host.objects.filter(
        name__in=wanting, calibrated_at__gt=now - _CALIBRATED_FOR, calibration__is_quiet=True
    )
    for host in wanting - set(fresh.values_list("name", flat=True)):
        jobs = Job.objects.filter(kind=CALIBRATION, requires__host=host)
        if not jobs.filter(Q(queued_at__gt=now - _TRIED_WITHIN) | Q(state__in=Job.LIVE)).exists():
            calibrate(host)


def calibrate(host: str) -> Job:
    """Queue the run of one file against itself that measures the noise of a host."""
    return services.enqueue(
        kind=CALIBRATION,
        version=None,
        job_input={"effort": settings.HUB_BENCH},
        requires={"host": host, "runtime": "onnxruntime"},
        pool=Job.Pool.BENCH_CPU,
        exclusive=Job.Exclusive.HOST,
        priority=CALIBRATING,
        max_attempts=1,
    )


def take(job: Job) -> None:
    """Write a host's noise limits, measured by running one file against itself."""
    calibration = job.typed_report.facts
    limits = calibration.get("limits")
    if isinstance(limits, dict) and len(json.dumps(calibration)) <= _MOST_BYTES:
        Host.objects.filter(name=job.requires.get("host", "")).update(
            calibration=calibration, calibrated_at=job.finished_at or timezone.now()
        )
