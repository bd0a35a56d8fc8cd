"""Circuit breakers: callers of a backend that does not answer are refused at once.

Source: M. Nygard, Release It!, 2nd edition, 2018, chapter 5, "Circuit Breaker".
"""

from __future__ import annotations

import threading
import time

import structlog

log = structlog.get_logger(__name__)

# A breaker opens after this many calls in a row without an answer, and then lets one call pass each
# `RETRY_SECONDS`; the first answer closes it.
FAILURES = 3
RETRY_SECONDS = 5.0


class Breaker:
    """The breaker of one backend in this process."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._failures = 0
        self._retry_at = 0.0

    def allows(self) -> bool:
        """Whether a call may be made now."""
        if self._failures < FAILURES:
            return True
        now = time.monotonic()
        with self._lock:
            if now < self._retry_at:
                return False
            self._retry_at = now + RETRY_SECONDS
            return True

    def succeed(self) -> None:
        """The backend answered, if only with an error."""
        if self._failures:
            with self._lock:
                is_open, self._failures = self._failures >= FAILURES, 0
            if is_open:
                log.warning("backend_answers", backend=self._backend)

    def fail(self) -> None:
        """A call had no answer in its time."""
        with self._lock:
            self._failures += 1
            self._retry_at = time.monotonic() + RETRY_SECONDS
            is_opened = self._failures == FAILURES
        if is_opened:
            log.error("backend_does_not_answer", backend=self._backend)
