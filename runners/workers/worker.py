"""The worker without a broker: it polls the rows of queued jobs.

`hub serve` runs two workers, one of them for urgent jobs only; `hub worker` and `manage.py work`
run more, on any machine that reaches the database and the storage.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from types import FrameType
from typing import Self

import structlog
from django.conf import settings
from django.db import Error as DatabaseTrouble
from django.db import close_old_connections, connections

from registry.core import changes, maintenance_mode, outbox
from runners import pools
from runners.background import background_tasks, worker_tasks
from runners.queue import environments, registration, services
from runners.sandbox import Sandbox
from runners.worker_features import WorkerFeatures
from runners.workers.execution import execute

log = structlog.get_logger(__name__)

# A worker whose engine has ended leaves new work to others for so long: theirs may be warm.
_YIELD_SECONDS = 2 * changes.LOOK_SECONDS


class Pulse:
    """Sends heartbeats in a thread of its own, and recovers jobs of lost workers.

    So a worker with a long job is not considered lost, and recovery does not wait for the job.
    """

    def __init__(self, name: str, queues: str, features: WorkerFeatures) -> None:
        self._name, self._queues = name, queues
        self._features = asdict(features)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while True:
            try:
                services.see(
                    self._name,
                    host=registration.host(),
                    pool=self._queues,
                    features=self._features,
                )
                services.recover()
            except DatabaseTrouble:
                log.warning("pulse_failed", exc_info=True)
            finally:
                connections.close_all()
            if self._over.wait(settings.HUB_LIMITS_LEASE_SECONDS / 3):
                return


class Worker:
    """Claims and runs jobs one after the other until it is stopped."""

    def __init__(
        self, names: Sequence[str], *, runtime: str = "", idle_seconds: float | None = None
    ) -> None:
        """``idle_seconds`` without a job end its engine; None: it stays."""
        self.name = registration.name()
        self.queues = pools.queues_of(names, runtime)
        self.features = WorkerFeatures()
        self._runtime = runtime
        self._idle_seconds = idle_seconds
        # Where no process keeps graphs, events that a user waits for must not wait for the sweep.
        self._delivers = not {"light", "cpu.urgent"}.isdisjoint(self.queues)
        self._stopping = False
        self._ran: dict[str, float] = {}
        now = time.monotonic()
        self._begin_at = {task.name: now + task.first_seconds for task in background_tasks}
        self._threads: dict[str, threading.Thread] = {}

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; the current job is finished first."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        with Sandbox(interpreter=environments.interpreter(self._runtime)) as sandbox:
            self.features = registration.features(sandbox, self.queues)
            queues = ",".join(self.queues)
            registration.log_start(self.name, queues, self.features)
            with Pulse(self.name, queues, self.features):
                while not self._stopping:
                    self._turn(sandbox)
            services.leave(self.name)

    def step(self, sandbox: Sandbox) -> bool:
        """Run the periodic tasks that are due, then one job; False if none was queued.

        During read-only maintenance nothing begins.
        """
        if maintenance_mode.current().is_read_only:
            return False
        now = time.monotonic()
        if self._delivers and outbox.waits():
            outbox.deliver()
        for task in worker_tasks:
            is_mine = not task.queues or not task.queues.isdisjoint(self.queues)
            if is_mine and now - self._ran.get(task.name, float("-inf")) >= task.seconds():
                self._ran[task.name] = now
                task.run()
        self._begin_tasks(now)
        job = services.claim(
            self.name,
            self.queues,
            host=registration.host(),
            features=self.features,
        )
        if job is None:
            return False
        execute(job, sandbox)
        return True

    def _begin_tasks(self, now: float) -> None:
        """Begin what is due beside jobs; those go on meanwhile."""
        if "light" not in self.queues:
            return
        for task in background_tasks:
            if now < self._begin_at[task.name]:
                continue
            self._begin_at[task.name] = now + task.seconds
            thread = self._threads.get(task.name)
            if (thread is None or not thread.is_alive()) and task.is_due():
                self._threads[task.name] = task.start()

    def _turn(self, sandbox: Sandbox) -> None:
        before = changes.mark()
        try:
            worked = self.step(sandbox)
        except DatabaseTrouble:
            log.warning("database_unavailable", exc_info=True)
            worked = False
        if not worked:
            if self._idle_seconds is not None:
                sandbox.close_idle(self._idle_seconds)
            changes.wait(before, lambda: self._stopping)
            if not sandbox.is_warm():
                time.sleep(_YIELD_SECONDS)
        close_old_connections()

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True
