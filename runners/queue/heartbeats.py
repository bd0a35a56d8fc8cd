"""Heartbeats of a Celery worker, sent by its main process.

A timer of the worker's event loop sends them, so they do not depend on free pool slots, and there
is no thread that a fork of the pool could copy. Each heartbeat also recovers lost jobs.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import structlog
from celery import bootsteps
from django.conf import settings
from django.db import Error as DatabaseTrouble
from django.db import connections

from runners.queue import environments, registration, services
from runners.sandbox import Sandbox
from runners.worker_features import WorkerFeatures

log = structlog.get_logger(__name__)


class SignsOfLife(bootsteps.StartStopStep):  # type: ignore[misc]
    """Registers the worker when it connects, and again every third of a lease."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **more: Any) -> None:
        super().__init__(consumer, **more)
        self._timer: Any = None
        self._features: WorkerFeatures | None = None

    def start(self, consumer: Any) -> None:
        """Tell at once, then by the timer: after each new connection to the broker as well."""
        if self._features is None:
            python = environments.interpreter(settings.HUB_WORKER_RUNTIME)
            with Sandbox(interpreter=python) as sandbox:
                queues = list(consumer.app.amqp.queues.consume_from)
                self._features = registration.features(sandbox, queues)
            registration.log_start(registration.name(), _queues(consumer), self._features)
        self._beat(consumer)
        period = settings.HUB_LIMITS_LEASE_SECONDS / 3
        self._timer = consumer.timer.call_repeatedly(period, self._beat, (consumer,))

    def stop(self, _consumer: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def shutdown(self, consumer: Any) -> None:
        """Unregister the worker, so that no job waits for it."""
        self.stop(consumer)
        try:
            services.leave(registration.name())
        except DatabaseTrouble:
            log.warning("leaving_failed", exc_info=True)
        finally:
            connections.close_all()

    def _beat(self, consumer: Any) -> None:
        try:
            services.see(
                registration.name(),
                host=registration.host(),
                pool=_queues(consumer),
                features=asdict(self._features) if self._features else {},
                slots=consumer.controller.concurrency,
            )
            services.recover()
        except DatabaseTrouble:
            log.warning("sign_of_life_failed", exc_info=True)
        finally:
            # An open connection would be inherited by the next forked process of the pool.
            connections.close_all()


def _queues(consumer: Any) -> str:
    return ",".join(sorted(consumer.app.amqp.queues.consume_from))
