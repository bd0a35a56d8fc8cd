"""Telling a worker that a row waits. Losing a bell costs seconds, never a job.

With Redis the bell is a Celery message that carries the id alone; without, the worker polls.
"""

from __future__ import annotations

import structlog
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from runners.models import Job

log = structlog.get_logger(__name__)


def ring(job: Job) -> None:
    """Send the bell for one queued job, after the commit; a failure is logged and swallowed."""
    if not settings.REDIS_URL:
        return
    from runners.tasks import run_job  # noqa: PLC0415 - only where there is a broker

    try:
        run_job.apply_async(args=[str(job.pk)], queue=job.pool, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("bell_failed", job=str(job.pk), error=str(error))
        return
    Job.objects.filter(pk=job.pk).update(rung_at=timezone.now())
