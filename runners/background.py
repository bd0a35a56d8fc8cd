"""Work beside jobs: between two of them, or in threads of the worker that takes light jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from django.db import Error as DatabaseTrouble
from django.db import connections

from hub.protocol.ports import Port

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Work in a thread of its own: how often it is looked for, whether it is due, what starts it.

    ``first_seconds`` after its start a worker looks for the first time, since what starts with the
    hub comes first.
    """

    name: str
    seconds: float
    is_due: Callable[[], bool]
    start: Callable[[], threading.Thread]
    first_seconds: float = 0.0


background_tasks = Port(BackgroundTask)


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """Short work of workers without a broker between two jobs: how often, and what runs.

    Workers that take jobs of one of the ``queues`` do it; without queues all do.
    """

    name: str
    seconds: Callable[[], float]
    run: Callable[[], None]
    queues: frozenset[str] = frozenset({"light"})


worker_tasks = Port(WorkerTask)


def start_thread(name: str, work: Callable[[], object]) -> threading.Thread:
    """Do work in a thread of its own, where what it raises is logged; returns the thread."""

    def run() -> None:
        try:
            work()
        except DatabaseTrouble:
            log.warning("background_failed", task=name, exc_info=True)
        except Exception:
            log.exception("background_failed", task=name)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
