"""Work beside jobs: between two of them, or in threads of the worker that takes light jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from hub.protocol.ports import Port


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
