"""Ending an operation from another thread: what runs in a thread for `hub.aio` sees it soon.

A thread cannot be ended from outside. What the client does for long looks here between two blocks
of a transfer and instead of sleeping. Threads that an operation starts for itself run in a copy of
its context (contextvars).
"""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

current: ContextVar[threading.Event | None] = ContextVar("cancellation", default=None)


class Cancelled(BaseException):
    """The operation of this thread was cancelled; nothing may take it for a failure to repeat."""


def check() -> None:
    """Raise `Cancelled` where the operation of this context was cancelled."""
    event = current.get()
    if event is not None and event.is_set():
        raise Cancelled


def sleep(seconds: float) -> None:
    """Wait; raise `Cancelled` as soon as the operation of this context is cancelled."""
    event = current.get()
    if event is None:
        time.sleep(seconds)
    elif event.wait(seconds):
        raise Cancelled
