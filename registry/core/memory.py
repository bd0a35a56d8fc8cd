"""Memory that a process has freed goes back to the machine while the process waits.

The C library keeps what was freed for what comes next: after a large job or a rebuild of graphs
that are tens of megabytes, which nobody at rest needs.
"""

from __future__ import annotations

import ctypes
import gc
import time
from contextlib import suppress

# Between two calls: each looks at the whole heap.
SECONDS = 60.0

_gave_at = time.monotonic()


def give_back() -> None:
    """Return freed memory to the machine (malloc_trim(3)), once a minute at most."""
    global _gave_at  # noqa: PLW0603 - one heap a process
    now = time.monotonic()
    if now - _gave_at >= SECONDS:
        _gave_at = now
        gc.collect()
        with suppress(AttributeError):  # other C libraries have no such function
            ctypes.CDLL(None).malloc_trim(0)
