"""Processes that end when their parent ends, however that happens (prctl(2))."""

from __future__ import annotations

import ctypes
import os
import signal

_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent(parent: int, with_signal: int = signal.SIGTERM) -> None:
    """Have the kernel signal this process when its parent ends.

    Exit now if it has ended already.
    """
    _libc.prctl(_SET_PDEATHSIG, with_signal)
    if os.getppid() != parent:
        os._exit(1)
