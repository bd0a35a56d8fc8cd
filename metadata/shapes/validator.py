"""Asking the process that holds pySHACL: one graph at a time, within limits, from any thread.

rdflib and pySHACL are never loaded here. Any failure of the other process becomes an answer or
ShapesUnavailableError, and the next question gets a fresh process.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from metadata.rdf import vocabulary
from metadata.rdf.vocabulary import Shapes, ShapesUnavailableError
from registry.core.child_processes import Child, LostError
from runners.engine.confine.isolation import Limits

_LIMITS = Limits(wall_seconds=15, cpu_seconds=10, memory_bytes=3 << 30, output_bytes=16 << 20)
# Shorter than the lease of a delivery. The first request also waits for the
# libraries to load and for the shapes to be read.
_PATIENCE_SECONDS = 25.0
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


def _findings(answer: Any) -> Iterator[Finding]:
    rows = answer.get("found") if isinstance(answer, dict) else None
    for row in rows if isinstance(rows, list) else ():
        wanted = {str(name): str(value) for name, value in dict(row["wanted"]).items()}
        texts = {name: str(row[name]) for name in Finding.__slots__ if name != "wanted"}
        yield Finding(**texts, wanted=wanted)


_lock = threading.Lock()
_server: Child | None = None
_owner = 0


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the server; one that has ended, for example after a long idle time, is replaced."""
    global _server, _owner
    line = json.dumps(request).encode("ascii") + b"\n"
    with _lock:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for remaining in reversed(range(_TRIES)):
            if _server is None or _owner != os.getpid() or not _server.is_alive():
                stop()
                try:
                    _server, _owner = Child("metadata.shapes", "", {}), os.getpid()
                except OSError as error:
                    raise ShapesUnavailableError(
                        f"The validator does not start: {error}."
                    ) from error
            try:
                _server.write(line, deadline)
                answer: dict[str, Any] = json.loads(_server.frame(deadline)[1])
            except (LostError, OSError) as error:
                stop()
                if not remaining:
                    is_late = isinstance(error, TimeoutError)
                    ending = "did not answer in time" if is_late else "ended during its work"
                    raise ShapesUnavailableError(f"The validator {ending}.") from error
            else:
                return answer
    raise AssertionError  # pragma: no cover - the loop above answers or raises


def stop() -> None:
    """End the server, if one runs; the next question starts another.

    A forked copy of this process has the pipes of the original: it neither uses nor ends those.
    """
    global _server  # noqa: PLW0603 - one server a process
    if _server is not None and _owner == os.getpid():
        _server.kill()  # its children ask the kernel to be ended with it
    _server = None
