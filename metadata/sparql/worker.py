"""The process that computes one query at a time and may be killed at any moment.

It is a program of its own: it has no settings, no database and no secrets, reads only the copies of
the store, and cannot reach a network. `metadata.sparql.pool` starts it and ends it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyoxigraph

from metadata.sparql.copy_locks import hold
from registry.core.child_processes import DATA, DONE, FAILED, READY, send
from runners.engine.confine import isolation
from runners.engine.confine.isolation import Confinement, Limits

OPEN_FILES = 1024
_CHUNK = 1 << 16
_NICE = 5
# Processor time is limited for each query; this is for the whole life of a process.
_LIFE_SECONDS = 86_400


class _TooMuchError(Exception):
    """The result is larger than it may be."""


def main(arguments: Sequence[str]) -> None:
    """Answer the lines of standard input until it ends."""
    startup = json.loads(arguments[0])
    asking, answering = os.fdopen(os.dup(0), "rb"), os.dup(1)
    # Output of libraries must not be taken for an answer.
    os.dup2(2, 1)
    snapshots = Path(startup["snapshots"])
    limits = Limits(
        wall_seconds=0,
        cpu_seconds=_LIFE_SECONDS,
        memory_bytes=_mapped_bytes() + startup["memory_bytes"],
        output_bytes=0,
        open_files=OPEN_FILES,
    )
    os.nice(_NICE)
    layers = startup["layers"]
    if layers is None:
        layers = [name for name in isolation.LAYERS if _holds(name, limits, snapshots)]
    isolation.apply(
        Confinement(frozenset(layers), limits, readable=(snapshots,)), startup["parent"]
    )
    send(answering, READY, json.dumps({"layers": layers}).encode())
    _serve(asking, answering, snapshots)


def _mapped_bytes() -> int:
    """The addresses that this process has before it reads a query."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 1 << 28
    return pages * resource.getpagesize()


def _holds(layer: str, limits: Limits, snapshots: Path) -> bool:
    """Whether this machine has a layer: a child tries it on."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            isolation.apply(Confinement(frozenset({layer}), limits, (snapshots,)), parent)
        except BaseException:  # noqa: BLE001 - whatever is wrong with it, it does not hold
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _serve(asking: BinaryIO, answering: int, snapshots: Path) -> None:
    opened = _Opened(snapshots)
    for line in asking:
        task = json.loads(line)
        try:
            _limit_time(task["seconds"])
            store = opened.store(task["snapshot"])
            _answer(store, task, _Output(answering, task["result_bytes"]))
        except BaseException as error:  # noqa: BLE001 - an engine's panic is a BaseException
            send(answering, FAILED, json.dumps(_words(error)).encode())
        else:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            send(answering, DONE, json.dumps({"peak_bytes": peak}).encode())


def _words(error: BaseException) -> dict[str, str]:
    kinds: list[tuple[type[BaseException], str]] = [
        (SyntaxError, "syntax"),
        (MemoryError, "memory"),
        (_TooMuchError, "large"),
        (FileNotFoundError, "gone"),
    ]
    kind = next((name for cls, name in kinds if isinstance(error, cls)), "failed")
    return {"kind": kind, "detail": str(error)[:4000]}


def _limit_time(seconds: float) -> None:
    """A second fence, should the process that watches this one be gone or stopped."""
    soft = int(time.process_time() + seconds) + 3
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))


class _Opened:
    """The copy that is open, and the lock that keeps it."""

    def __init__(self, snapshots: Path) -> None:
        self._snapshots = snapshots
        self._name = ""
        self._lock = -1
        self._store: pyoxigraph.Store | None = None

    def store(self, name: str) -> pyoxigraph.Store:
        """The copy of this name, opened if it is another than before."""
        if self._store is None or name != self._name:
            self._store, self._name = None, ""
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1
            self._lock = hold(self._snapshots, name)
            self._store = pyoxigraph.Store.read_only(str(self._snapshots / name))
            self._name = name
        return self._store


class _Output:
    """Takes what the engine writes and sends it on in pieces, up to a number of bytes."""

    def __init__(self, handle: int, most_bytes: int) -> None:
        self._handle = handle
        self._left = most_bytes
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        self._left -= len(data)
        if self._left < 0:
            raise _TooMuchError
        self._waiting += data
        if len(self._waiting) >= _CHUNK:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._waiting:
            send(self._handle, DATA, bytes(self._waiting))
            self._waiting.clear()

    def close(self) -> None:
        self.flush()


def _answer(store: pyoxigraph.Store, task: dict[str, Any], output: _Output) -> None:
    named = [pyoxigraph.NamedNode(iri) for iri in task["named_graphs"]]
    default = [pyoxigraph.NamedNode(iri) for iri in task["default_graphs"]]
    dataset: dict[str, Any] = {}
    if task["union"]:
        dataset["use_default_graph_as_union"] = True
    elif named or default:
        # What a request names is the whole data set: a part that it leaves out is empty.
        dataset = {"default_graph": default, "named_graphs": named}
    answer: Any = output
    result = store.query(task["query"], base_iri=task["base"], **dataset)
    kind = task["media_type"]
    if isinstance(result, pyoxigraph.QueryTriples):
        result.serialize(answer, format=pyoxigraph.RdfFormat.from_media_type(kind))
    else:
        result.serialize(answer, format=pyoxigraph.QueryResultsFormat.from_media_type(kind))
    output.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
