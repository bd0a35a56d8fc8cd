"""The worker without a broker: it polls the rows that Celery's bell would have named.

`hub serve` runs one; `manage.py work` runs as many as one likes, on any machine that reaches the
database and the storage.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from runners import services
from runners.execution import execute
from runners.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.25
TIDY_SECONDS = 3600.0


def name() -> str:
    """A worker's name: host and process, unique while it lives."""
    return f"{socket.gethostname()}-{os.getpid()}"


class Worker:
    """Claims and does one job after another until it is told to stop."""

    def __init__(self, pools: Sequence[str]) -> None:
        self.name = name()
        self.pools = list(pools)
        self._stopping = False
        self._isolation: dict[str, object] = {}
        self._swept = self._tidied = float("-inf")

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; the job in hand is finished first."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        with Sandbox() as sandbox:
            self._isolation = {"name": sandbox.level().name, **asdict(sandbox.level())}
            log.info("worker_started", worker=self.name, pools=self.pools, **self._isolation)
            while not self._stopping:
                try:
                    worked = self.step(sandbox)
                except DatabaseError:
                    log.warning("database_unavailable", exc_info=True)
                    worked = False
                close_old_connections()
                if not worked and not self._stopping:
                    time.sleep(POLL_SECONDS)

    def step(self, sandbox: Sandbox) -> bool:
        """Do what is due, then one job; False when none waited."""
        now = time.monotonic()
        if now - self._swept >= settings.HUB_LIMITS_LEASE_SECONDS / 3:
            self._swept = now
            services.see(
                self.name,
                host=socket.gethostname(),
                pool=",".join(self.pools),
                capabilities={"isolation": self._isolation, "versions": sandbox.versions()},
            )
            services.sweep()
        if now - self._tidied >= TIDY_SECONDS:
            self._tidied = now
            services.tidy()
        job = services.claim(self.name, self.pools)
        if job is None:
            return False
        execute(job, sandbox)
        return True

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True
