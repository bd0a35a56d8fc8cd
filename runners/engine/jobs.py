"""Carries one request through its stages and answers with a report, whatever happens on the way.

Everything that touches the upload is a task for a child; this module reads only the children's
answers, and those as data.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runners.engine import check, children, describe, inputs, text
from runners.engine.check import Verdict
from runners.engine.isolation import Confinement, Limits
from runners.reports import Finding, InvalidReportError, Outcome, Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runners.engine.children import Ending, Stop

TASKS = ("describe", "check")
_PROGRESS = {
    "describe": 10,
    check.SCAN: 5,
    "input": 20,
    check.CHECKER: 30,
    check.INFERENCE: 50,
    check.LOAD: 70,
}


class JobError(Exception):
    """We, not the model, are at fault; the code becomes that of the report's one finding."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Request:
    """One task on one model of one version: `files` maps version paths to stored files."""

    task: str
    entry: str
    files: dict[str, str]
    subject: str
    limits: Limits
    scratch: Path


@dataclass(slots=True)
class Job:
    """One request being worked on."""

    request: Request
    layers: frozenset[str]
    versions: dict[str, str]
    stop: Stop
    tell: Callable[[int, str], None]
    _started: float = field(default_factory=time.monotonic)

    def run(self) -> Report:
        """Do the task; never raises for what the model or the machine does."""
        try:
            return self._describe() if self.request.task == "describe" else self._check()
        except JobError as error:
            return self._report("errored", (Finding(error.code, "error", str(error)),))
        except inputs.UnusableInputError as error:
            return self._report("errored", (Finding("input-missing", "error", str(error)),))
        except inputs.StoppedError:
            return self._report("errored", (_CANCELLED,))
        except OSError as error:
            words = f"The job's scratch folder failed: {os.strerror(error.errno or 0)}."
            return self._report("errored", (Finding("scratch-failed", "error", words),))

    def _describe(self) -> Report:
        self.tell(_PROGRESS["describe"], "describe")
        ending, limits = self._scan(describe.describe)
        if ending.kind != "answered":
            self._blame_ourselves_if_due(ending, check.SCAN)
            verdict = check.judge(check.SCAN, ending, limits)
            finding = Finding(verdict.word, "error", f"{verdict.message}.", check.SCAN)
            return self._report("failed", (finding,))
        findings = _findings(ending.answer)
        facts = _mapping(ending.answer, "facts")
        return self._report("failed" if _refused(findings) else "passed", findings, facts)

    def _scan(self, task: Callable[[int, str, dict[str, int]], Any]) -> tuple[Ending, Limits]:
        request = self.request
        if request.entry not in request.files:
            raise JobError("input-missing", "The version has no file at the model's path.")
        sizes = inputs.sizes(request.files)
        limits = request.limits.grown_by(sizes[request.entry])
        handle = inputs.open_plain(request.files[request.entry])
        try:
            ending = children.run(
                lambda: task(children.SOURCE, request.entry, sizes),
                Confinement(self.layers, limits),
                self.stop,
                keep=handle,
            )
        finally:
            os.close(handle)
        return ending, limits

    def _check(self) -> Report:
        verdicts = {stage: Verdict("not-run") for stage in check.STAGES}
        self.tell(_PROGRESS[check.SCAN], check.SCAN)
        ending, limits = self._scan(check.look)
        self._blame_ourselves_if_due(ending, check.SCAN)
        if ending.kind != "answered":
            verdicts[check.SCAN] = check.judge(check.SCAN, ending, limits)
            return self._verdict_report(verdicts, (), {})
        seen = _findings(ending.answer)
        facts = _mapping(ending.answer, "facts")
        if _refused(seen):
            message = next(one.message for one in seen if one.severity == "error")
            verdicts[check.SCAN] = Verdict("refused", message, ending.seconds)
            return self._verdict_report(verdicts, seen, facts)
        verdicts[check.SCAN] = Verdict("ok", "", ending.seconds)
        wanted = [self.request.entry, *self._external(ending.answer)]
        facts = self._judge_by_libraries(wanted, verdicts, facts)
        return self._verdict_report(verdicts, seen, facts)

    def _external(self, answer: Any) -> list[str]:
        paths = answer.get("external")
        if not isinstance(paths, list) or not all(path in self.request.files for path in paths):
            raise JobError("engine-error", "The scan named files that the version does not have.")
        return [path for path in paths if path != self.request.entry]

    def _judge_by_libraries(
        self, wanted: list[str], verdicts: dict[str, Verdict], facts: dict[str, Any]
    ) -> dict[str, Any]:
        folder, work = self.request.scratch / "input", self.request.scratch / "work"
        folder.mkdir(mode=0o700)
        work.mkdir(mode=0o700)
        self.tell(_PROGRESS["input"], "input")
        inputs.lay_out(folder, self.request.files, wanted, self.stop.requested)
        sizes = inputs.sizes({path: self.request.files[path] for path in wanted})
        limits = self.request.limits.grown_by(sum(sizes.values()))
        model = folder.joinpath(*self.request.entry.split("/"))
        wearing = Confinement(self.layers, limits, (folder,), (work,), work)
        stages: tuple[tuple[str, Callable[[], Any]], ...] = (
            (check.CHECKER, lambda: check.run_checker(model, facts)),
            (check.INFERENCE, lambda: check.run_inference(model)),
            (check.LOAD, lambda: check.run_load(model)),
        )
        for stage, task in stages:
            self.tell(_PROGRESS[stage], stage)
            ending = children.run(task, wearing, self.stop)
            self._blame_ourselves_if_due(ending, stage)
            verdict = check.judge(stage, ending, limits, str(model.parent), str(folder))
            verdicts[stage] = verdict
            if verdict.word in check.FATAL:
                break
            if stage == check.CHECKER and verdict.word == "ok":
                facts = {**facts, **_mapping({"facts": ending.answer}, "facts")}
        return facts

    def _blame_ourselves_if_due(self, ending: Ending, stage: str) -> None:
        if ending.kind == "stopped":
            raise inputs.StoppedError
        if ending.kind == "killed":
            raise JobError(
                "child-killed",
                "The kernel ended the child that was working on the model, most likely because "
                "this machine ran out of memory. Try again, or give the worker more.",
            )
        if ending.kind == "unconfined":
            raise JobError("sandbox-broken", "A child could not be confined and did not start.")
        if stage == check.SCAN and ending.kind in {"raised", "silent"}:
            words = ": ".join(ending.answer or ()) or ending.detail
            raise JobError("engine-error", text.message(f"The scan itself failed. {words}"))

    def _verdict_report(
        self, verdicts: dict[str, Verdict], seen: tuple[Finding, ...], facts: dict[str, Any]
    ) -> Report:
        runtime = f"onnxruntime {self.versions.get('onnxruntime', '')}".strip()
        told = check.findings(verdicts, facts, runtime)
        # The load verdict says the same with more weight.
        if any(one.code == "needs-operator-set" for one in told):
            seen = tuple(one for one in seen if one.code != "needs-operator-set")
        said = {
            "verdicts": {stage: verdict.to_json() for stage, verdict in verdicts.items()},
            **facts,
        }
        return self._report(check.outcome(verdicts), (*seen, *told), said)

    def _report(
        self,
        outcome: Outcome,
        findings: tuple[Finding, ...],
        facts: dict[str, Any] | None = None,
    ) -> Report:
        return Report(
            task=self.request.task,
            versions=self.versions,
            subject=self.request.subject,
            outcome=outcome,
            findings=findings,
            facts=facts or {},
            seconds=round(time.monotonic() - self._started, 3),
        )


_CANCELLED = Finding("cancelled", "error", "The job was called off before it ended.")


def _refused(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def _findings(answer: Any) -> tuple[Finding, ...]:
    try:
        return tuple(Finding.from_json(one) for one in answer["findings"])
    except (InvalidReportError, KeyError, TypeError):
        raise JobError("engine-error", "A child's answer has no readable findings.") from None


def _mapping(answer: Any, key: str) -> dict[str, Any]:
    found = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        raise JobError("engine-error", f"A child's answer has no readable {key}.")
    return found
