"""Who uses which copy of the store: readers share its lock, and the writer removes what is free."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path


def hold(snapshots: Path, name: str) -> int:
    """A descriptor that keeps a copy from being removed until it is closed.

    Raises FileNotFoundError where the copy is gone already.
    """
    lock = snapshots / f"{name}.lock"
    handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_SH)
    if not lock.exists():
        os.close(handle)
        raise FileNotFoundError(lock)
    return handle


def remove_unheld(lock: Path) -> None:
    """Remove a copy, named by its lock, unless a reader holds it."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        lock.unlink()
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
