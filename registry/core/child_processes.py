"""Child processes that wait for work: frames over two pipes, and a pool that replaces who is lost.

No code here can be asked to stop: a child that takes too much is killed, and another takes its
place. A child has none of the hub's environment, secrets least of all.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Generic, TypeVar

# A frame: its kind, the length of what follows in bytes, and that.
HEADER = struct.Struct(">cI")
READY, DATA, DONE, FAILED = b"R", b"D", b"E", b"X"

# Seconds without a task after which a child gives its memory back.
IDLE_SECONDS = 60.0
_START_SECONDS = 30.0
_CHUNK = 1 << 16
_LOOK_SECONDS = 0.2


class LostError(Exception):
    """The child ended, or wrote what it should not."""


def send(handle: int, kind: bytes, payload: bytes) -> None:
    """Write one frame to a pipe; for the child's side."""
    view = memoryview(HEADER.pack(kind, len(payload)) + payload)
    while view:
        view = view[os.write(handle, view) :]


class Child:
    """One child process, `python -m MODULE ARGUMENT`, and the pipes to it.

    Raises OSError where it cannot be started.
    """

    def __init__(self, module: str, argument: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-m", module, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                "PATH": "/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
                "PYTHONDONTWRITEBYTECODE": "1",
                "HOME": "/nonexistent",
                **environment,
            },
            cwd="/",
            bufsize=0,
        )
        self._pending = bytearray()

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def write(self, line: bytes, until: float) -> None:
        """Send a task; raises TimeoutError at ``until`` (monotonic seconds), and OSError."""
        stdin = self._process.stdin
        view = memoryview(line)
        while stdin is not None and view:
            left = until - time.monotonic()
            if left <= 0 or not select.select([], [stdin], [], left)[1]:
                raise TimeoutError
            # A pipe takes this much at once whenever it takes anything.
            view = view[stdin.write(view[: select.PIPE_BUF]) or 0 :]

    def frame(self, until: float, watch: Callable[[], None] | None = None) -> tuple[bytes, bytes]:
        """The next frame as (kind, payload).

        ``watch`` is called while nothing comes, five times a second. Raises TimeoutError at
        ``until`` (monotonic seconds), LostError, and what ``watch`` raises.
        """
        while True:
            if len(self._pending) >= HEADER.size:
                kind, length = HEADER.unpack_from(self._pending)
                end = HEADER.size + length
                if len(self._pending) >= end:
                    payload = bytes(self._pending[HEADER.size : end])
                    del self._pending[:end]
                    return kind, payload
            self._take_in(until, watch)

    def exit_status(self) -> int:
        """The status of a child that closed its pipe, as `subprocess` has it; 0 for any other."""
        try:
            return self._process.wait(1)
        except subprocess.TimeoutExpired:
            return 0

    def kill(self) -> None:
        """End the process, whatever it does."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _take_in(self, until: float, watch: Callable[[], None] | None) -> None:
        stdout = self._process.stdout
        if stdout is None:
            raise LostError("it has no output")
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if select.select([stdout], [], [], min(_LOOK_SECONDS, left))[0]:
            chunk = os.read(stdout.fileno(), _CHUNK)
            if not chunk:
                raise LostError("it ended")
            self._pending += chunk
        elif watch is not None:
            watch()


class PooledChild(Child):
    """A child that reports that it can be used; ``greeting`` is what it says then.

    ``is_fit`` says whether it may take another task. Raises OSError, LostError and TimeoutError
    where it does not start.
    """

    def __init__(self, module: str, argument: str, environment: Mapping[str, str]) -> None:
        super().__init__(module, argument, environment)
        self.is_fit = True
        try:
            kind, self.greeting = self.frame(time.monotonic() + _START_SECONDS)
        except BaseException:
            self.kill()
            raise
        if kind != READY:
            self.kill()
            raise LostError("it did not get ready")


_Process = TypeVar("_Process", bound=PooledChild)


class Pool(Generic[_Process]):
    """Processes that wait; ``start`` makes one more and may raise.

    One that has waited for ``idle_seconds`` is ended, and the next caller waits for a new one.
    """

    def __init__(
        self, start: Callable[[], _Process], name: str, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._start = start
        # Each with the time (monotonic seconds) since which it has waited, longest first.
        self._idle: list[tuple[float, _Process]] = []
        self._idle_seconds = idle_seconds
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        # The kernel may end a process with the thread that started it: this one stays.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix=name)

    def take(self) -> _Process:
        """One that waits, else a new one; raises what ``start`` raises."""
        with self._lock:
            while self._idle:
                _, process = self._idle.pop()
                if process.is_alive():
                    return process
                process.kill()
        return self._starter.submit(self._start).result()

    def give_back(self, process: _Process) -> None:
        """Keep one that is fit for the next task; kill another, and start its successor."""
        if process.is_fit:
            self._keep(process)
            return
        process.kill()
        with contextlib.suppress(RuntimeError):  # the pool is being closed
            self._starter.submit(self._start_ahead)

    def close(self) -> None:
        """End every process that waits."""
        self._starter.shutdown()
        self._end_idle(float("inf"))

    def _start_ahead(self) -> None:
        with contextlib.suppress(Exception):  # the next caller gets the error
            self._keep(self._start())

    def _keep(self, process: _Process) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), process))
            self._watch()

    def _watch(self) -> None:
        """Look again when the first of those that wait has waited long enough."""
        if self._timer is None and self._idle:
            left = self._idle[0][0] + self._idle_seconds - time.monotonic()
            self._timer = threading.Timer(max(0.0, left), self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self._end_idle(time.monotonic() - self._idle_seconds)

    def _end_idle(self, until: float) -> None:
        """End what has waited since ``until`` (monotonic seconds) or longer."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            idle = [process for since, process in self._idle if since <= until]
            self._idle = [(since, process) for since, process in self._idle if since > until]
            self._watch()
        for process in idle:
            process.kill()
