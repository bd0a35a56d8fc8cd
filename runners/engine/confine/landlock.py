"""What a child may read and write, kept by the kernel (landlock) and not by good manners.

Everything is refused but the folders named: the interpreter and its libraries for reading, the
job's input for reading, the job's own folder for writing.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Collection, Iterable
from pathlib import Path

from runners.engine.confine import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_QUERY = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
_ON_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
# What CUDA does with files of its own process, and ends where it may not: it names its threads
# (nothing else in their folders can be read), and looks for addresses that are free.
_OWN = {"/proc/self/task": _WRITE_FILE | _TRUNCATE, "/proc/self/maps": _READ_FILE}

# How many rights each version of the interface knows: 13 at first, then REFER, TRUNCATE, IOCTL_DEV.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_RIGHTS = 16
_TCP = 0b11
_SCOPED = 0b11


def version() -> int:
    """Ask which version of the interface this kernel speaks; raises OSError where it has none."""
    return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION_QUERY)


def apply(
    readable: Iterable[Path], writable: Iterable[Path], devices: Collection[Path] = ()
) -> None:
    """Confine this process permanently; needs `no_new_privileges` first. Raises OSError.

    Paths that do not exist are passed over: naming one grants nothing.
    """
    spoken = version()
    rights = (1 << _RIGHTS.get(spoken, _NEWEST_RIGHTS)) - 1
    attributes = struct.pack("<Q", rights)
    if spoken >= 4:
        attributes += struct.pack("<Q", _TCP)
    if spoken >= 6:
        attributes += struct.pack("<Q", _SCOPED)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = kernel.syscall(_CREATE_RULESET, buffer, len(attributes), 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & rights)
        for path in writable:
            _allow(ruleset, path, _WRITE & rights)
        for path in devices:
            _allow(ruleset, path, _DEVICE & rights)
        for own, allowed in _OWN.items() if devices else ():
            # The rule holds while the kernel remembers the file: this handle is never closed.
            os.open(own, os.O_PATH | os.O_CLOEXEC)
            _allow(ruleset, Path(own), allowed & rights)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, handle), 12)
        kernel.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(handle)
