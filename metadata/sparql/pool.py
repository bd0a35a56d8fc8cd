"""Processes that compute queries: started when needed, killed when one takes too much.

A query is never asked to stop: no engine here can. Its process is ended and another takes its
place. A result is complete before its first byte is sent, so every failure has a status,
and a slow reader keeps no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import structlog
from django.conf import settings

from hub.protocol import problems
from metadata.sparql import tasks
from metadata.sparql.error_messages import syntax_problem
from metadata.sparql.tasks import IsGone, Task
from registry.core import child_processes
from registry.core.child_processes import DATA, DONE, FAILED, LostError, PooledChild
from runners.engine.reports import IsolationLevel

log = structlog.get_logger(__name__)

_LEVELS = ("none", "limits", "partial", "full")
# A process that takes longer gets a lower priority, and is replaced afterwards.
_QUICK_SECONDS = 1.0
_LOW_PRIORITY = 15
# A process that has held so much is replaced, so that it does not keep it.
_FAT_BYTES = 1 << 29


class Pool:
    """The processes of this web process, on the copies in ``snapshots``."""

    def __init__(self, snapshots: Path) -> None:
        self._snapshots = snapshots
        self._layers: list[str] | None = None
        self._processes = child_processes.Pool(self._start, "sparql-starter")

    def run(self, task: Task, is_gone: IsGone) -> IO[bytes]:
        """Compute one query.

        Raises QueryInvalid, QueryTooCostly, QueryTimeout, Unavailable, InvalidRequest when the
        client went away, and SnapshotGoneError.
        """
        process = self._processes.take()
        result = tasks.new_result()
        try:
            process.run(task, result, is_gone)
        except BaseException:
            result.close()
            raise
        finally:
            self._processes.give_back(process)
        result.seek(0)
        return result

    def close(self) -> None:
        """End every process that waits."""
        self._processes.close()

    def _start(self) -> _Process:
        try:
            process = _Process(self._snapshots, self._layers)
        except (OSError, LostError, TimeoutError) as error:
            log.exception("query_process_failed", error=str(error))
            raise problems.Unavailable(
                "The query process cannot be started. The operator finds the cause in the log.",
                retry_after=10,
            ) from None
        self._layers = process.layers
        _refuse_weak(process)
        return process


def _refuse_weak(process: _Process) -> None:
    layers: dict[str, Any] = dict.fromkeys(process.layers, True)
    level = IsolationLevel(**layers)
    if _LEVELS.index(level.name) < _LEVELS.index(settings.HUB_SANDBOX_REQUIRED):
        process.kill()
        log.error("query_process_weak", level=level.name)
        raise problems.Unavailable(
            f"Queries are disabled: query processes reach isolation level {level.name}, but "
            f"HUB_SANDBOX_REQUIRED is {settings.HUB_SANDBOX_REQUIRED}.",
            retry_after=300,
        )


@dataclass(frozen=True, slots=True)
class _Ending:
    """The last message of a process: what memory it has held, or what is wrong with the query."""

    peak_bytes: int = 0
    kind: str = ""
    detail: str = ""


class _Process(PooledChild):
    """One query process."""

    def __init__(self, snapshots: Path, layers: list[str] | None) -> None:
        arguments = {
            "parent": os.getpid(),
            "snapshots": str(snapshots),
            "memory_bytes": settings.HUB_SPARQL_BYTES,
            "layers": layers,
        }
        # Every arena of glibc's is 64 MiB of the addresses that the query may have.
        super().__init__("metadata.sparql.worker", json.dumps(arguments), {"MALLOC_ARENA_MAX": "2"})
        self.layers: list[str] = json.loads(self.greeting)["layers"]

    def run(self, task: Task, result: IO[bytes], is_gone: IsGone) -> None:
        """Have a task computed into ``result``; see Pool.run."""
        self.is_fit = False
        began = time.monotonic()
        until = began + task.seconds
        try:
            question = asdict(task) | {"base": f"{settings.HUB_PUBLIC_URL}/"}
            self.write(json.dumps(question).encode("ascii") + b"\n", until)
            ending = self._collect(result, began, until, is_gone)
        except TimeoutError:
            raise tasks.too_slow(task.seconds) from None
        except (LostError, OSError):
            raise self._ending(task) from None
        quick = time.monotonic() - began < _QUICK_SECONDS
        self.is_fit = quick and ending.peak_bytes < _FAT_BYTES
        if ending.kind:
            _fail(ending, task)

    def _collect(self, result: IO[bytes], began: float, until: float, is_gone: IsGone) -> _Ending:
        """Receive the result; return the final message of the process."""

        def watch() -> None:
            if is_gone():
                raise tasks.gone()
            if time.monotonic() - began > _QUICK_SECONDS:
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, self.pid, _LOW_PRIORITY)

        while True:
            kind, payload = self.frame(until, watch)
            if kind in (DONE, FAILED):
                return _Ending(**json.loads(payload))
            if kind != DATA:
                raise LostError("it returned an unreadable response")
            result.write(payload)

    def _ending(self, task: Task) -> problems.Problem:
        """What the end of the process says about the query."""
        code = self.exit_status()
        if code == -signal.SIGXCPU:
            return tasks.too_slow(task.seconds)
        if code == -signal.SIGSEGV:
            return problems.QueryTooCostly(
                "The query is nested too deeply. Nest it less, or shorten its longest chain of "
                "operators."
            )
        if code in (-signal.SIGABRT, -signal.SIGKILL):
            return _no_memory()
        log.error("query_process_lost", code=code)
        return problems.Unavailable("The query process was lost. Try again.", retry_after=1)


def _fail(ending: _Ending, task: Task) -> NoReturn:
    kind, detail = ending.kind, ending.detail
    if kind == "gone":
        raise tasks.SnapshotGoneError(detail)
    if kind == "syntax":
        raise syntax_problem(detail, task.query)
    if kind == "memory":
        raise _no_memory()
    if kind == "large":
        raise tasks.too_large(task.result_bytes)
    if "custom function" in detail:
        raise problems.QueryInvalid(
            f"{detail[:300]}. Only the functions of SPARQL 1.1 are available."
        )
    log.error("query_failed", detail=detail)
    raise problems.QueryTooCostly(f"The engine could not compute the query: {detail[:300]}")


def _no_memory() -> problems.QueryTooCostly:
    return problems.QueryTooCostly(
        f"The query needs more memory than the {settings.HUB_SPARQL_BYTES} bytes it may use. "
        "Sorting, DISTINCT, GROUP BY and patterns without a common variable need a lot; bind "
        "more terms or add LIMIT in a subquery."
    )
