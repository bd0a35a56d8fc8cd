"""What the child of a fork must not keep of its parent.

Only the thread that forks lives on in the child: a lock that another thread held would never be
freed there.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable


def in_child(action: Callable[[], object]) -> None:
    """Call `action` in each process that is forked from this one, before its own code runs."""
    if hasattr(os, "register_at_fork"):  # Windows has no forks
        os.register_at_fork(after_in_child=action)


class Lock:
    """A lock for threads that is free in every child of a fork. No holder of it may fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def renew(self) -> None:
        """Make the lock free in this process."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _locks:
        lock.renew()


in_child(_renew_all)
