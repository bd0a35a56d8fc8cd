"""The few Linux calls that Python does not offer, by number, for x86-64 and AArch64.

Every function raises OSError with the kernel's own errno, so a layer that this machine does not
have shows itself as an error and is never taken for granted.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
SECCOMP_MODE_FILTER = 2

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 1 << 1, 1 << 2, 1 << 3
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8

_UNSHARE = {"x86_64": 272, "aarch64": 97}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> str:
    """Name this processor family as the tables here do; raises OSError for one they lack."""
    name = platform.machine()
    name = {"arm64": "aarch64", "amd64": "x86_64"}.get(name.lower(), name)
    if name not in _UNSHARE:
        raise OSError(f"no system call table for {name}")
    return name


def syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make one system call; integers are passed as 64-bit words, buffers by address."""
    words = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        _raise()
    return result


def prctl(option: int, value: int, address: int | None = None) -> None:
    """Change one property of this process or thread."""
    result = _libc.prctl(
        ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_void_p(address), 0, 0
    )
    if result != 0:
        _raise()


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Ask to be signalled when the parent goes; ends at once if it already has."""
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose own parent ended, so that none escapes."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def no_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def unshare(flags: int) -> None:
    """Enter new namespaces of these kinds (CLONE_NEW...)."""
    syscall(_UNSHARE[machine()], flags)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, bind a tree (MS_BIND) or change a mount's propagation."""
    words = (source.encode(), target.encode(), kind.encode())
    if _libc.mount(*words, ctypes.c_ulong(flags), options.encode()) != 0:
        _raise()


def restrict_mount(target: str, attributes: int, *, recursive: bool = True) -> None:
    """Add attributes (ATTR_...) to a mount and, by default, to those beneath it."""
    values = ctypes.create_string_buffer(struct.pack("<QQQQ", attributes, 0, 0, 0), 32)
    flags = _AT_RECURSIVE if recursive else 0
    path = ctypes.create_string_buffer(target.encode())
    syscall(_MOUNT_SETATTR, _AT_FDCWD, path, flags, values, 32)


def pivot_root(root: str, old: str) -> None:
    """Make a mount the root of this namespace and put the former root at ``old``."""
    paths = (ctypes.create_string_buffer(path.encode()) for path in (root, old))
    syscall(_PIVOT_ROOT[machine()], *paths)


def unmount(target: str) -> None:
    """Detach a mount and everything beneath it."""
    if _libc.umount2(target.encode(), MNT_DETACH) != 0:
        _raise()


def set_hostname(name: str) -> None:
    if _libc.sethostname(name.encode(), ctypes.c_size_t(len(name))) != 0:
        _raise()


def _raise() -> NoReturn:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))


def drop_capabilities() -> None:
    """Give up every capability, those that a new user namespace brings included."""
    header = ctypes.create_string_buffer(
        _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4), size=8
    )
    data = ctypes.create_string_buffer(24)
    syscall(_CAPSET[machine()], header, data)
