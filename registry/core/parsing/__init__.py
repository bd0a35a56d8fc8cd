"""Reading untrusted texts without stopping the hub: long ones in child processes with a limit.

A parser whose time is not linear holds the interpreter for as long as it runs, and with it every
other request. A short text is read at once, in the thread that asks; a long one is sent to one of a
few children, which is killed when the limit is over.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.conf import settings

from hub.protocol import problems
from registry.core import child_processes
from registry.core.child_processes import DONE, LostError, PooledChild
from registry.core.concurrency import Places

log = structlog.get_logger(__name__)

# What is shorter is read in the thread that asks: its square is still little.
SHORT_CHARACTERS = 4_000
WAITING = 4
WAIT_SECONDS = 2.0
# Processor time is limited in the child. A machine that is busy gets this many times as long.
_PATIENCE = 4

_Result = TypeVar("_Result")


def run(
    function: Callable[..., _Result], *arguments: Any, short: int = SHORT_CHARACTERS
) -> _Result:
    """Call a function of a module with arguments that JSON can hold; its result is such, too.

    Arguments of up to ``short`` characters, as JSON, are read in this thread. Raises what of
    `Problem` the function raises, TextTooCostly where it takes more than HUB_TEXT_SECONDS or
    HUB_TEXT_BYTES, and Unavailable where every child is busy.
    """
    written = json.dumps(arguments)
    if len(written) <= short:
        return function(*arguments)
    # Children belong to the process that started them, also if it is copied.
    with _lock:
        parsers = _parsers.get(os.getpid())
        if parsers is None:
            parsers = _parsers[os.getpid()] = Parsers()
            atexit.register(parsers.close)
    result: _Result = parsers.run(function, written)
    return result


class Parsers:
    """The children of this web process; a few callers wait for one, others are refused."""

    def __init__(self) -> None:
        count = settings.HUB_TEXT_PROCESSES
        self._places = Places(count, waiting=WAITING, wait_seconds=WAIT_SECONDS, refusal=_busy)
        self._pool = child_processes.Pool(_Parser, "parser-starter")

    def run(self, function: Callable[..., Any], arguments: str) -> Any:
        """Call a function in a child; ``arguments`` are a list as JSON. See `parsing.run`."""
        name = f"{function.__module__}:{function.__qualname__}"
        task = f'["{name}", {arguments}, {settings.HUB_TEXT_SECONDS}]\n'
        with self._places.hold():
            try:
                parser = self._pool.take()
            except (OSError, LostError, TimeoutError) as error:
                log.exception("parser_failed", error=str(error))
                raise problems.Unavailable(
                    "The text parser cannot be started. The operator finds the cause in the log.",
                    retry_after=10,
                ) from None
            try:
                return parser.run(task.encode("ascii"))
            finally:
                self._pool.give_back(parser)

    def close(self) -> None:
        """End every child that waits."""
        self._pool.close()


class _Parser(PooledChild):
    """One child that reads texts."""

    def __init__(self) -> None:
        super().__init__("registry.core.parsing.child", str(settings.HUB_TEXT_BYTES), {})

    def run(self, task: bytes) -> Any:
        self.is_fit = False
        until = time.monotonic() + settings.HUB_TEXT_SECONDS * _PATIENCE
        try:
            self.write(task, until)
            kind, payload = self.frame(until)
        except (TimeoutError, LostError, OSError):
            raise problems.TextTooCostly(
                f"Parsing this text takes more than {settings.HUB_TEXT_SECONDS} s or "
                f"{settings.HUB_TEXT_BYTES:,} bytes of memory. Shorten the text or nest it less "
                "deeply."
            ) from None
        answer = json.loads(payload)
        self.is_fit = True
        if kind == DONE:
            return answer
        if not isinstance(answer, dict):
            log.error("parser_raised", error=answer)
            raise problems.InternalError("The text could not be parsed. Nothing was changed.")
        raise problems.Problem.from_json(answer, answer["status"])


def _busy() -> problems.Unavailable:
    return problems.Unavailable(
        "All text parsers are busy. Try again in a few seconds.", retry_after=2
    )


_lock = threading.Lock()
_parsers: dict[int, Parsers] = {}
