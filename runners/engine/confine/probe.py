"""Finds out, once at start, which layers of isolation this machine really has.

Each layer is worn by a child of its own that then tries what the layer must refuse. What is not
seen to hold is not counted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runners.engine.confine import children, isolation, kernel
from runners.engine.confine.children import EndingKind
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.reports import IsolationLevel

_GIB = 1 << 30
_LIMITS = Limits(wall_seconds=20, cpu_seconds=10, memory_bytes=4 * _GIB, output_bytes=1 << 16)
_NAMESPACES = ("user", "net", "ipc", "uts")
_NOWHERE = ("192.0.2.1", 9)
# What landlock answers, and a mount namespace around it.
_UNREACHABLE = (PermissionError, FileNotFoundError)
_INVISIBLE = tuple(Path(path) for path in ("/etc/passwd", "/proc/1", "/proc/self/environ"))


def probe() -> IsolationLevel:
    """Which layers hold on this machine, and why the others do not."""
    layers: dict[str, bool] = {}
    details: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="hub-probe-") as folder:
        canary = Path(folder) / "canary"
        canary.write_text("not yours", encoding="ascii")
        for layer, task in _tasks(_spaces(), canary, os.getpid()).items():
            failures = _wearing(frozenset({layer}), task)
            layers[layer] = not failures
            if failures:
                details[layer] = "; ".join(failures)
    return IsolationLevel(**layers, details=details)


def self_test(layers: frozenset[str], task: Callable[[], Any]) -> str:
    """Run honest work under all the layers found; gives what went wrong, or nothing."""
    ending = children.run(task, Confinement(layers, _LIMITS), children.Stop())
    if ending.kind == EndingKind.ANSWERED:
        return ""
    return f"{ending.kind} {ending.answer or ''} {ending.detail}".strip()


def prepare(arguments: dict[str, Any]) -> None:
    """Need nothing before the confinement (see `fresh`)."""
    del arguments


def work(arguments: dict[str, Any], _: None) -> list[str]:
    """Try, in a program of its own, what the layers it wears must refuse; gives what was not."""
    tasks = _tasks(arguments["spaces"], Path(arguments["canary"]), arguments["server"])
    return [failure for layer in arguments["layers"] for failure in tasks[layer]()]


def _tasks(spaces: dict[str, str], canary: Path, server: int) -> dict[str, Callable[[], list[str]]]:
    """What tries to do what each layer must refuse."""
    return {
        isolation.RLIMITS: _try_limits,
        isolation.NAMESPACES: lambda: _try_namespaces(spaces),
        isolation.MOUNTS: lambda: _try_view(canary),
        isolation.LANDLOCK: lambda: _try_files(canary),
        isolation.SECCOMP: lambda: _try_calls(server),
    }


def _wearing(layers: frozenset[str], task: Callable[[], list[str]]) -> list[str]:
    ending = children.run(task, Confinement(layers, _LIMITS), children.Stop())
    if ending.kind == EndingKind.ANSWERED and isinstance(ending.answer, list):
        return [str(failure) for failure in ending.answer]
    return [f"{ending.kind}: {ending.detail or ending.answer}"]


def _allowed(what: str, action: Callable[[], Any], *refusals: type[BaseException]) -> list[str]:
    try:
        action()
    except refusals:
        return []
    return [f"{what} was not refused"]


def _try_limits() -> list[str]:
    failures = _allowed("too much memory", lambda: bytearray(5 * _GIB), MemoryError)
    handles: list[int] = []
    try:
        while len(handles) < 2 * isolation.OPEN_FILES:
            handles.append(os.open(os.devnull, os.O_RDONLY))
        failures.append("too many open files were not refused")
    except OSError as error:
        if error.errno != errno.EMFILE:
            failures.append("open files are limited by something else")
    finally:
        for handle in handles:
            os.close(handle)
    if resource.getrlimit(resource.RLIMIT_CPU)[0] != _LIMITS.cpu_seconds:
        failures.append("the CPU limit was not taken")
    return failures


def _spaces() -> dict[str, str]:
    """Name this process's namespaces; none where mounts hide them."""
    links = {name: Path(f"/proc/self/ns/{name}") for name in _NAMESPACES}
    return {name: str(link.readlink()) for name, link in links.items() if link.is_symlink()}


def _try_namespaces(outside: dict[str, str]) -> list[str]:
    inside = _spaces()
    failures = [
        f"the {name} namespace is shared" for name in inside if inside[name] == outside[name]
    ]
    if os.uname().nodename != isolation.HOSTNAME:
        failures.append("the host's name is visible")

    def reach_out() -> None:
        # A datagram socket only looks for a route: nothing is sent.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outlet:
            outlet.connect(_NOWHERE)

    return failures + _allowed("a route to the network", reach_out, OSError)


def _try_view(canary: Path) -> list[str]:
    failures = [
        f"{path} is visible" for path in (canary, canary.parent, *_INVISIBLE) if path.exists()
    ]
    try:
        Path("/new").mkdir()
    except OSError:
        pass
    else:
        failures.append("making a folder in the root was not refused")
    if not Path(__file__).is_file():
        failures.append("the engine's own files cannot be seen")
    return failures


def _try_files(canary: Path) -> list[str]:
    failures = _allowed("reading a file", canary.read_bytes, *_UNREACHABLE)
    failures += _allowed("writing a file", lambda: canary.write_text("x"), *_UNREACHABLE)
    failures += _allowed("listing a folder", lambda: list(Path("/").iterdir()), *_UNREACHABLE)
    new = canary.with_name("new")
    failures += _allowed("making a file", lambda: new.write_text("x"), *_UNREACHABLE)
    try:
        Path(__file__).read_bytes()
    except OSError:
        failures.append("the engine's own files cannot be read")
    return failures


def _try_calls(server: int) -> list[str]:
    def fork() -> None:
        if os.fork() == 0:
            os._exit(0)

    def execute() -> None:
        os.execv("/bin/true", ["true"])  # noqa: S606 - it is refused, or this layer is not counted

    failures = _allowed("a socket", socket.socket, PermissionError)
    failures += _allowed("a new process", fork, PermissionError)
    failures += _allowed("a program", execute, PermissionError)
    failures += _allowed("a signal to the server", lambda: os.kill(server, 0), PermissionError)
    failures += _allowed("a change of mode", lambda: Path("/").chmod(0o755), PermissionError)
    failures += _allowed(
        "a namespace", lambda: kernel.unshare(kernel.CLONE_NEWUSER), PermissionError
    )
    failures += _allowed("tracing", _trace, PermissionError)
    worker = threading.Thread(target=int)
    worker.start()
    worker.join()
    return failures


def _trace() -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(0, 0, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
