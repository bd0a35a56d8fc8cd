"""Asking again while a hub does not answer: what can heal, for how long, and the line that says so.

Restarts, lost connections and overload pass. The time for retries begins with the first failure
and begins again once something was transferred, so a long transfer outlives many short outages.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable
from http import HTTPStatus

from hub.client import forks
from hub.protocol import problems

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0
NOTICE_SECONDS = 5.0
# The request was not processed: any method may be sent again.
_UNPROCESSED = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_TRANSIENT = _UNPROCESSED | {
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_EVENTS = {
    HTTPStatus.REQUEST_TIMEOUT: "did not receive the request in time",
    HTTPStatus.TOO_MANY_REQUESTS: "limits the request rate",
    HTTPStatus.CONFLICT: "is still busy with an earlier request",
}

log = logging.getLogger("hub.client")


def is_transient(error: problems.HubError) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, problems.Problem):
        return error.status in _TRANSIENT
    return isinstance(error, problems.Unreachable) and error.is_transient


def was_processed(error: problems.HubError) -> bool:
    """Return whether the failed request may have had its effect, so that a repeat may double it."""
    if isinstance(error, problems.Problem):
        # A refusal that names a time did nothing; a bare 502, 503 or 504 may have done its work.
        has_time = error.retry_after_seconds is not None
        is_refusal = error.status == HTTPStatus.SERVICE_UNAVAILABLE and has_time
        return not (error.status in _UNPROCESSED or is_refusal)
    return not (isinstance(error, problems.Unreachable) and error.is_unsent)


class Notices:
    """The lines about retries of one hub, at most one in five seconds from all threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = forks.Lock()
        self._last = float("-inf")

    def write(self, error: problems.HubError, left_seconds: float) -> None:
        """Log that a request is repeated; without a logging configuration this is on stderr."""
        now = time.monotonic()
        with self._lock:
            if now - self._last < NOTICE_SECONDS:
                return
            self._last = now
        event, cause = "does not answer", ""
        if isinstance(error, problems.Problem):
            event, cause = _EVENTS.get(HTTPStatus(error.status), event), str(error.status)
        elif isinstance(error, problems.Unreachable):
            cause = error.reason
        log.warning("%s %s (%s). Retrying for %.0f s more.", self._name, event, cause, left_seconds)


class Retries:
    """The retries of one operation, which may be several requests; not shared between threads.

    They end `seconds` after the first failure since the last progress, or, with `is_timed`, after
    they were made. `connect_seconds` says the same of failures to connect, at the time of each.
    """

    def __init__(
        self,
        seconds: float,
        notices: Notices,
        sleep: Callable[[float], object],
        *,
        is_timed: bool = False,
        connect_seconds: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._seconds = seconds
        self._connect_seconds = connect_seconds
        self._notices = notices
        self._sleep = sleep
        self._failures = 0
        self._is_timed = is_timed
        self._since = time.monotonic()
        self._slept = 0.0

    def progress(self) -> None:
        """Begin again: something was transferred."""
        self._failures = 0

    def pause(self, error: problems.HubError) -> None:
        """Wait before the next attempt; raise `error` if it is permanent or the time is up.

        A `Retry-After` of the hub is respected: where it is later than the end, `error` is raised.
        """
        if isinstance(error, problems.Unreachable) and not error.is_transient:
            raise error from None
        now = time.monotonic()
        if not (self._failures or self._is_timed):
            self._since, self._slept = now, 0.0
        self._failures += 1
        seconds = self._seconds
        if isinstance(error, problems.Unreachable) and error.is_unsent:
            seconds = min(seconds, self._connect_seconds())
        remaining = seconds - max(now - self._since, self._slept)
        named = error.retry_after_seconds if isinstance(error, problems.Problem) else None
        # Jitter only spreads clients in time; nothing secret depends on it.
        backoff = FIRST_PAUSE_SECONDS * 2.0 ** min(self._failures - 1, 10)
        backoff = min(LONGEST_PAUSE_SECONDS, backoff) * random.uniform(0.5, 1.0)  # noqa: S311
        seconds = max(min(backoff, remaining), named or 0.0)
        if remaining <= 0 or seconds > remaining:
            raise error from None
        self._notices.write(error, remaining)
        self._slept += seconds
        self._sleep(seconds)
