"""The fork server: one line of JSON in, lines of JSON out, one forked child per stage.

It loads the libraries once and never opens an upload itself. It ends with the worker that started
it, whether that closes the pipe or is killed, and takes its children along.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine import runtimes
from runners.engine.confine import children, kernel, probe
from runners.engine.confine.children import Stop
from runners.engine.confine.isolation import Limits
from runners.engine.hardware import providers
from runners.engine.jobs import Job, Request
from runners.engine.onnx_files import text
from runners.engine.reports import Finding, Greeting, Report
from runners.engine.runtimes import probing
from runners.engine.server.tasks import FLOWS

ENGINE_VERSION = "1"
_REQUEST_BYTES = 64 << 20
_CHUNK = 1 << 16
# How long the worker may take to say what runs beside a job.
_LOOK_SECONDS = 5.0


class Door(Stop):
    """The worker's side of the pipe: requests come in here, and so does the wish to stop."""

    def __init__(self, handle: int, speaking: int) -> None:
        self._handle = handle
        self._speaking = speaking
        self._urgent: dict[str, Any] = {}
        self._pending = b""
        self._cancelled = False
        self.gone = False
        os.set_blocking(handle, False)

    def fileno(self) -> int | None:
        return None if self.gone else self._handle

    def requested(self) -> bool:
        self._take_in()
        *lines, self._pending = self._pending.split(b"\n")
        for line in lines:
            message = json.loads(line)
            self._cancelled |= message.get("cancel") is True
            if "urgent_since" in message:
                self._urgent = message
        return self._cancelled or self.gone

    def urgent_since(self, moment: float) -> bool:
        """Ask the worker; without its answer urgent work cannot be ruled out."""
        _say(self._speaking, {"urgent_since": moment})
        until = time.monotonic() + _LOOK_SECONDS
        while not self.requested() and self._urgent.get("urgent_since") != moment:
            left = until - time.monotonic()
            if left <= 0:
                return True
            select.select([self._handle], [], [], left)
        return bool(self._urgent.get("is_urgent", True))

    def next_request(self) -> bytes | None:
        """Wait for the next line; None when the worker has gone."""
        self._cancelled = False
        while b"\n" not in self._pending and not self.gone:
            with contextlib.suppress(InterruptedError):
                select.select([self._handle], [], [])
            self._take_in()
        if self.gone:
            return None
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _take_in(self) -> None:
        while not self.gone:
            try:
                chunk = os.read(self._handle, _CHUNK)
            except BlockingIOError:
                return
            self._pending += chunk
            if not chunk or len(self._pending) > _REQUEST_BYTES:
                self.gone = True


def serve() -> NoReturn:
    """Serve until the worker goes. Called by `python -m runners.engine WORKER_PID` only."""
    speaking = os.dup(1)
    door = Door(os.dup(0), speaking)
    # Whatever a library prints must not be taken for an answer.
    os.dup2(2, 1)
    _end_with_worker(door)
    kernel.adopt_orphans()
    greeting = _make_ready()
    _say(speaking, asdict(greeting))
    while (line := door.next_request()) is not None:
        request = _read_request(line)
        if request is None:
            continue
        _say(speaking, {"report": _work(request, greeting, door, speaking).to_json()})
        if door.gone:
            shutil.rmtree(request.scratch, ignore_errors=True)
    os._exit(0)


def _end_with_worker(door: Door) -> None:
    """Notice the worker's death even if another process still holds its end of the pipe."""
    worker = int(sys.argv[1])

    def look(_number: int, _frame: Any) -> None:
        # The signal also comes when only the thread that started us ended.
        if os.getppid() != worker:
            door.gone = True

    signal.signal(signal.SIGUSR1, look)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.die_with_parent(worker, signal.SIGUSR1)


def _make_ready() -> Greeting:
    versions = {"engine": ENGINE_VERSION, "python": sys.version.split()[0]}
    level = probe.probe()
    broken = ""
    try:
        versions |= _load_libraries()
    except ImportError as error:
        broken = f"The engine's libraries are not installed: {error}."
    else:
        failure = probe.self_test(level.layers, _honest_work())
        if failure:
            broken = text.message(f"The libraries do not work inside the sandbox: {failure}")
        else:
            use_libraries()
    gc.collect()
    gc.freeze()
    if broken:
        level.details["engine"] = broken
        return Greeting(versions, level, broken)
    return Greeting(versions, level, offers=providers.offer(level.layers))


def _load_libraries() -> dict[str, str]:
    """Import what this environment has, once for all children; give the versions.

    Raises ImportError where a library is missing, or every runtime is.
    """
    # After the probe, which must not need them.
    import onnx  # noqa: PLC0415
    import onnx.checker  # noqa: PLC0415
    import onnx.reference.ops  # noqa: PLC0415
    import onnx.shape_inference  # noqa: PLC0415

    versions = {"onnx": onnx.__version__}
    for name in runtimes.names():
        if name != REFERENCE:
            library = importlib.import_module(name)
            versions[name] = runtimes.of(name).version()
            if name == ONNXRUNTIME:
                library.disable_telemetry_events()
    if len(versions) == 1:
        raise ImportError("neither onnxruntime nor another runtime is there")
    return versions


def use_libraries() -> None:
    """Use the libraries once, on models of one node of our own, so that no child does it again.

    Their first use registers kernels, schemas and adapters, which takes a child longer than a small
    model. No thread is left: a child would lack it.
    """
    import onnx  # noqa: PLC0415
    from onnx import version_converter  # noqa: PLC0415

    for name in {ONNXRUNTIME, REFERENCE}.intersection(runtimes.names()):
        probing.highest(name)
    oldest = onnx.load_from_string(probing.relu(opset=7, ir_version=8))
    version_converter.convert_version(oldest, onnx.defs.onnx_opset_version())


def _honest_work() -> Any:
    """Make the self-test: a tiny model through the checker, inference and a runtime."""
    import onnx  # noqa: PLC0415

    raw = probing.relu(opset=17, ir_version=8)
    has_onnxruntime = ONNXRUNTIME in runtimes.names()

    def work() -> str:
        onnx.checker.check_model(raw, full_check=True)
        # In two threads: they must be possible, too.
        if not has_onnxruntime:
            core = importlib.import_module("openvino").Core()
            compiled = core.compile_model(core.read_model(raw), "CPU", {"INFERENCE_NUM_THREADS": 2})
            return str(compiled.inputs[0].get_any_name())
        onnxruntime = importlib.import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        session = onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
        return str(session.get_inputs()[0].name)

    return work


def _read_request(line: bytes) -> Request | None:
    data = json.loads(line)
    if "task" not in data:  # it came too late: that job has already answered
        return None
    if data["task"] not in FLOWS:
        raise ValueError("the worker requested an unknown task")
    return Request(
        task=data["task"],
        entry=data["entry"],
        files=data["files"],
        subject=data["sha256"],
        limits=Limits(**data["limits"]),
        scratch=Path(data["scratch"]),
        options=data["options"],
    )


def _work(request: Request, greeting: Greeting, door: Door, speaking: int) -> Report:
    versions = greeting.versions
    if greeting.broken:
        finding = Finding("engine-unavailable", "error", greeting.broken)
        return Report(request.task, versions, request.subject, "errored", (finding,))

    def tell(progress: int, phase: str) -> None:
        _say(speaking, {"progress": progress, "phase": phase})

    tempfile.tempdir = str(request.scratch)
    try:
        return Job(request, greeting.level.layers, versions, door, tell).run(FLOWS[request.task])
    finally:
        children.end_strays()


def _say(handle: int, message: dict[str, Any]) -> None:
    view = memoryview(json.dumps(message, ensure_ascii=True).encode("ascii") + b"\n")
    with contextlib.suppress(BrokenPipeError):  # the worker went: the next read says so too
        while view:
            view = view[os.write(handle, view) :]
