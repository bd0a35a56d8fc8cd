"""The worker's side of the sandbox: sends a request to the fork server and brings back a Report.

It imports no ONNX library and opens no upload. Whatever happens on the other side, the answer is a
Report, and the job's scratch folder is gone when it is given.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from hub.protocol import strict
from runners.engine.confine.isolation import Limits
from runners.engine.reports import (
    Finding,
    Greeting,
    IsolationLevel,
    Offers,
    Report,
)

_START_SECONDS = 60.0
_POLL_SECONDS = 0.25
_STOP_SECONDS = 5.0
_CHUNK = 1 << 16
_GREETING_BYTES = 1 << 20
# What a report holds beyond the children's own answers.
_OVERHEAD_BYTES = 1 << 20
_STAGES = 4
_GIB = 1 << 30
# Where locales lie, and which GPU a worker is bound to and where its libraries lie.
_INHERITED = ("LOCPATH", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
_COPY_BYTES_PER_SECOND = 20 << 20
_WALL_SECONDS_PER_GIB = 60

Progress = Callable[[int, str], None]
ShouldStop = Callable[[], bool]
# Whether urgent work ran on this host since a moment of the monotonic clock, in seconds.
UrgentSince = Callable[[float], bool]
Keep = Callable[[Report, Path], Report]


@dataclass(frozen=True, slots=True)
class Request:
    """One task on one model of a version; `files` maps version paths to absolute stored files."""

    task: str
    entry: str
    files: dict[str, str]
    sha256: str
    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


class _LostError(Exception):
    """The fork server ended, or does not answer as it should; the code becomes the finding's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Sandbox:
    """One fork server and the right to use it; runs one request at a time, from any thread."""

    def __init__(self, scratch: Path | None = None, interpreter: str = sys.executable) -> None:
        """Keep scratch folders under `scratch`, or the system's own place. Nothing starts yet.

        The fork server runs in the environment of `interpreter`: that of the runtime it holds.
        """
        self._scratch = scratch
        self._interpreter = interpreter
        self._lock = threading.RLock()
        self._server: _Server | None = None
        self._used_at = time.monotonic()

    def level(self) -> IsolationLevel:
        """Tell which layers hold here; starts the server if need be. Raises no error."""
        with self._lock:
            try:
                return self._started().greeting.level
            except _LostError as error:
                return IsolationLevel(details={"server": str(error)})

    def versions(self) -> dict[str, str]:
        """Tell the engine's and its libraries' versions; empty if the server does not start."""
        with self._lock:
            try:
                return dict(self._started().greeting.versions)
            except _LostError:
                return {}

    def offers(self) -> Offers:
        """Tell the runtimes and providers that passed their tests; empty if nothing starts."""
        with self._lock:
            try:
                return self._started().greeting.offers
            except _LostError:
                return Offers()

    def run(
        self,
        request: Request,
        *,
        on_progress: Progress | None = None,
        should_stop: ShouldStop | None = None,
        urgent_since: UrgentSince | None = None,
        keep: Keep | None = None,
    ) -> Report:
        """Run one request to its report; `should_stop` is asked every quarter of a second.

        `urgent_since` is asked by a measurement, which does not count what ran beside urgent work.
        `keep` is given a report that names outputs and the folder they lie in, which is gone
        afterwards; what it returns is the report.
        """
        began = time.monotonic()
        with self._lock:
            folder = Path(tempfile.mkdtemp(prefix="hub-job-", dir=self._scratch))
            try:
                report = self._started().run(
                    request, folder, on_progress, should_stop, urgent_since
                )
                return keep(report, folder / "out") if keep and report.outputs else report
            except _LostError as error:
                self.close()
                return _errored(request, error.code, str(error), began)
            except BaseException:
                # A callback raised in the middle of a job: its children must not go on.
                self.close()
                raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                self._used_at = time.monotonic()

    def is_warm(self) -> bool:
        """Whether the server runs, so that a request need not wait for its start."""
        return self._server is not None and self._server.usable()

    def close_idle(self, seconds: float) -> None:
        """End the server if its last request is older than ``seconds``."""
        if time.monotonic() - self._used_at >= seconds:
            self.close()

    def cpu_seconds(self) -> float | None:
        """CPU time of the server and of every child that has ended; None without a server."""
        return self._server.cpu_seconds() if self._server is not None else None

    def close(self) -> None:
        """End the server and whatever it runs. The next request starts a new one."""
        with self._lock:
            server, self._server = self._server, None
            if server is not None:
                server.close()

    def _started(self) -> _Server:
        if self._server is not None and not self._server.usable():
            self.close()
        if self._server is None:
            self._server = _Server(self._interpreter)
        return self._server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server:
    """The fork server's process and the two pipes to it."""

    def __init__(self, interpreter: str) -> None:
        self._owner = os.getpid()
        self._pending = b""
        try:
            self._process = subprocess.Popen(
                [interpreter, "-s", "-P", "-m", "runners.engine", str(self._owner)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise _LostError(
                "sandbox-unavailable", f"The sandbox does not start: {error}."
            ) from None
        try:
            self.greeting = self._first_message()
        except BaseException:
            self.close()
            raise

    def _first_message(self) -> Greeting:
        for message in self._messages(time.monotonic() + _START_SECONDS, _GREETING_BYTES):
            if message is not None:
                return Greeting.from_json(message)
        raise _LostError("sandbox-unavailable", "The sandbox did not get ready in time.")

    def usable(self) -> bool:
        # A forked copy of a worker shares these pipes with the original and must not use them.
        return self._owner == os.getpid() and self._process.poll() is None

    def cpu_seconds(self) -> float | None:
        """Its own CPU time and that of the children it has waited for (proc(5))."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return None
        ticks = stat.rpartition(")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def run(
        self,
        request: Request,
        folder: Path,
        on_progress: Progress | None,
        should_stop: ShouldStop | None,
        urgent_since: UrgentSince | None,
    ) -> Report:
        self._pending = b""
        self._send({**asdict(request), "scratch": str(folder)})
        limits, deadline = request.limits, time.monotonic() + _longest(request)
        stopping = False
        for message in self._messages(deadline, limits.output_bytes + _OVERHEAD_BYTES):
            if message is None:
                if not stopping and should_stop is not None and should_stop():
                    stopping = True
                    self._send({"cancel": True})
                    deadline = min(deadline, time.monotonic() + _STOP_SECONDS)
                if time.monotonic() > deadline:
                    raise _LostError(
                        "sandbox-timeout", "The sandbox did not answer in time and was ended."
                    )
            elif "urgent_since" in message:
                moment = float(message["urgent_since"])
                is_urgent = urgent_since is not None and urgent_since(moment)
                self._send({"urgent_since": moment, "is_urgent": is_urgent})
            elif "progress" in message:
                if on_progress is not None:
                    on_progress(int(message["progress"]), str(message["phase"]))
            else:
                return self._report(message)
        raise _LostError("sandbox-lost", "The sandbox ended without an answer.")

    def _report(self, message: dict[str, Any]) -> Report:
        try:
            return Report.from_json(message.get("report"))
        except strict.UnreadableError as error:
            raise _LostError(
                "sandbox-lost", f"The sandbox gave no readable report: {error}."
            ) from None

    def _send(self, message: dict[str, Any]) -> None:
        stdin = self._process.stdin
        view = memoryview(json.dumps(message).encode("ascii") + b"\n")
        try:
            while stdin is not None and view:
                view = view[stdin.write(view) or 0 :]
        except OSError:
            raise _LostError(
                "sandbox-lost", "The sandbox ended before the request reached it."
            ) from None

    def _messages(self, deadline: float, cap: int) -> Iterator[dict[str, Any] | None]:
        """Give messages as they come, and None at every pause, for the caller to look around."""
        stdout = self._process.stdout
        if stdout is None:
            return
        handle = stdout.fileno()
        last_request = time.monotonic()
        while True:
            while b"\n" in self._pending:
                line, self._pending = self._pending.split(b"\n", 1)
                yield _parse(line)
            ready, _, _ = select.select([handle], [], [], _POLL_SECONDS)
            if ready:
                chunk = os.read(handle, _CHUNK)
                if not chunk:
                    raise _LostError("sandbox-lost", "The sandbox ended in the middle of the job.")
                self._pending += chunk
                if len(self._pending) > cap:
                    raise _LostError("sandbox-lost", "The sandbox answered more than it may.")
            if time.monotonic() - last_request >= _POLL_SECONDS:
                last_request = time.monotonic()
                if last_request > deadline + _STOP_SECONDS:
                    raise _LostError(
                        "sandbox-timeout", "The sandbox did not answer in time and was ended."
                    )
                yield None

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._owner != os.getpid():
            return
        # Its children ask the kernel to be ended with it.
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def _environment() -> dict[str, str]:
    """Give the server's whole environment: nothing of the worker's own, secrets least of all."""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
        # The runtime would otherwise start a thread and keep a database of usage at import.
        "ORT_DISABLE_TELEMETRY": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **environment,
    }


def _longest(request: Request) -> float:
    """Bound a whole job in seconds: all its stages, and the copying before them."""
    size = 0
    for path in request.files.values():
        with contextlib.suppress(OSError):
            size += Path(path).lstat().st_size
    copying = size / _COPY_BYTES_PER_SECOND
    if request.limits.job_seconds is not None:
        return request.limits.job_seconds + _STOP_SECONDS + copying
    stage = request.limits.wall_seconds + _WALL_SECONDS_PER_GIB * size / _GIB
    return _STAGES * (stage + _STOP_SECONDS) + copying


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise _LostError("sandbox-lost", "The sandbox answered something unreadable.")
    return message


def _errored(request: Request, code: str, message: str, began: float) -> Report:
    return Report(
        task=request.task,
        versions={},
        subject=request.sha256,
        outcome="errored",
        findings=(Finding(code, "error", message),),
        seconds=round(time.monotonic() - began, 3),
    )
