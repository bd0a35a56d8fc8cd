"""Celery tasks: three lines each, carrying a job's id. The row is the job; this is the bell.

Each machine may run a scheduler of periodic tasks: the first to ask has the turn.
"""

from __future__ import annotations

import os
import signal
from functools import cache
from typing import Any

from celery import shared_task
from celery.signals import beat_embedded_init, worker_process_init
from django.conf import settings

from registry.core import leases
from registry.storage.verification import SLICE_SECONDS
from runners import pools
from runners.federated import jobs
from runners.models import Job
from runners.queue import environments, notifications, registration, services
from runners.queue.parent_death import die_with_parent
from runners.sandbox import Sandbox
from runners.workers import periodic_tasks, storage_verification
from runners.workers.execution import execute

# The registered worker whose pool this process belongs to; itself where there is no pool.
_main: int | None = None


@cache
def _sandbox() -> Sandbox:
    """One fork server for each worker process, made by its first job."""
    return Sandbox(interpreter=environments.interpreter(settings.HUB_WORKER_RUNTIME))


@beat_embedded_init.connect  # type: ignore[untyped-decorator]
@worker_process_init.connect  # type: ignore[untyped-decorator]
def _leave_no_orphan(**_: Any) -> None:
    """A pool process whose worker was killed must not go on with a job that others will take."""
    global _main  # noqa: PLW0603 - said once, when this process begins
    _main = os.getppid()
    die_with_parent(_main, signal.SIGKILL)


@shared_task(name=notifications.TASK, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(uuid: str) -> None:
    """Claim the job whose turn it is in the queue of the one that the message names, and do it."""
    name = registration.name(_main)
    queues, features = services.offered_by(name)
    named = Job.objects.filter(pk=uuid).values_list("queue", flat=True).first()
    if named not in pools.queues_of(queues):
        return
    job = services.claim(name, [named], host=registration.host(), features=features)
    if job is not None:
        execute(job, _sandbox())


@shared_task(name="runners.sweep", ignore_result=True)  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Put lost jobs back, deliver what is due, and queue what older versions are owed."""
    periodic_tasks.sweep()
    jobs.keep_up()


@shared_task(name="runners.refresh_downloads", ignore_result=True)  # type: ignore[untyped-decorator]
def refresh_downloads() -> None:
    """Have lists sort by the downloads counted since."""
    periodic_tasks.refresh_downloads()


@shared_task(name="runners.predict_latencies", ignore_result=True)  # type: ignore[untyped-decorator]
def predict_latencies() -> None:
    """Have lists show predictions of what was not measured."""
    periodic_tasks.predict_latencies()


@shared_task(name="runners.tidy", ignore_result=True)  # type: ignore[untyped-decorator]
def tidy() -> None:
    """Forget what is over, and queue the operator suite where it is owed."""
    periodic_tasks.tidy()


@shared_task(name="runners.scrub", ignore_result=True)  # type: ignore[untyped-decorator]
def scrub() -> None:
    """Read a share of storage again."""
    if leases.take_turn("verification", SLICE_SECONDS):
        storage_verification.start().join()
