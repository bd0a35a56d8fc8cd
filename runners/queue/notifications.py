"""Notifications to workers about queued jobs.

The row is authoritative, messages are hints: a lost message delays a job by seconds. With Redis,
the message is a Celery task with the id of the job; without, workers poll.
"""

from __future__ import annotations

import structlog
from celery import current_app
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from registry.core.breakers import Breaker
from runners.models import Job

log = structlog.get_logger(__name__)

# The lowest priority of the broker; 0 is the most urgent.
LAST = 9
# A name instead of an import: the task lies in a layer above the queue.
TASK = "runners.run_job"
_breaker = Breaker("broker")


def notify(job: Job) -> bool:
    """Notify the workers of a queued job, after the commit; False if the broker is unreachable."""
    if not settings.REDIS_URL or job.not_before > timezone.now():
        return True
    if not _breaker.allows():
        return False
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
        _breaker.fail()
        log.warning("notification_failed", job=str(job.pk), error=str(error))
        return False
    _breaker.succeed()
    Job.objects.filter(pk=job.pk).update(notified_at=timezone.now())
    return True
