"""The worker without a broker: it polls the rows of queued jobs.

`hub serve` runs two workers, one of them for urgent jobs only; `hub worker` and `manage.py work`
run more, on any machine that reaches the database and the storage.
"""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

import structlog
from django.conf import settings
from django.db import Error as DatabaseTrouble
from django.db import close_old_connections, connections

from registry.core import changes, leases, outbox
from registry.mirrors.services import mirrors
from registry.storage.verification import SLICE_SECONDS
from runners import pools
from runners.capabilities import Capabilities
from runners.federated import jobs
from runners.queue import environments, registration, services
from runners.sandbox import Sandbox
from runners.workers import mirroring, periodic_tasks, storage_verification
from runners.workers.execution import execute

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

log = structlog.get_logger(__name__)

# How often rounds of trainings are checked if no event announces that one is due.
ROUND_SECONDS = 0.5
FIRST_SCRUB_SECONDS = 60.0


class Pulse:
    """Sends heartbeats in a thread of its own, and recovers jobs of lost workers.

    So a worker with a long job is not considered lost, and recovery does not wait for the job.
    """

    def __init__(self, name: str, queues: str, capabilities: Capabilities) -> None:
        self._name, self._queues = name, queues
        self._capabilities = asdict(capabilities)
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
                    capabilities=self._capabilities,
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

    def __init__(self, names: Sequence[str], *, runtime: str = "") -> None:
        self.name = registration.name()
        self.queues = pools.queues_of(names, runtime)
        self.capabilities = Capabilities()
        self._runtime = runtime
        # Where no process keeps graphs, events that a user waits for must not wait for the sweep.
        self._delivers = not {"light", "cpu.urgent"}.isdisjoint(self.queues)
        self._stopping = False
        self._swept = self._tidied = self._moved = self._last_refresh = float("-inf")
        # Verification starts later than what the start of the hub triggers.
        self._scrub_at = time.monotonic() + FIRST_SCRUB_SECONDS
        self._scrubber: threading.Thread | None = None
        self._mirrored = float("-inf")
        self._mirroring: threading.Thread | None = None

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; the current job is finished first."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        with Sandbox(interpreter=environments.interpreter(self._runtime)) as sandbox:
            self.capabilities = registration.capabilities(sandbox, self.queues)
            queues = ",".join(self.queues)
            registration.log_start(self.name, queues, self.capabilities)
            with Pulse(self.name, queues, self.capabilities):
                while not self._stopping:
                    self._turn(sandbox)
            services.leave(self.name)

    def step(self, sandbox: Sandbox) -> bool:
        """Run the periodic tasks that are due, then one job; False if none was queued."""
        now = time.monotonic()
        if now - self._swept >= periodic_tasks.sweep_seconds():
            self._swept = now
            periodic_tasks.sweep()
        if self._delivers and outbox.waits():
            outbox.deliver()
        if self._delivers and now - self._moved >= ROUND_SECONDS:
            self._moved = now
            jobs.keep_up()
        if "light" in self.queues and now - self._last_refresh >= periodic_tasks.LISTS_SECONDS:
            self._last_refresh = now
            periodic_tasks.refresh_downloads()
            periodic_tasks.predict_latencies()
        if "light" in self.queues and now - self._tidied >= periodic_tasks.TIDY_SECONDS:
            self._tidied = now
            periodic_tasks.tidy()
        self._scrub(now)
        self._mirror(now)
        job = services.claim(
            self.name,
            self.queues,
            host=registration.host(),
            capabilities=self.capabilities,
        )
        if job is None:
            return False
        execute(job, sandbox)
        return True

    def _scrub(self, now: float) -> None:
        """Start verifying a share of storage if it is due; jobs continue meanwhile."""
        if "light" not in self.queues or now < self._scrub_at:
            return
        self._scrub_at = now + SLICE_SECONDS
        is_over = self._scrubber is None or not self._scrubber.is_alive()
        if is_over and leases.take_turn("verification", SLICE_SECONDS):
            self._scrubber = storage_verification.start()

    def _mirror(self, now: float) -> None:
        """Start synchronising mirrors if one is due; jobs continue meanwhile."""
        if "light" not in self.queues or now < self._mirrored + mirroring.LOOK_SECONDS:
            return
        self._mirrored = now
        if mirrors.is_due() and (self._mirroring is None or not self._mirroring.is_alive()):
            self._mirroring = mirroring.start()

    def _turn(self, sandbox: Sandbox) -> None:
        before = changes.mark()
        try:
            worked = self.step(sandbox)
        except DatabaseTrouble:
            log.warning("database_unavailable", exc_info=True)
            worked = False
        if not worked:
            changes.wait(before, lambda: self._stopping)
        close_old_connections()

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True
