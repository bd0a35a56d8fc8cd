"""Lays out what a library may open: the model and the files it names, as plain private copies.

Copies, because one library follows hard links out of the folder; nothing else lies there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from runners.engine.onnx_files import file_types

_CHUNK = 32 << 20
# Git LFS writes no longer pointers.
_POINTER_BYTES = 1024
_NO_FAST_COPY = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})


class UnusableInputError(Exception):
    """A stored file cannot be given to the engine: missing, or no plain file."""


class StoppedError(Exception):
    """The job was cancelled while its input was being copied."""


def open_plain(path: str) -> int:
    """Open a stored file for reading; raises UnusableInputError unless it is a regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        words = os.strerror(error.errno or 0)
        raise UnusableInputError(f"A stored file cannot be opened: {words}.") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnusableInputError("A stored file is not a regular file.")
    return handle


def sizes(files: dict[str, str]) -> dict[str, int]:
    """Give the size in bytes of every file of a version; raises UnusableInputError."""
    sizes_by_path = {}
    for path, place in files.items():
        try:
            state = os.lstat(place)
        except OSError:
            raise UnusableInputError(f"The stored bytes of {path!r} are missing.") from None
        if not stat.S_ISREG(state.st_mode):
            raise UnusableInputError(f"The stored bytes of {path!r} are not a regular file.")
        sizes_by_path[path] = state.st_size
    return sizes_by_path


def pointers(files: dict[str, str], sizes_by_path: dict[str, int]) -> frozenset[str]:
    """The files of a version that are Git LFS pointers: by their first bytes, if they are short."""
    pointer_paths = set()
    for path, place in files.items():
        if 0 < sizes_by_path[path] <= _POINTER_BYTES:
            handle = open_plain(place)
            try:
                if file_types.is_pointer(os.read(handle, _POINTER_BYTES)):
                    pointer_paths.add(path)
            finally:
                os.close(handle)
    return frozenset(pointer_paths)


def lay_out(
    folder: Path, files: dict[str, str], paths: Iterable[str], stopped: Callable[[], bool]
) -> None:
    """Copy these version paths into the folder, read-only; raises StoppedError on cancellation."""
    for path in paths:
        target = folder.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        source = open_plain(files[path])
        try:
            copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
            try:
                _copy(source, copy, stopped)
            finally:
                os.close(copy)
        finally:
            os.close(source)


def _copy(source: int, target: int, stopped: Callable[[], bool]) -> None:
    fast = True
    while True:
        if stopped():
            raise StoppedError
        try:
            if fast:
                count = os.copy_file_range(source, target, _CHUNK)
            else:
                count = os.sendfile(target, source, None, _CHUNK)
        except OSError as error:
            if not fast or error.errno not in _NO_FAST_COPY:
                raise
            fast = False
            continue
        if count == 0:
            return
