"""The few Linux calls that Python does not offer, by number, for x86-64 and AArch64.

Every function raises OSError with the kernel's own errno, so a layer that this machine does not
have shows itself as an error and is never taken for granted.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
SECCOMP_MODE_FILTER = 2

CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

_UNSHARE = {"x86_64": 272, "aarch64": 97}
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
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, value: int, address: int | None = None) -> None:
    """Change one property of this process or thread."""
    result = _libc.prctl(
        ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_void_p(address), 0, 0
    )
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


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


def unshare_namespaces() -> None:
    """Enter new user, network and IPC namespaces: no address but an unset loopback exists there."""
    syscall(_UNSHARE[machine()], CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC)


def drop_capabilities() -> None:
    """Give up every capability, those that a new user namespace brings included."""
    header = ctypes.create_string_buffer(
        _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4), size=8
    )
    data = ctypes.create_string_buffer(24)
    syscall(_CAPSET[machine()], header, data)
