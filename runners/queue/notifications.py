"""Telling a worker that a row waits. Losing a bell costs seconds, never a job.

With Redis the bell is a Celery message that carries the id alone; without, the worker polls.
"""

from __future__ import annotations

import structlog
from celery import current_app
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from runners.models import Job

log = structlog.get_logger(__name__)

# The lowest priority of the broker's own steps, 0 being the most urgent.
LAST = 9
# Named, not imported: what does a job lies above the queue.
TASK = "runners.run_job"


def notify(job: Job) -> bool:
    """Send the bell for one queued job, after the commit; False where the broker is away."""
    if not settings.REDIS_URL or job.not_before > timezone.now():
        return True
    try:
        current_app.send_task(
            TASK,
            args=[str(job.pk)],
            queue=job.queue,
            priority=min(job.priority, LAST),
            retry=False,
            ignore_result=True,
        )
    except (OperationalError, OSError) as error:
        log.warning("bell_failed", job=str(job.pk), error=str(error))
        return False
    Job.objects.filter(pk=job.pk).update(rung_at=timezone.now())
    return True
