"""Asking the process that holds pySHACL: one graph at a time, within limits, from any thread.

rdflib and pySHACL are never loaded here. Whatever happens on the other side becomes an answer or
ShapesUnavailableError, and the next question gets a fresh process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from metadata.rdf import vocabulary
from metadata.rdf.vocabulary import ShapesUnavailableError
from runners.engine.confine.isolation import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metadata.rdf.vocabulary import Shapes

_LIMITS = Limits(wall_seconds=15, cpu_seconds=10, memory_bytes=3 << 30, output_bytes=16 << 20)
# Shorter than a delivery is kept for whoever took it. The first question also waits for the
# libraries to load and for the shapes to be read.
_PATIENCE_SECONDS = 25.0
_CHUNK = 1 << 16
_MOST_BYTES = 32 << 20
_TRIES = 2
_WORDS = {
    "timed-out": "validation took too long",
    "out-of-memory": "validation exceeded its memory limit",
    "shapes": "the shapes cannot be read",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement that a graph lacks or should not have.

    ``field`` is the field of a card that the shape names, ``wanted`` what the shape asks of the
    values; ``message`` is the shape's own sentence, empty where it has none.
    """

    focus: str
    path: str
    component: str
    value: str
    severity: str
    message: str
    field: str
    wanted: dict[str, str]


class _LostError(Exception):
    """The server ended, or sent an unreadable response."""


def validate(
    nquads: str, *, against: Literal["hub", "mldcat-ap"] | Shapes, context: str = ""
) -> list[Finding]:
    """What ``against`` has to say of a graph's own subjects; nothing where all is well.

    ``context`` are statements of other graphs (N-Quads) on what this one names, such as classes.
    Raises ShapesUnavailableError where there is no answer: the fault is the hub's.
    """
    shapes = vocabulary.shapes(against) if isinstance(against, str) else against
    request = {
        "nquads": nquads,
        "context": context,
        "shapes": shapes.turtle,
        "vocabulary": vocabulary.read("terms"),
        "limits": asdict(_LIMITS),
    }
    answer = _ask(request)
    if answer.get("kind") != "answered":
        reason = _WORDS.get(str(answer.get("kind")), str(answer.get("kind")))
        raise ShapesUnavailableError(f"{reason}. {answer.get('detail') or ''}".strip())
    return list(_findings(answer.get("answer")))


def _findings(said: Any) -> Iterator[Finding]:
    rows = said.get("found") if isinstance(said, dict) else None
    for row in rows if isinstance(rows, list) else ():
        wanted = {str(name): str(value) for name, value in dict(row["wanted"]).items()}
        texts = {name: str(row[name]) for name in Finding.__slots__ if name != "wanted"}
        yield Finding(**texts, wanted=wanted)


_lock = threading.Lock()
_server: _Server | None = None


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the server; one that has ended, as one does that nobody asked for long, is replaced."""
    global _server  # noqa: PLW0603 - one server a process, whoever asks
    with _lock:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for left in reversed(range(_TRIES)):
            try:
                if _server is None or not _server.usable():
                    stop()
                    _server = _Server()
                return _server.ask(request, deadline)
            except _LostError as error:
                stop()
                if not left:
                    raise ShapesUnavailableError(f"The validator {error}.") from error
    raise AssertionError  # pragma: no cover - the loop above answers or raises


def stop() -> None:
    """End the server, if one runs; the next question starts another."""
    global _server  # noqa: PLW0603 - one server a process
    if _server is not None:
        _server.close()
        _server = None


class _Server:
    """The fork server's process and the two pipes to it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-m", "metadata.shapes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise _LostError(f"does not start: {error}") from error

    def usable(self) -> bool:
        # A forked copy of this process shares the pipes with the original and must not use them.
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        self._send(json.dumps(request).encode("ascii") + b"\n", deadline)
        said = bytearray()
        while not said.endswith(b"\n"):
            chunk = self._receive(deadline)
            said += chunk
            if not chunk or len(said) > _MOST_BYTES:
                raise _LostError("ended during its work")
        try:
            answer = json.loads(said)
        except ValueError as error:
            raise _LostError("sent an unreadable response") from error
        return answer if isinstance(answer, dict) else {}

    def _send(self, line: bytes, deadline: float) -> None:
        stdin = self._process.stdin
        view = memoryview(line)
        while stdin is not None and view:
            # A pipe takes this much at once whenever it takes anything.
            if not select.select([], [stdin], [], max(0.0, deadline - time.monotonic()))[1]:
                raise _LostError("did not accept its work in time")
            try:
                view = view[stdin.write(view[: select.PIPE_BUF]) or 0 :]
            except OSError as error:
                raise _LostError("ended before it received its work") from error

    def _receive(self, deadline: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            return b""
        if not select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise _LostError("did not answer in time")
        return os.read(stdout.fileno(), _CHUNK)

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._owner == os.getpid():
            # Its children ask the kernel to be ended with it.
            self._process.kill()
            self._process.wait()


def _environment() -> dict[str, str]:
    """The server's whole environment: nothing of this process's own, secrets least of all."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
    }
