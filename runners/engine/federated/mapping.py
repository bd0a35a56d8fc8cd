"""Stored files mapped into memory for the children to come: no copy, and no open file per mapping.

The server maps and never reads; a child inherits the mappings and has no path to anything else.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from runners.engine.onnx_files import staging

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value

# Bytes of a file; nobody may write to them.
Buffer = Any


@contextmanager
def mapped(files: Mapping[str, str], paths: Iterable[str]) -> Iterator[dict[str, Buffer]]:
    """Map these files of a request; raises inputs.UnusableInputError for what is none."""
    mappings: list[tuple[int, int]] = []
    buffers: dict[str, Buffer] = {}
    try:
        for path in dict.fromkeys(paths):
            if path not in files:
                raise staging.UnusableInputError(f"The job names {path!r}, which it was not given.")
            place, size = _map(files[path])
            if size:
                mappings.append((place, size))
            buffers[path] = (ctypes.c_ubyte * size).from_address(place) if size else b""
        yield buffers
    finally:
        buffers.clear()
        for place, size in mappings:
            _libc.munmap(place, size)


def _map(path: str) -> tuple[int, int]:
    handle = staging.open_plain(path)
    try:
        size = os.fstat(handle).st_size
        if not size:
            return 0, 0
        place = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE, handle, 0)
        if place in {None, _FAILED}:
            words = os.strerror(ctypes.get_errno())
            raise staging.UnusableInputError(f"A stored file cannot be mapped: {words}.")
        return place, size
    finally:
        os.close(handle)


def size_of(buffers: Mapping[str, Buffer]) -> int:
    """The bytes of all mappings together."""
    return sum(len(buffer) for buffer in buffers.values())
