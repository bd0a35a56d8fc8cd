"""One request being worked on: what every task may do with it, and nothing that a task decides.

Everything that touches the upload happens in a child, which `Job.stage` starts; the parent reads
only the children's answers, and those as data.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from runners.engine.checks import check
from runners.engine.confine import children, fresh, isolation
from runners.engine.confine.isolation import Confinement, Limits
from runners.engine.onnx_files import staging, text
from runners.engine.reports import Finding, InvalidReportError, Outcome, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from runners.engine.confine.children import Ending, Stop

# What is left to a stage when its job's time is nearly over: enough to fail with a verdict.
_LEAST_SECONDS = 1.0
# Files of the largest size that the scratch folder may hold, where a request gives no sum.
_FILES_AT_ONCE = 8


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

    def scan_with(self, task: Callable[[int, str, dict[str, int]], Any]) -> tuple[Ending, Limits]:
        """Run one walk over the model's bytes in a child; gives its end and its limits."""
        request = self.request
        if request.entry not in request.files:
            raise JobError("input-missing", "The version has no file at the model's path.")
        sizes = staging.sizes(request.files)
        limits = request.limits.grown_by(sizes[request.entry])
        handle = staging.open_plain(request.files[request.entry])
        try:
            ending = children.run(
                lambda: task(children.SOURCE, request.entry, sizes),
                Confinement(self.layers, limits),
                self.stop,
                keep=handle,
            )
        finally:
            os.close(handle)
        self._blame_ourselves_if_due(ending, check.SCAN)
        return ending, limits

    def scan(self) -> list[str]:
        """Have the scan pass the model; gives the other files it needs. Raises RefusedError."""
        ending, limits = self.scan_with(check.look)
        if ending.kind != "answered":
            verdict = check.judge(check.SCAN, ending, limits)
            finding = Finding(verdict.word, "error", f"{verdict.message}.", check.SCAN)
            raise RefusedError((finding,))
        seen = findings_of(ending.answer)
        if is_refused(seen):
            raise RefusedError(tuple(one for one in seen if one.severity == "error"))
        return self.external(ending.answer)

    def external(self, answer: Any) -> list[str]:
        """The files besides the entry that a scan's answer says the model needs."""
        paths = answer.get("external")
        if not isinstance(paths, list) or not all(path in self.request.files for path in paths):
            raise JobError("engine-error", "The scan named files that the version does not have.")
        return [path for path in paths if path != self.request.entry]

    def lay_out(self, paths: Iterable[str]) -> Path:
        """Copy these files of the version into the input folder, once for a job."""
        wanted = list(dict.fromkeys(paths))
        self.tell(_LAYING_OUT, "input")
        staging.lay_out(self.input, self.request.files, wanted, self.stop.requested)
        sizes = staging.sizes({path: self.request.files[path] for path in wanted})
        self._size = sum(sizes.values())
        return self.input

    def limits(self) -> Limits:
        """What one stage may use by default: more for the bytes that were laid out."""
        return self.request.limits.grown_by(self._size)

    def stage(
        self,
        name: str,
        task: Callable[[], Any],
        *,
        wall_seconds: float | None = None,
        cpu_seconds: int | None = None,
        memory_bytes: int | None = None,
        file_bytes: int | None = None,
        written_files: int | None = None,
        writes: bool = True,
    ) -> Ending:
        """Run a task in a child that sees the job's folders; gives how it ended.

        `writes` tells whether it may write to `work` and `out`, whose files are counted together.
        Raises JobError and StoppedError for ends that are not the model's doing, and RefusedError
        for a child that wrote too much.
        """
        wearing = self._wearing(wall_seconds, cpu_seconds, memory_bytes, file_bytes)
        if written_files is not None:
            limits = replace(wearing.limits, written_files=written_files)
            wearing = replace(wearing, limits=limits)
        if not writes:
            wearing = isolation.reading_only(wearing)
        ending = children.run(task, wearing, self.stop)
        self._blame_ourselves_if_due(ending, name)
        _refuse_excess(ending, name, wearing.limits)
        return ending

    def fresh_stage(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        cores: Sequence[int] = (),
        devices: tuple[Path, ...] = (),
        wall_seconds: float | None = None,
        cpu_seconds: int | None = None,
        file_bytes: int | None = None,
    ) -> Ending:
        """Run a task by its name in a program of its own (`fresh`), confined as any stage is."""
        wearing = self._wearing(wall_seconds, cpu_seconds, None, file_bytes)
        if devices:
            wearing = isolation.with_devices(wearing, devices)
        ending = fresh.run(name, arguments, wearing, self.stop, cores=cores)
        self._blame_ourselves_if_due(ending, name)
        _refuse_excess(ending, name, wearing.limits)
        return ending

    def _wearing(
        self,
        wall_seconds: float | None,
        cpu_seconds: int | None,
        memory_bytes: int | None,
        file_bytes: int | None,
    ) -> Confinement:
        usual = self.limits()
        limits = replace(
            usual,
            wall_seconds=min(wall_seconds or usual.wall_seconds, self.seconds_left()),
            cpu_seconds=cpu_seconds or usual.cpu_seconds,
            memory_bytes=memory_bytes or usual.memory_bytes,
            file_bytes=file_bytes or usual.file_bytes,
        )
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
        outputs: list[dict[str, Any]] | None = None,
    ) -> Report:
        """Give the report of this job."""
        return Report(
            task=self.request.task,
            versions=self.versions,
            subject=self.request.subject,
            outcome=outcome,
            findings=findings,
            facts=facts or {},
            measures=measures or [],
            outputs=outputs or [],
            seconds=round(time.monotonic() - self._started, 3),
        )

    def _folder(self, name: str) -> Path:
        folder = self.request.scratch / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _blame_ourselves_if_due(self, ending: Ending, stage: str) -> None:
        if ending.kind == "stopped":
            raise staging.StoppedError
        if ending.kind == "killed":
            raise JobError(
                "child-killed",
                "The kernel killed the process that was working on the model, most likely "
                "because this machine ran out of memory. Try again, or give the worker more "
                "memory.",
            )
        if ending.kind == "unconfined":
            raise JobError(
                "sandbox-broken", "A process could not be sandboxed and was not started."
            )
        if stage == check.SCAN and ending.kind in {"raised", "silent"}:
            words = ": ".join(ending.answer or ()) or ending.detail
            raise JobError("engine-error", text.message(f"The scan itself failed. {words}"))


_LAYING_OUT = 10
_CANCELLED = Finding("cancelled", "error", "The job was cancelled.")


def _refuse_excess(ending: Ending, stage: str, limits: Limits) -> None:
    if ending.kind != "scratch-exceeded":
        return
    if ending.answer == "files":
        excess = f"more than {limits.written_files:,} files, or folders that cannot be counted,"
    else:
        excess = f"more than {limits.most_written:,} bytes"
    words = (
        f"The job was stopped because stage {stage!r} wrote {excess} to its scratch folder. "
        "Use a smaller model, or ask the operator to raise HUB_LIMITS_WRITTEN_BYTES."
    )
    raise RefusedError((Finding("scratch-exceeded", "error", words, stage),))


def is_refused(findings: tuple[Finding, ...]) -> bool:
    """Whether a scan's findings forbid everything else."""
    return any(finding.severity == "error" for finding in findings)


def findings_of(answer: Any) -> tuple[Finding, ...]:
    """Read the findings in a child's answer; raises JobError where they are none."""
    try:
        return tuple(Finding.from_json(one) for one in answer["findings"])
    except (InvalidReportError, KeyError, TypeError):
        raise JobError(
            "engine-error", "The response of a child process has no readable findings."
        ) from None


def mapping_of(answer: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Read an object in a child's answer; raises JobError where it is none."""
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        raise JobError("engine-error", f"The response of a child process has no readable {key}.")
    return found
