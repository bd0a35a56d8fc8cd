"""Processes that compute queries: started when needed, killed when one takes too much.

A query is never asked to stop: no engine here can. Its process is ended and another takes its
place. A result is taken in whole before anybody sees its first byte, so every failure has a status,
and a slow reader keeps no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import structlog
from django.conf import settings

from hub.protocol import problems
from metadata.sparql import tasks
from metadata.sparql.complaints import syntax_problem
from metadata.sparql.worker import DATA, DONE, FAILED, HEADER, READY
from runners.sandbox import IsolationLevel

if TYPE_CHECKING:
    from metadata.sparql.tasks import IsGone, Task

log = structlog.get_logger(__name__)

_LEVELS = ("none", "limits", "partial", "full")
_START_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_CHUNK = 1 << 16
# Who takes longer than this goes behind everybody else, and is replaced afterwards.
_QUICK_SECONDS = 1.0
_LOW_PRIORITY = 15
# A process that has held so much is replaced, so that it does not keep it.
_FAT_BYTES = 1 << 29


class _EndedError(Exception):
    """The process ended, or does not answer as it should."""


class Pool:
    """The processes of this web process, on the copies in ``snapshots``."""

    def __init__(self, snapshots: Path) -> None:
        self._snapshots = snapshots
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        self._layers: list[str] | None = None
        # The kernel ends a process with the thread that started it: this one stays.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sparql-starter")

    def run(self, task: Task, is_gone: IsGone) -> IO[bytes]:
        """Compute one query.

        Raises QueryInvalid, QueryTooCostly, QueryTimeout, Unavailable, InvalidRequest when the
        client went away, and SnapshotGoneError.
        """
        process = self._take()
        result = tasks.new_result()
        try:
            process.run(task, result, is_gone)
        except BaseException:
            result.close()
            raise
        finally:
            self._give_back(process)
        result.seek(0)
        return result

    def close(self) -> None:
        """End every process that waits."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()
        self._starter.shutdown()

    def _take(self) -> _Process:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_alive():
                    return process
                process.kill()
        return self._starter.submit(self._start).result()

    def _start(self) -> _Process:
        try:
            process = _Process(self._snapshots, self._layers)
        except (OSError, _EndedError) as error:
            log.exception("query_process_failed", error=str(error))
            raise problems.Unavailable(
                "No query process can be started; the operator's log says why.", retry_after=10
            ) from None
        self._layers = process.layers
        _refuse_weak(process)
        return process

    def _give_back(self, process: _Process) -> None:
        if process.is_fit:
            with self._lock:
                self._idle.append(process)
            return
        process.kill()
        with contextlib.suppress(RuntimeError):  # the pool is being closed
            self._starter.submit(self._start_ahead)

    def _start_ahead(self) -> None:
        with contextlib.suppress(problems.Unavailable):
            process = self._start()
            with self._lock:
                self._idle.append(process)


def _refuse_weak(process: _Process) -> None:
    held: dict[str, Any] = dict.fromkeys(process.layers, True)
    level = IsolationLevel(**held)
    if _LEVELS.index(level.name) < _LEVELS.index(settings.HUB_SANDBOX_REQUIRED):
        process.kill()
        log.error("query_process_weak", level=level.name)
        raise problems.Unavailable(
            f"Queries are off: their processes reach the isolation level {level.name}, and "
            f"HUB_SANDBOX_REQUIRED asks for {settings.HUB_SANDBOX_REQUIRED}.",
            retry_after=300,
        )


class _Process:
    """One query process and the pipes to it. `is_fit` tells whether it may answer another."""

    def __init__(self, snapshots: Path, layers: list[str] | None) -> None:
        told = {
            "parent": os.getpid(),
            "snapshots": str(snapshots),
            "memory_bytes": settings.HUB_SPARQL_BYTES,
            "layers": layers,
        }
        self._child = subprocess.Popen(
            [sys.executable, "-s", "-P", "-m", "metadata.sparql.worker", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            bufsize=0,
        )
        self._pending = bytearray()
        self.is_fit = True
        try:
            told = self._expect(READY, time.monotonic() + _START_SECONDS)
        except BaseException:
            self.kill()
            raise
        self.layers: list[str] = told["layers"]

    def is_alive(self) -> bool:
        return self._child.poll() is None

    def run(self, task: Task, result: IO[bytes], is_gone: IsGone) -> None:
        """Have a task computed into ``result``; see Pool.run."""
        self.is_fit = False
        began = time.monotonic()
        try:
            self._ask(task)
            told = self._collect(result, began, began + task.seconds, is_gone)
        except TimeoutError:
            raise tasks.too_slow(task.seconds) from None
        except (_EndedError, OSError):
            raise self._ending(task) from None
        quick = time.monotonic() - began < _QUICK_SECONDS
        self.is_fit = quick and told.get("peak_bytes", 0) < _FAT_BYTES
        if "kind" in told:
            _fail(told, task)

    def _collect(
        self, result: IO[bytes], began: float, until: float, is_gone: IsGone
    ) -> dict[str, Any]:
        """Take in the result; gives what the process says of its end."""
        while True:
            kind, payload = self._frame(until, is_gone, began)
            if kind != DATA:
                return _words_of(kind, payload)
            result.write(payload)

    def _expect(self, wanted: bytes, until: float) -> dict[str, Any]:
        kind, payload = self._frame(until)
        if kind != wanted:
            raise _EndedError("it did not get ready")
        found: dict[str, Any] = json.loads(payload)
        return found

    def kill(self) -> None:
        """End the process, whatever it does."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._child.kill()
        self._child.wait()

    def _ask(self, task: Task) -> None:
        told = {
            "query": task.query,
            "format": task.format,
            "default_graphs": task.default_graphs,
            "named_graphs": task.named_graphs,
            "union": task.union,
            "snapshot": task.snapshot,
            "seconds": task.seconds,
            "result_bytes": task.result_bytes,
            "base": f"{settings.HUB_PUBLIC_URL}/",
        }
        view = memoryview(json.dumps(told).encode("ascii") + b"\n")
        stdin = self._child.stdin
        while stdin is not None and view:
            view = view[stdin.write(view) or 0 :]

    def _frame(
        self, until: float, is_gone: IsGone | None = None, began: float = 0.0
    ) -> tuple[bytes, bytes]:
        """The next frame; raises TimeoutError, _EndedError, and what a lost client raises."""
        while True:
            if len(self._pending) >= HEADER.size:
                kind, length = HEADER.unpack_from(self._pending)
                end = HEADER.size + length
                if len(self._pending) >= end:
                    payload = bytes(self._pending[HEADER.size : end])
                    del self._pending[:end]
                    return kind, payload
            self._take_in(until, is_gone, began)

    def _take_in(self, until: float, is_gone: IsGone | None, began: float) -> None:
        stdout = self._child.stdout
        if stdout is None:
            raise _EndedError("it has no output")
        now = time.monotonic()
        if now >= until:
            raise TimeoutError
        ready, _, _ = select.select([stdout], [], [], min(_LOOK_SECONDS, until - now))
        if ready:
            chunk = os.read(stdout.fileno(), _CHUNK)
            if not chunk:
                raise _EndedError("it ended")
            self._pending += chunk
            return
        if is_gone is not None:
            if is_gone():
                raise tasks.gone()
            if now - began > _QUICK_SECONDS:
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, self._child.pid, _LOW_PRIORITY)

    def _ending(self, task: Task) -> problems.Problem:
        """What the end of the process says about the query."""
        try:
            code = self._child.wait(1)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGXCPU:
            return tasks.too_slow(task.seconds)
        if code == -signal.SIGSEGV:
            return problems.QueryTooCostly(
                "The query is too deep to be computed: nest less, or shorten its longest chain of "
                "operators."
            )
        if code in (-signal.SIGABRT, -signal.SIGKILL):
            return _no_memory()
        log.error("query_process_lost", code=code)
        return problems.Unavailable("The query process was lost; ask again.", retry_after=1)


def _words_of(kind: bytes, payload: bytes) -> dict[str, Any]:
    if kind not in (DONE, FAILED):
        raise _EndedError("it answered something unreadable")
    found: dict[str, Any] = json.loads(payload)
    return found


def _fail(told: dict[str, Any], task: Task) -> NoReturn:
    kind, detail = told["kind"], told["detail"]
    if kind == "gone":
        raise tasks.SnapshotGoneError(detail)
    if kind == "syntax":
        raise syntax_problem(detail, task.query)
    if kind == "memory":
        raise _no_memory()
    if kind == "large":
        raise tasks.too_large(task.result_bytes)
    if "custom function" in detail:
        raise problems.QueryInvalid(f"{detail[:300]}. The functions of SPARQL 1.1 are there.")
    log.error("query_failed", detail=detail)
    raise problems.QueryTooCostly(f"The engine could not compute the query: {detail[:300]}")


def _no_memory() -> problems.QueryTooCostly:
    return problems.QueryTooCostly(
        f"The query needs more memory than the {settings.HUB_SPARQL_BYTES} bytes it may "
        "take. Sorting, DISTINCT, GROUP BY and products of patterns without a common variable do; "
        "bind more terms or add LIMIT in a subquery."
    )


def _environment() -> dict[str, str]:
    """A query process's whole environment: nothing of the hub's own, secrets least of all."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
        # Every arena of glibc's is 64 MiB of the addresses that the query may have.
        "MALLOC_ARENA_MAX": "2",
    }
