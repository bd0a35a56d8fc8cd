"""What this kernel offers to a sandbox, found out without any of the product's code.

Tests demand of the product what is found here. So a layer that the product lost fails a test, and
only a kernel without it skips one.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.engine.confine.isolation import Limits

NEWNS, NEWUTS, NEWIPC = 0x00020000, 0x04000000, 0x08000000
NEWUSER, NEWNET = 0x10000000, 0x40000000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LANDLOCK_CREATE_RULESET = 444
_MOUNT_SETATTR = 442
_ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)

libc = ctypes.CDLL(None, use_errno=True)


def in_child(action) -> bool:
    """Whether an action comes back without an error, tried in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:  # noqa: BLE001 - nothing of it may reach the test run
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _succeed(result) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _enter_namespaces() -> None:
    _succeed(libc.unshare(NEWUSER | NEWNET | NEWIPC | NEWUTS))
    _succeed(libc.sethostname(b"x", 1))


def _mount() -> None:
    user, group = os.geteuid(), os.getegid()
    _succeed(libc.unshare(NEWUSER | NEWNS))
    for name, line in (("setgroups", "deny"), ("uid_map", user), ("gid_map", group)):
        Path("/proc/self", name).write_text(line if isinstance(line, str) else f"{line} {line} 1")
    _succeed(libc.mount(b"none", b"/", None, ctypes.c_ulong(0x44000), None))
    _succeed(libc.mount(b"tmpfs", b"/usr", b"tmpfs", ctypes.c_ulong(0), b"size=1m"))
    Path("/usr/old").mkdir()
    number = {"x86_64": 155, "aarch64": 41}[platform.machine()]
    _succeed(libc.syscall(ctypes.c_long(number), b"/usr", b"/usr/old"))
    attributes = struct.pack("<QQQQ", 1, 0, 0, 0)
    _succeed(libc.syscall(ctypes.c_long(_MOUNT_SETATTR), -100, b"/", 0, attributes, 32))


def landlock_version() -> int:
    """The version of landlock's interface; 0 where the kernel has none."""
    return max(0, libc.syscall(ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, 0, 1))


def _filter() -> None:
    code = ctypes.create_string_buffer(_ALLOW_ALL, len(_ALLOW_ALL))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(code)))
    _succeed(libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), 0, 0, 0))
    filtering = (ctypes.c_ulong(_FILTER), ctypes.c_void_p(ctypes.addressof(header)), 0, 0)
    _succeed(libc.prctl(_SET_SECCOMP, *filtering))


@functools.cache
def offered() -> frozenset[str]:
    """The layers of isolation that this kernel offers, by the product's names for them."""
    layers = {
        "rlimits": True,
        "namespaces": in_child(_enter_namespaces),
        "mounts": in_child(_mount),
        "landlock": landlock_version() > 0,
        "seccomp": in_child(_filter),
    }
    return frozenset(name for name, is_offered in layers.items() if is_offered)


def with_room(limits: Limits) -> Limits:
    """The same limits for a child forked from the test run, whose address space it begins with."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return replace(limits, memory_bytes=limits.memory_bytes + pages * os.sysconf("SC_PAGE_SIZE"))
