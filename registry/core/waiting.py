"""How long a request waits for a backend: the database, the cache, the broker or the bucket.

A request that reads has `READ_SECONDS` for all of them together, any other `WRITE_SECONDS`; only
time in which a backend did not answer counts, and time in which the request waited for a thread,
since those before it may have waited for a backend. Workers and commands wait without a limit.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

READ_SECONDS = 5.0
# For what a page can be shown without.
BRIEF_SECONDS = 1.0
WRITE_SECONDS = 30.0
# What a request that waited long for a thread has left: a backend that works answers within it.
LEAST_SECONDS = 0.5


class _Thread(threading.local):
    """The seconds that this thread may still wait; None outside of a block of ``within``."""

    left: float | None = None
    # How long the request of this thread waited for it.
    queued: float = 0.0


_thread = _Thread()
_default = math.inf


def limit_process(seconds: float) -> None:
    """Limit each single wait of this process outside of requests, such as of a response's body."""
    global _default  # noqa: PLW0603 - said once, when a web process begins
    _default = seconds


def left() -> float:
    """The seconds that this thread may wait for a backend now."""
    return _default if _thread.left is None else _thread.left


def begin_request(queued: float) -> None:
    """Say how many seconds the request that this thread now serves waited for it."""
    _thread.queued = queued


def read_seconds() -> float:
    """How long the request of this thread may wait for backends, if it reads."""
    return max(LEAST_SECONDS, READ_SECONDS - _thread.queued)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the waits of this block; an outer limit holds as well."""
    outer, began = _thread.left, left()
    _thread.left = min(seconds, began)
    try:
        yield
    finally:
        spent = min(seconds, began) - _thread.left
        _thread.left = None if outer is None else max(0.0, outer - spent)


def spend(seconds: float) -> None:
    """Count seconds in which a backend did not answer."""
    if _thread.left is not None:
        _thread.left = max(0.0, _thread.left - seconds)


@contextmanager
def spent_if(*errors: type[BaseException]) -> Iterator[None]:
    """Count the time of the block if it raises one of these errors."""
    began = time.monotonic()
    try:
        yield
    except errors:
        spend(time.monotonic() - began)
        raise
