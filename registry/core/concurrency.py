"""Costly work in a web process: a few callers at once, a few that wait, and the others refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hub.protocol.problems import Problem


class Places:
    """``count`` callers hold a place at once; ``waiting`` more wait up to ``wait_seconds``."""

    def __init__(
        self, count: int, *, waiting: int, wait_seconds: float, refusal: Callable[[], Problem]
    ) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._admitted = threading.BoundedSemaphore(count + waiting)
        self._wait_seconds = wait_seconds
        self._refusal = refusal

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a place; raises the refusal where none gets free in time."""
        if not self._admitted.acquire(blocking=False):
            raise self._refusal()
        try:
            if not self._free.acquire(timeout=self._wait_seconds):
                raise self._refusal()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._admitted.release()
