"""Keeping what periodic tasks did: when each last succeeded, what it did, and why it failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from django.db import DatabaseError
from django.utils import timezone

from hub.protocol.ports import Port
from registry.models import PeriodicTask

log = structlog.get_logger(__name__)

# Names of the core's tasks, for people.
TITLES = {
    "sweep": "Lost jobs and deliveries",
    "downloads": "Download counts of lists",
    "predictions": "Predicted latencies",
    "tidy": "Hourly cleaning",
    "expired-uploads": "Expired uploads deleted",
    "deleted-models": "Models deleted permanently after their grace time",
    "unused-files": "Unused files deleted",
    "orphaned-files": "Files without a row deleted",
    "verification": "Stored files verified",
}
_written: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class HourlyTask:
    """What a capability cleans once an hour: its name, a title, and what returns how many."""

    name: str
    title: str
    run: Callable[[], int]


hourly_tasks = Port(HourlyTask)


def titles() -> dict[str, str]:
    """Names of tasks, for people; those of the core first."""
    return TITLES | {task.name: task.title for task in hourly_tasks}


def run_hourly() -> None:
    """Run what capabilities clean."""
    for task in hourly_tasks:
        with run(task.name) as outcome:
            outcome.done = task.run()


@dataclass(slots=True)
class Run:
    """What a task has done in this run: how many, and their bytes."""

    done: int = 0
    done_bytes: int = 0

    def add(self, size: int) -> None:
        """Count one of ``size`` bytes."""
        self.done += 1
        self.done_bytes += size


@contextmanager
def run(name: str, *, at_most_every: float = 0.0) -> Iterator[Run]:
    """Keep how a run of a task ends; what it raises is raised.

    Successes of a task that runs often are written by this process every ``at_most_every`` seconds.
    """
    began, done = time.monotonic(), Run()
    try:
        yield done
    except Exception as error:
        _write(name, failed_at=timezone.now(), error=f"{type(error).__name__}: {error}"[:500])
        raise
    ended = time.monotonic()
    if ended - _written.get(name, float("-inf")) < at_most_every:
        return
    _written[name] = ended
    _write(
        name,
        succeeded_at=timezone.now(),
        seconds=ended - began,
        done=done.done,
        done_bytes=done.done_bytes,
    )


def _write(name: str, **values: object) -> None:
    try:
        PeriodicTask.objects.update_or_create(name=name, defaults=values)
    except DatabaseError:
        log.warning("periodic_task_unwritten", task=name, exc_info=True)
