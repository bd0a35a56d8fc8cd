"""Celery tasks: three lines each, carrying a job's id. The row is the job; this is the bell."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import asdict
from functools import cache
from typing import Any

from celery import shared_task
from celery.signals import beat_embedded_init, worker_process_init

from runners import services
from runners.execution import execute
from runners.kinship import die_with_parent
from runners.models import Job
from runners.sandbox import Sandbox
from runners.worker import name


@cache
def _sandbox() -> Sandbox:
    """One fork server for each worker process, made by its first job."""
    return Sandbox()


@beat_embedded_init.connect  # type: ignore[untyped-decorator]
@worker_process_init.connect  # type: ignore[untyped-decorator]
def _leave_no_orphan(**_: Any) -> None:
    """A pool process whose worker was killed must not go on with a job that others will take."""
    die_with_parent(os.getppid(), signal.SIGKILL)


@shared_task(name="runners.run_job", ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(uuid: str) -> None:
    """Claim the job that the bell rang for, and do it; somebody else's is left alone."""
    job = services.claim(name(), Job.Pool.values, uuid=uuid)
    if job is not None:
        execute(job, _sandbox())


@shared_task(name="runners.sweep", ignore_result=True)  # type: ignore[untyped-decorator]
def sweep() -> None:
    """Give a sign of life, put lost jobs back and deliver what is due."""
    level = _sandbox().level()
    services.see(
        name(),
        host=socket.gethostname(),
        pool="cpu,light",
        capabilities={
            "isolation": {"name": level.name, **asdict(level)},
            "versions": _sandbox().versions(),
        },
    )
    services.sweep()


@shared_task(name="runners.tidy", ignore_result=True)  # type: ignore[untyped-decorator]
def tidy() -> None:
    """Forget what is over."""
    services.tidy()
