"""One forked child per stage: given a task, confined, watched, and ended as a group.

A child is never used twice. Whatever happens to it becomes an Ending; its answer is read as data,
up to a cap, and believed only in shape.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from runners.engine.confine import isolation
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.confine.scratch import Excess, Meter
from runners.engine.onnx_files import text


class EndingKind(StrEnum):
    """How a child ended."""

    ANSWERED = "answered"
    RAISED = "raised"
    SIGNALLED = "signalled"
    KILLED = "killed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    FLOODED = "flooded"
    SCRATCH_EXCEEDED = "scratch-exceeded"
    STOPPED = "stopped"
    SILENT = "silent"
    UNCONFINED = "unconfined"


_CHUNK = 1 << 16
_STDERR_KEPT = 4096
_TICK_SECONDS = 0.05
# Its pipes are closed: it is about to end.
_ENDING_SECONDS = 0.002
# The first byte of every answer: whoever says it has put on every layer.
_CONFINED = b"+"
ANSWER, SOURCE = 3, 4
_MEMORY_WORDS = ("bad_alloc", "MemoryError", "memory allocation of", "Failed to allocate memory")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended; `answer` is what the task returned, or what it raised: class and text.

    For `EndingKind.SCRATCH_EXCEEDED` it says what was too much, "bytes" or "files".
    """

    kind: EndingKind
    answer: Any = None
    detail: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Stop:
    """What the worker says of a job that runs; a selectable file descriptor wakes the watcher."""

    def fileno(self) -> int | None:
        return None

    def requested(self) -> bool:
        """Whether the job was cancelled."""
        return False

    def urgent_since(self, moment: float) -> bool:
        """Whether urgent work ran beside the job since ``moment`` (monotonic clock, seconds)."""
        del moment
        return False


def run(
    task: Callable[[], Any], confinement: Confinement, stop: Stop, *, keep: int | None = None
) -> Ending:
    """Run the task in a child and wait for its end; `keep` is an open file it may read from.

    The task must return what JSON can say, or a dataclass of it, which becomes an object. An
    exception of it becomes `EndingKind.RAISED`.
    """
    server = os.getpid()
    isolation.interpreter_places()  # looked up once, and inherited by every child

    def be(answer: int, words: int) -> NoReturn:
        try:
            _forget_the_server(answer, words, keep)
        except BaseException:  # noqa: BLE001 - nothing may climb into the server's own frames
            os._exit(70)
        answer_as_child(task, confinement, server)

    return _watched(be, confinement, stop)


def run_program(
    arguments: list[str],
    environment: dict[str, str],
    order: int,
    confinement: Confinement,
    stop: Stop,
) -> Ending:
    """Run a program in a child that shares no memory with this process, and wait for its end.

    It finds the open file `order` as SOURCE, must end in `answer_as_child`, which confines it, and
    is watched as any other child.
    """

    def be(answer: int, words: int) -> NoReturn:
        try:
            _forget_the_server(answer, words, order)
            for handle in range(SOURCE + 1):
                os.set_inheritable(handle, True)
            os.execve(arguments[0], arguments, environment)  # noqa: S606 - our own interpreter
        finally:
            os._exit(70)

    return _watched(be, confinement, stop)


def _watched(be: Callable[[int, int], NoReturn], confinement: Confinement, stop: Stop) -> Ending:
    answer_in, answer_out = os.pipe()
    words_in, words_out = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        be(answer_out, words_out)
    os.close(answer_out)
    os.close(words_out)
    limits = confinement.limits
    meter = Meter(pid, confinement.writable, limits)
    watch = _Watch(pid, answer_in, words_in, limits, stop, started, meter)
    try:
        return watch.until_the_end()
    finally:
        os.close(answer_in)
        os.close(words_in)


def _forget_the_server(answer_out: int, words_out: int, keep: int | None) -> None:
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    _hold_only(answer_out, words_out, keep)


def answer_as_child(task: Callable[[], Any], confinement: Confinement, server: int) -> NoReturn:
    """Confine this process, do the task, answer and end. The files 0 to 4 must be arranged."""
    status = 70
    try:
        isolation.apply(confinement, server)
        os.write(ANSWER, _CONFINED)
        _answer(task)
        status = 0
    except BaseException as error:  # noqa: BLE001 - nothing may climb into the server's own frames
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}"[:1000].encode("utf-8", "replace"))
    finally:
        os._exit(status)


def _hold_only(answer_out: int, words_out: int, keep: int | None) -> None:
    """Arrange the only open files: 0 nothing, 1 and 2 captured words, 3 the answer, 4 the input."""
    # Moved out of the way first, so that no dup2 below overwrites one still needed.
    high = [os.dup(answer_out), os.dup(words_out), os.open(os.devnull, os.O_RDONLY)]
    high.append(os.dup(high[2] if keep is None else keep))
    base = max(*high, 8) + 1
    for place, handle in enumerate(high, base):
        os.dup2(handle, place, inheritable=False)
    answer, words, nothing, source = range(base, base + 4)
    for number, handle in ((0, nothing), (1, words), (2, words), (3, answer), (4, source)):
        os.dup2(handle, number, inheritable=False)
    os.closerange(5, os.sysconf("SC_OPEN_MAX"))


def outcome(task: Callable[[], Any]) -> dict[str, Any]:
    """What a child says of a task, which `ending_of` reads. Raises MemoryError."""
    try:
        return {"answer": task()}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - every complaint of a library is an answer here
        return {"raised": [type(error).__name__, str(error)]}


def ending_of(answer: Any) -> Ending:
    """Read what `outcome` gave."""
    return Ending(*_read(answer, ""))


def _answer(task: Callable[[], Any]) -> None:
    try:
        answer = outcome(task)
    except MemoryError:
        answer = {"memory": True}
    line = json.dumps(answer, ensure_ascii=True, allow_nan=False, default=asdict).encode("ascii")
    view = memoryview(line)
    while view:
        view = view[os.write(ANSWER, view) :]


@dataclass(slots=True)
class _Watch:
    """Reads what a child says, within its time and its cap, and reaps it."""

    _pid: int
    _answer: int
    _words: int
    _limits: Limits
    _stop: Stop
    _started: float
    _meter: Meter
    _output: bytearray = field(default_factory=bytearray)
    _mumbled: bytes = b""
    _verdict: EndingKind | None = None
    _excess: Excess | None = None
    _open: set[int] = field(default_factory=set)

    def until_the_end(self) -> Ending:
        deadline = self._started + self._limits.wall_seconds
        with selectors.DefaultSelector() as selector:
            for handle in (self._answer, self._words):
                self._open.add(handle)
                os.set_blocking(handle, False)
                selector.register(handle, selectors.EVENT_READ)
            wake = self._stop.fileno()
            if wake is not None:
                selector.register(wake, selectors.EVENT_READ)
            status, used = self._attend(selector, deadline)
        for handle in (self._answer, self._words):
            self._drain(handle)
        return self._judge(status, used)

    def _attend(self, selector: selectors.BaseSelector, deadline: float) -> tuple[int, float]:
        next_look = self._started
        while True:
            pause = _TICK_SECONDS if self._open else _ENDING_SECONDS
            for key, _ in selector.select(min(pause, self._meter.pause)):
                if key.fd in self._open and not self._drain(key.fd):
                    selector.unregister(key.fd)
                    self._open.discard(key.fd)
            # Seen but not reaped: its number stays its own until the whole group is ended.
            if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self._end_group()
                self._measure(ended=True)
                _, status, usage = os.wait4(self._pid, 0)
                return status, usage.ru_utime + usage.ru_stime
            if self._verdict is None:
                self._verdict = self._reason_to_end(deadline)
            # Before it is confined it runs nothing of an upload, and has its parent's open files.
            if self._verdict is None and self._output and time.monotonic() >= next_look:
                self._measure(ended=False)
                next_look = time.monotonic() + self._meter.pause
            if self._verdict is not None:
                self._end_group()

    def _measure(self, *, ended: bool) -> None:
        if self._verdict is None:
            self._excess = self._meter.excess(ended=ended)
            self._verdict = EndingKind.SCRATCH_EXCEEDED if self._excess else None

    def _reason_to_end(self, deadline: float) -> EndingKind | None:
        if len(self._output) > self._limits.output_bytes:
            return EndingKind.FLOODED
        if self._stop.requested():
            return EndingKind.STOPPED
        return EndingKind.TIMED_OUT if time.monotonic() > deadline else None

    def _end_group(self) -> None:
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(self._pid, signal.SIGKILL)

    def _drain(self, handle: int) -> bool:
        """Take what is there; False at the end of the file."""
        while True:
            try:
                chunk = os.read(handle, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            if handle == self._words:
                self._mumbled = (self._mumbled + chunk)[-_STDERR_KEPT:]
            elif len(self._output) <= self._limits.output_bytes:
                self._output += chunk
            else:  # enough: the group is about to be ended
                return True

    def _judge(self, status: int, used: float) -> Ending:
        words = self._mumbled.decode("utf-8", "replace")
        kind, answer = self._kind_of_end(status, used, words)
        took = time.monotonic() - self._started
        return Ending(kind, answer, words, round(took, 4), round(used, 4))

    def _kind_of_end(self, status: int, used: float, words: str) -> tuple[EndingKind, Any]:
        if self._verdict is not None:
            return self._verdict, self._excess
        if not self._output.startswith(_CONFINED):
            return EndingKind.UNCONFINED, None
        if os.WIFSIGNALED(status):
            return self._kind_of_death(os.WTERMSIG(status), used, words)
        if len(self._output) > self._limits.output_bytes:
            return EndingKind.FLOODED, None
        return _understand(bytes(self._output[len(_CONFINED) :]), words)

    def _kind_of_death(self, number: int, used: float, words: str) -> tuple[EndingKind, Any]:
        if number == signal.SIGXCPU or used >= self._limits.cpu_seconds:
            return EndingKind.TIMED_OUT, None
        if number == signal.SIGKILL:
            return EndingKind.KILLED, None
        if any(word in words for word in _MEMORY_WORDS):
            return EndingKind.OUT_OF_MEMORY, None
        return EndingKind.SIGNALLED, signal.Signals(number).name


def _understand(line: bytes, words: str) -> tuple[EndingKind, Any]:
    try:
        data = text.harmless(json.loads(line))
    except (ValueError, RecursionError):
        data = None
    return _read(data, words)


def _read(data: Any, words: str) -> tuple[EndingKind, Any]:
    match data:
        case {"answer": answer}:
            return EndingKind.ANSWERED, answer
        case {"memory": True}:
            return EndingKind.OUT_OF_MEMORY, None
        case {"raised": [str(name), str(message)]}:
            words = message
        case _:
            name = ""
    if any(word in words for word in _MEMORY_WORDS):
        return EndingKind.OUT_OF_MEMORY, None
    return (EndingKind.RAISED, [name, words]) if name else (EndingKind.SILENT, None)


def end_strays() -> None:
    """End and reap every process that a child left behind, whatever group it fled to."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    for _ in range(100):
        try:
            strays = [int(word) for word in listing.read_text(encoding="ascii").split()]
        except OSError:  # a kernel without this list: nothing more can be known
            return
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
