"""Celery tasks, which carry the id of a job. The row is authoritative, messages are hints.

Each machine may run a scheduler of periodic tasks: the first to run has the turn.
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
from runners.models import Job
from runners.queue import environments, notifications, registration, services
from runners.queue.parent_death import die_with_parent
from runners.sandbox import Sandbox
from runners.workers import periodic_tasks, storage_verification
from runners.workers.execution import execute

# Process id of the registered worker whose pool this process belongs to; its own without a pool.
_main: int | None = None


@cache
def _sandbox() -> Sandbox:
    """The fork server of this worker process, started by its first job."""
    return Sandbox(interpreter=environments.interpreter(settings.HUB_WORKER_RUNTIME))


@beat_embedded_init.connect  # type: ignore[untyped-decorator]
@worker_process_init.connect  # type: ignore[untyped-decorator]
def _leave_no_orphan(**_: Any) -> None:
    """End a pool process whose worker was killed: other workers will take its job."""
    global _main  # noqa: PLW0603 - said once, when this process begins
    _main = os.getppid()
    die_with_parent(_main, signal.SIGKILL)


@shared_task(name=notifications.TASK, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(uuid: str) -> None:
    """Run the next job of the queue in which the job with this id waits."""
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
    """Recover lost jobs, deliver events, and schedule missing proofs of older versions."""
    periodic_tasks.sweep()


@shared_task(name="runners.refresh_downloads", ignore_result=True)  # type: ignore[untyped-decorator]
def refresh_downloads() -> None:
    """Update the download counts that lists sort by."""
    periodic_tasks.refresh_downloads()


@shared_task(name="runners.predict_latencies", ignore_result=True)  # type: ignore[untyped-decorator]
def predict_latencies() -> None:
    """Predict the latencies of unmeasured variants for lists."""
    periodic_tasks.predict_latencies()


@shared_task(name="runners.tidy", ignore_result=True)  # type: ignore[untyped-decorator]
def tidy() -> None:
    """Delete expired rows, and schedule the operator suite and missing benchmarks."""
    periodic_tasks.tidy()


@shared_task(name="runners.scrub", ignore_result=True)  # type: ignore[untyped-decorator]
def scrub() -> None:
    """Verify a share of storage."""
    if leases.take_turn("verification", SLICE_SECONDS):
        storage_verification.start().join()
