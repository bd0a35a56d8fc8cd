"""Small files that processes share: locks, and documents that are replaced in one step."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Whether this process has the lock; the kernel releases it when the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def replace_text(path: Path, text: str) -> None:
    """Replace a file, synced to disk, so that a reader sees the old text or the new one."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
