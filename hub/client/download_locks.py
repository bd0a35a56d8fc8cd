"""One download of a file for all processes and threads that share a cache.

The first to ask holds a lock on `partial/<sha256>.lock`, which the system takes back when its
process ends; the others wait for its blob. Where the file system has no locks, or the holder
receives nothing for a minute, or in ten seconds not all of a small file, each downloads for
itself, as it may: a blob appears in one step.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hub.client import forks
from hub.client.cache import Cache, explained

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


# Waits between two looks grow: a small file comes in milliseconds.
FIRST_POLL_SECONDS, POLL_SECONDS = 0.005, 0.2
STALLED_SECONDS = 60.0
SMALL_STALLED_SECONDS = 10.0


# The open lock files of this process. The child of a fork has a share in each lock until it closes
# the file.
_held: set[int] = set()


def _close_in_child() -> None:
    while _held:
        os.close(_held.pop())


forks.in_child(_close_in_child)


@contextlib.contextmanager
def alone(
    cache: Cache,
    sha256: str,
    size: int,
    sleep: Callable[[float], object] = time.sleep,
    *,
    is_small: bool = False,
) -> Iterator[Path | None]:
    """Give the path of a blob that another process downloaded meanwhile, or `None`: download it.

    A small file is one that is kept in memory until it is whole.
    """
    stalled_seconds = SMALL_STALLED_SECONDS if is_small else STALLED_SECONDS
    pause = FIRST_POLL_SECONDS
    with contextlib.ExitStack() as stack:
        path = cache.prepare(cache.partial) / f"{sha256}.lock"
        began = time.time()
        while not _take(path, cache.folder, stack):
            if blob := cache.find(sha256, size):
                yield blob
                return
            if time.time() - max(began, _written_at(cache, sha256)) > stalled_seconds:
                break
            sleep(pause)
            pause = min(POLL_SECONDS, pause * 1.5)
        yield cache.find(sha256, size)


def _take(path: Path, folder: Path, stack: contextlib.ExitStack) -> bool:
    """Whether this caller may go on: it has the lock until the stack ends, or there are none."""
    if fcntl is None:
        return True
    with explained(folder):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    _held.add(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _give_back(handle)
        return False
    except OSError:
        _give_back(handle)
        return True
    # The one before removes its file with the lock on it: then this is a lock on nothing.
    try:
        is_current = os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        is_current = False
    if not is_current:
        _give_back(handle)
        return False
    stack.callback(_give_back, handle)
    stack.callback(path.unlink, missing_ok=True)
    return True


def _give_back(handle: int) -> None:
    _held.discard(handle)
    os.close(handle)


def _written_at(cache: Cache, sha256: str) -> float:
    """When a download of this blob last received something, in seconds since the epoch."""
    times = []
    for partial in cache.partial.glob(f"{sha256}.*@*"):
        with contextlib.suppress(OSError):
            times.append(partial.stat().st_mtime)
    return max(times, default=0.0)
