"""Processes that are forked from one that has loaded what they have in common.

What is loaded before a fork lies in memory once, and a process that ends is back at once. The
process that forks must have no threads and no open connections: a copy could use neither.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from runners.queue.parent_death import die_with_parent

_LOOK_SECONDS = 0.05
# The kernel keeps as many bytes of a name (PR_SET_NAME in prctl(2)).
_NAME_BYTES = 15
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Returns the exit status of its process.
Work = Callable[[], int]


class Forked(BaseException):
    """Raised in the new process, so that it leaves what its parent holds before it begins."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work


class Process:
    """A child of this process. Its ``name`` is shown by ps, top and pgrep as ``hub NAME``."""

    def __init__(self, name: str, work: Work) -> None:
        """Fork. The child raises Forked, which its main function answers by calling the work."""
        self._status: int | None = None
        parent = os.getpid()
        sys.stdout.flush()
        # A signal that comes before the child has its own handlers waits for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self.pid = os.fork()
            if not self.pid:
                os.setsid()  # Ctrl-C reaches the parent alone, which stops its children in order
                signal.signal(signal.SIGINT, signal.default_int_handler)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                die_with_parent(parent)
                name_process(name)
                raise Forked(work)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def status(self) -> int | None:
        """The exit status, or minus the signal that ended it; None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, seconds: float = float("inf")) -> int | None:
        """The status once it has ended; None if it still runs after these seconds."""
        until = time.monotonic() + seconds
        while (status := self.status()) is None and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if it has not ended."""
        if self.status() is None:
            os.kill(self.pid, number)


def name_process(name: str) -> None:
    """Name this process for ps, top and pgrep."""
    Path("/proc/self/comm").write_bytes(f"hub {name}".encode()[:_NAME_BYTES])
