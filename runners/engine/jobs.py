"""One request being worked on: what every task may do with it, and nothing that a task decides.

Everything that touches the upload happens in a child, which `Job.stage` starts; the parent reads
only the children's answers, and those as data.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hub.protocol import strict
from runners.engine.checks import check
from runners.engine.confine import children, fresh, isolation
from runners.engine.confine.children import Ending, EndingKind, Stop
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.onnx_files import staging, text
from runners.engine.reports import Finding, Outcome, OutputFile, Report, Scan

# What is left to a stage when its job's time is nearly over: enough to fail with a verdict.
_LEAST_SECONDS = 1.0
# Files of the largest size that the scratch folder may hold, where a request gives no sum.
_FILES_AT_ONCE = 8
_LAYING_OUT = 10
_CANCELLED = Finding("cancelled", "error", "The job was cancelled.")
_DEATHS = {
    EndingKind.TIMED_OUT: "exceeded the time limit of a run",
    EndingKind.OUT_OF_MEMORY: "exceeded the memory limit of a run",
    EndingKind.FLOODED: "returned an endless response",
    EndingKind.SILENT: "ended without a response",
}
# Classes of `runtimes` whose messages need no name before them.
_RUNTIME_ERRORS = frozenset({"LoadError", "UnsupportedModelError", "UnpreparedError"})
_PREAMBLE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from \S+ failed: ?(?:Fatal error: )?"
    r"|Exception during initialization: "
    r"|/\S+\.(?:cc|h):\d+ [^()]{0,300}\([^()]{0,1000}\)(?: const)? "
    r"|Exception from src/\S+:\d+:\s*|Check '[^']{1,200}' failed at src/\S+:\d+:\s*"
)


class JobError(Exception):
    """We, not the model, are at fault; the code becomes that of the report's one finding."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RefusedError(Exception):
    """The sandbox refuses the model, by its scan or by a limit; nothing else may look at it."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("The sandbox rejected the model.")
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Request:
    """One task on one model of one version: `files` maps version paths to stored files."""

    task: str
    entry: str
    files: dict[str, str]
    subject: str
    limits: Limits
    scratch: Path
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Job:
    """One request being worked on, with a private folder for each direction of its files."""

    request: Request
    layers: frozenset[str]
    versions: dict[str, str]
    stop: Stop
    tell: Callable[[int, str], None]
    _size: int = 0
    _room: int = 0
    _endings: dict[str, Ending] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    def run(self, flow: Callable[[Job], Report]) -> Report:
        """Do the task; never raises for what the model or the machine does."""
        try:
            return flow(self)
        except RefusedError as refusal:
            return self.report("failed", refusal.findings)
        except JobError as error:
            return self.report("errored", (Finding(error.code, "error", str(error)),))
        except staging.UnusableInputError as error:
            return self.report("errored", (Finding("input-missing", "error", str(error)),))
        except staging.StoppedError:
            return self.report("errored", (_CANCELLED,))
        except OSError as error:
            words = f"The job's scratch folder failed: {os.strerror(error.errno or 0)}."
            return self.report("errored", (Finding("scratch-failed", "error", words),))

    @property
    def input(self) -> Path:
        """The folder of the version's files, which children may only read."""
        return self._folder("input")

    @property
    def work(self) -> Path:
        """A folder in which children leave what later children read."""
        return self._folder("work")

    @property
    def out(self) -> Path:
        """The folder of the files that the report's outputs name."""
        return self._folder("out")

    @property
    def model(self) -> Path:
        """Where `lay_out` puts the model itself."""
        return self.input.joinpath(*self.request.entry.split("/"))

    def seconds_left(self) -> float:
        """How long the job may go on; never less than a stage needs to say why it ended."""
        whole = self.request.limits.job_seconds
        if whole is None:
            return float("inf")
        return max(_LEAST_SECONDS, self._started + whole - time.monotonic())

    def scan_with(
        self, task: Callable[[int, str, dict[str, int], frozenset[str]], Any]
    ) -> tuple[Ending, Limits]:
        """Run one walk over the model's bytes in a child; gives its end and its limits."""
        request = self.request
        if request.entry not in request.files:
            raise JobError("input-missing", "The version has no file at the model's path.")
        sizes = staging.sizes(request.files)
        pointers = staging.pointers(request.files, sizes)
        limits = request.limits.grown_by(sizes[request.entry])
        handle = staging.open_plain(request.files[request.entry])
        try:
            ending = children.run(
                lambda: task(children.SOURCE, request.entry, sizes, pointers),
                Confinement(self.layers, limits),
                self.stop,
                keep=handle,
            )
        finally:
            os.close(handle)
        return self._usable(ending, check.SCAN, limits), limits

    def scan(self) -> list[str]:
        """Have the scan pass the model; gives the other files it needs. Raises RefusedError."""
        ending, limits = self.scan_with(check.scan_model)
        if ending.kind != EndingKind.ANSWERED:
            raise RefusedError((check.judge(check.SCAN, ending, limits).finding(check.SCAN),))
        scan = scan_of(ending.answer)
        if scan.is_refused:
            raise RefusedError(
                tuple(finding for finding in scan.findings if finding.severity == "error")
            )
        return self.external(scan)

    def external(self, scan: Scan) -> list[str]:
        """The files besides the entry that the model needs."""
        if not all(path in self.request.files for path in scan.external):
            raise JobError("engine-error", "The scan named files that the version does not have.")
        return [path for path in scan.external if path != self.request.entry]

    def lay_out(self, paths: Iterable[str]) -> Path:
        """Copy these files of the version into the input folder, once for a job."""
        distinct = list(dict.fromkeys(paths))
        self.tell(_LAYING_OUT, "input")
        staging.lay_out(self.input, self.request.files, distinct, self.stop.requested)
        self._size = self.size(*distinct)
        return self.input

    def size(self, *paths: str) -> int:
        """The bytes of these files of the version together."""
        return sum(staging.sizes({path: self.request.files[path] for path in paths}).values())

    def on(self, entry: str) -> Job:
        """The same job with another model of the version as its entry."""
        request = replace(self.request, entry=entry)
        return Job(request, self.layers, self.versions, self.stop, self.tell)

    def limits(self) -> Limits:
        """What one stage may use by default: more for the bytes that were laid out."""
        return self.request.limits.grown_by(self._size)

    def stage(
        self, name: str, task: Callable[[], Any], *, writes: bool = True, **limits: Any
    ) -> Ending:
        """Run a task in a child that sees the job's folders; gives how it ended.

        `limits` are fields of `Limits` in place of the usual ones. `writes` tells whether the child
        may write to `work` and `out`, whose files are counted together. Raises JobError and
        StoppedError for ends that are not the model's doing, and RefusedError for a child that
        wrote too much. A task that `ahead` has done under this name is not repeated.
        """
        if name in self._endings:
            return self._endings.pop(name)
        confinement = self._confinement(limits)
        if not writes:
            confinement = isolation.reading_only(confinement)
        return self._usable(children.run(task, confinement, self.stop), name, confinement.limits)

    def ahead(self, tasks: Mapping[str, Callable[[], Any]], **limits: Any) -> bool:
        """Do the tasks of later stages in one child, one after the other.

        A child costs about as much as the run of a small model. `tasks` are by the names of their
        stages, and may be repeated: if one of them ends the child or exceeds `limits`, nothing is
        kept, and each stage starts a child of its own, so that the end belongs to one task. Tells
        whether the tasks were done. Raises what `stage` raises.
        """
        if len(tasks) < 2:
            return False
        ending = self.stage(
            f"{next(iter(tasks))} and others",
            lambda: list(map(children.outcome, tasks.values())),
            **limits,
        )
        answer = ending.answer if ending.kind == EndingKind.ANSWERED else None
        if not isinstance(answer, list) or len(answer) != len(tasks):
            return False
        self._endings |= zip(tasks, map(children.ending_of, answer), strict=True)
        return True

    def fresh_stage(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        cores: Sequence[int] = (),
        devices: tuple[Path, ...] = (),
        stop: Stop | None = None,
        **limits: Any,
    ) -> Ending:
        """Run a task by its name in a program of its own (`fresh`), confined as any stage is.

        `stop` ends this stage in place of the job's own.
        """
        confinement = self._confinement(limits)
        if devices:
            confinement = isolation.with_devices(confinement, devices)
        ending = fresh.run(name, arguments, confinement, stop or self.stop, cores=cores)
        return self._usable(ending, name, confinement.limits)

    def answer(
        self, name: str, task: Callable[[], Any], failure: Finding, **limits: Any
    ) -> dict[str, Any]:
        """Run a stage that answers an object.

        Raises RefusedError with `failure`, to whose message the cause is added, where it ends
        otherwise.
        """
        ending = self.stage(name, task, **limits)
        if ending.kind != EndingKind.ANSWERED:
            words = f"{failure.message}: {self.cause(ending)}"
            raise RefusedError((replace(failure, message=words),))
        return mapping_of(ending.answer)

    def cause(self, ending: Ending) -> str:
        """Say how a child ended without an answer, leaving out the folders it worked in."""
        match ending.kind:
            case EndingKind.RAISED:
                name, message = ending.answer
                words = message if name in _RUNTIME_ERRORS else f"{name}: {message}"
            case EndingKind.SIGNALLED:
                words = f"crashed with {ending.answer}"
            case kind:
                words = _DEATHS.get(kind, kind)
        folders = (self.model.parent, self.input, self.work, self.out)
        return brief(words, *map(str, folders))

    def _confinement(self, others: dict[str, Any]) -> Confinement:
        usual = self.limits()
        wall_seconds = min(others.get("wall_seconds") or usual.wall_seconds, self.seconds_left())
        limits = replace(usual, **{**others, "wall_seconds": wall_seconds})
        if not limits.written_bytes:
            # What earlier stages were allowed to write still lies there.
            self._room = max(self._room, _FILES_AT_ONCE * limits.largest_file)
            limits = replace(limits, written_bytes=self._room)
        return Confinement(
            self.layers, limits, (self.input,), (self.work, self.out), folder=self.work
        )

    def report(
        self,
        outcome: Outcome,
        findings: tuple[Finding, ...] = (),
        facts: dict[str, Any] | None = None,
        measures: list[dict[str, Any]] | None = None,
        outputs: Iterable[str] = (),
    ) -> Report:
        """Give the report of this job; `outputs` are names of files in `out`."""
        return Report(
            task=self.request.task,
            versions=self.versions,
            subject=self.request.subject,
            outcome=outcome,
            findings=findings,
            facts=facts or {},
            measures=measures or [],
            outputs=list(map(OutputFile, outputs)),
            seconds=round(time.monotonic() - self._started, 3),
        )

    def _folder(self, name: str) -> Path:
        folder = self.request.scratch / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _usable(self, ending: Ending, stage: str, limits: Limits) -> Ending:
        """Give back an end that is the model's doing, and was within the limits of writing."""
        if ending.kind == EndingKind.STOPPED:
            raise staging.StoppedError
        if ending.kind == EndingKind.KILLED:
            raise JobError(
                "child-killed",
                "The kernel killed the process that was working on the model, most likely "
                "because this machine ran out of memory. Try again, or give the worker more "
                "memory.",
            )
        if ending.kind == EndingKind.UNCONFINED:
            raise JobError(
                "sandbox-broken", "A process could not be sandboxed and was not started."
            )
        if stage == check.SCAN and ending.kind in {EndingKind.RAISED, EndingKind.SILENT}:
            words = ": ".join(ending.answer or ()) or ending.detail
            raise JobError("engine-error", text.message(f"The scan itself failed. {words}"))
        if ending.kind == EndingKind.SCRATCH_EXCEEDED:
            excess = f"{limits.most_written:,} bytes"
            if ending.answer == "files":
                excess = f"{limits.written_files:,} files, or folders that cannot be counted,"
            words = (
                f"The job was stopped because stage {stage!r} wrote more than {excess} to its "
                "scratch folder. Use a smaller model, or ask the operator to raise "
                "HUB_LIMITS_WRITTEN_BYTES."
            )
            raise RefusedError((Finding("scratch-exceeded", "error", words, stage),))
        return ending


def brief(words: str, *private: str) -> str:
    """Shorten a library's complaint: without its codes, and without the folders given."""
    return text.message(_PREAMBLE.sub("", words), *private)


def scan_of(answer: Any) -> Scan:
    """Read a child's answer as a scan; raises JobError."""
    try:
        return Scan.from_json(answer)
    except strict.UnreadableError as error:
        words = f"The response of a child process has no readable scan: {error}."
        raise JobError("engine-error", words) from None


def mapping_of(answer: Any) -> dict[str, Any]:
    """Read a child's answer as an object; raises JobError."""
    if not isinstance(answer, dict):
        raise JobError("engine-error", "The response of a child process has no readable facts.")
    return answer
