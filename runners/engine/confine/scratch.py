"""Counts what a child has written, from outside, while it runs.

Its writable folders lie on a disk that others share, where the kernel limits each file and not
their sum. So the parent counts: bytes and entries of the folders, files that were deleted and are
still open, and all that was ever written, which also holds what is mapped and has no name any more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from runners.engine.confine.isolation import Limits

Excess = Literal["bytes", "files"]

# What a child writes at most, so that the next look comes in time.
_BYTES_PER_SECOND, _FILES_PER_SECOND = 4 << 30, 50_000
_LONGEST_PAUSE, _SHORTEST_PAUSE = 0.05, 0.005
# A tool writes its files anew: what it deleted counts no more, up to this many times the limit.
_REWRITES = 4
# What a file system writes for itself with each new file, at most.
_ENTRY_BYTES = 4096
_DEEPEST = 64
_BLOCK = 512


class _HiddenError(Exception):
    """The child made folders that cannot be counted: locked, or nested without end."""


@dataclass(slots=True)
class _Count:
    """Bytes and entries so far; counting ends beyond the limits."""

    most_bytes: int
    most_files: int
    bytes: int = 0
    files: int = 0
    inodes: set[tuple[int, int]] = field(default_factory=set)

    @property
    def excess(self) -> Excess | None:
        if self.files > self.most_files:
            return "files"
        return "bytes" if self.bytes > self.most_bytes else None

    def add(self, state: os.stat_result) -> None:
        """Add one name; a file with several names has its bytes once."""
        self.files += 1
        if state.st_nlink != 1 and not stat.S_ISDIR(state.st_mode):
            if (state.st_dev, state.st_ino) in self.inodes:
                return
            self.inodes.add((state.st_dev, state.st_ino))
        # A sparse file may be filled later, and is stored with its holes.
        apparent = state.st_size if stat.S_ISREG(state.st_mode) else 0
        self.bytes += max(apparent, state.st_blocks * _BLOCK)


class Meter:
    """Watches the writable folders of one child; `pause` is how long to wait until the next look.

    What earlier children of the job left in these folders counts too. Between two looks a child
    can exceed the limits by what it writes in that time: `pause` is at most 0.05 s and falls to
    0.005 s as a limit comes near. Beyond half of a limit the child is stopped during a look, so
    that the look itself, about 0.04 s for 10,000 files, adds nothing.
    """

    def __init__(self, pid: int, folders: Iterable[Path], limits: Limits) -> None:
        self._pid = pid
        self._process = f"/proc/{pid}"
        self._is_near = False
        self._folders = tuple(folders)
        self._limits = limits
        self.pause = _SHORTEST_PAUSE if self._folders else _LONGEST_PAUSE

    def excess(self, *, ended: bool = False) -> Excess | None:
        """What there is too much of; ``ended`` leaves out what ends with the process."""
        if not self._folders:
            return None
        if not self._is_near:
            return self._look(ended=ended)
        self._signal(signal.SIGSTOP)
        try:
            return self._look(ended=ended)
        finally:
            self._signal(signal.SIGCONT)

    def _look(self, *, ended: bool) -> Excess | None:
        began = time.monotonic()
        count = _Count(self._limits.most_written, self._limits.written_files)
        try:
            for folder in self._folders:
                _count_folder(str(folder), None, count, 0)
        except _HiddenError:
            return "files"
        if not ended:
            self._count_deleted(count)
        excess = count.excess
        most_ever = _REWRITES * count.most_bytes + _ENTRY_BYTES * count.most_files
        if excess is None and self._written() > most_ever:
            excess = "bytes"
        headroom = min(
            (count.most_bytes - count.bytes) / _BYTES_PER_SECOND,
            (count.most_files - count.files) / _FILES_PER_SECOND,
        )
        self.pause = min(max(headroom, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        self._is_near = 2 * count.files > count.most_files or 2 * count.bytes > count.most_bytes
        if not self._is_near:
            self.pause = max(self.pause, time.monotonic() - began)
        return excess

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _count_deleted(self, count: _Count) -> None:
        try:
            handles = os.listdir(f"{self._process}/fd")  # noqa: PTH208 - twenty times a second
        except OSError:  # it just ended, or this machine lets nobody look
            return
        for handle in handles:
            try:
                state = os.stat(f"{self._process}/fd/{handle}")  # noqa: PTH116
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode) and state.st_nlink == 0:
                count.add(state)

    def _written(self) -> int:
        """Bytes that the process made dirty on disks, less those dropped before they got there."""
        try:
            with open(f"{self._process}/io", encoding="ascii") as file:  # noqa: PTH123
                values = dict(line.split(": ") for line in file)
            return int(values["write_bytes"]) - int(values["cancelled_write_bytes"])
        except (OSError, KeyError, ValueError):  # it just ended, or this kernel does not count
            return 0


def _count_folder(name: str, parent: int | None, count: _Count, depth: int) -> None:
    if depth > _DEEPEST:
        raise _HiddenError
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        raise _HiddenError from None
    except OSError:  # deleted, or replaced by something else
        return
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                try:
                    state = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                count.add(state)
                if count.excess is not None:
                    return
                if stat.S_ISDIR(state.st_mode):
                    _count_folder(entry.name, handle, count, depth + 1)
    finally:
        os.close(handle)
