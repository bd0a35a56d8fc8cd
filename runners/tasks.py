"""Celery tasks: three lines each, carrying a job's id. The row is the job; this is the bell."""

from __future__ import annotations

from functools import cache

from celery import shared_task

from runners import services
from runners.execution import execute
from runners.models import Job
from runners.sandbox import Sandbox
from runners.worker import name


@cache
def _sandbox() -> Sandbox:
    """One fork server for each worker process, made by its first job."""
    return Sandbox()


@shared_task(name="runners.run_job", ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(uuid: str) -> None:
    """Claim the job that the bell rang for, and do it; somebody else's is left alone."""
    job = services.claim(name(), Job.Pool.values, uuid=uuid)
    if job is not None:
        execute(job, _sandbox())


@shared_task(name="runners.sweep", ignore_result=True)  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Put lost jobs back and deliver what is due."""
    services.sweep()


@shared_task(name="runners.tidy", ignore_result=True)  # type: ignore[untyped-decorator]
def tidy() -> None:
    """Forget what is over."""
    services.tidy()
