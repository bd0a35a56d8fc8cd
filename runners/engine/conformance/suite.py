"""The suite task: the ONNX node tests on one runtime, a part at a time.

The cases run in batches; when one ends its child, it is run alone to be sure, and the next child
goes on behind it. So a runtime that crashes costs one case, not the suite.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.conformance import cases
from runners.engine.jobs import Job, JobError, brief
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.reports import Report
from runners.engine.runs import agreement, answers, child_runs, stages
from runners.engine.runs.agreement import Profile
from runners.engine.runs.localise import Places
from runners.engine.runs.optimiser import Case

_FILE_BYTES = 256 << 20
# All cases of the suite lie in one folder, where one part is the whole of it.
_MOST_FILES = 100_000
_COLLECT_SECONDS = 240
_CASE_SECONDS = 30
_BATCH = 60
_MOST_PARTS = 2000
_REASON_LENGTH = 300
# Two steps of bfloat16, as the ONNX runner allows.
_BFLOAT16_RTOL = 2.0**-6
_JOURNAL = "journal"
# Tolerance between the outputs of a case with and without optimisation.
_FAULT_PROFILE = agreement.FP32.name


class CaseOutcome(StrEnum):
    """How a case of the suite ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class Measure:
    """How a case ended, and why."""

    case: str
    operator: str
    opset: int
    outcome: CaseOutcome
    reason: str

    @classmethod
    def of(cls, case: cases.Case, outcome: CaseOutcome, reason: str) -> Measure:
        """How a case ended, with as much of the reason as a report keeps."""
        clipped = text.clip(reason, _REASON_LENGTH)
        return cls(case.name, case.operator, case.opset, outcome, clipped)


def run(job: Job) -> Report:
    """Run one part of the suite; options name the runtime, the part, and how many there are."""
    runtime, part, parts = _read_options(job.request.options)
    if runtime not in runtimes.names():
        raise JobError(
            "runtime-missing", f"The runtime {runtime!r} is not installed on this worker."
        )
    folder = job.work / "cases"
    folder.mkdir(exist_ok=True)
    job.tell(5, "collect")
    ending = job.stage(
        "collect",
        lambda: cases.write(folder, part, parts),
        wall_seconds=2.0 * _COLLECT_SECONDS,
        cpu_seconds=_COLLECT_SECONDS,
        file_bytes=_FILE_BYTES,
        written_files=_MOST_FILES,
    )
    if ending.kind != EndingKind.ANSWERED:
        words = job.cause(ending)
        raise JobError("suite-unreadable", f"The ONNX node tests could not be made: {words}")
    measures = _Round(job, runtime, folder, int(ending.answer)).run()
    evidence: list[str] = []
    if runtime == ONNXRUNTIME:
        job.tell(95, "optimiser")
        measures, evidence = _OptimiserFaults(job, folder).named(measures)
    totals = {
        outcome.value: sum(measure.outcome == outcome for measure in measures)
        for outcome in CaseOutcome
    }
    facts = {"runtime": runtime, "part": part, "parts": parts, "totals": totals}
    return job.report("passed", (), facts, list(map(asdict, measures)), evidence)


def _read_options(options: dict[str, Any]) -> tuple[str, int, int]:
    runtime = str(options.get("runtime", ONNXRUNTIME))
    part, parts = options.get("part", 0), options.get("parts", 1)
    fits = isinstance(part, int) and isinstance(parts, int) and 0 <= part < parts <= _MOST_PARTS
    if not fits:
        raise JobError("suite-unreadable", f"The suite has no part {part!r} of {parts!r}.")
    return runtime, part, parts


class _Round:
    """All cases of one part, batch after batch."""

    def __init__(self, job: Job, runtime: str, folder: Path, count: int) -> None:
        self._job = job
        self._runtime = runtime
        self._folder = folder
        self._count = count

    def run(self) -> list[Measure]:
        measures: list[Measure] = []
        while len(measures) < self._count:
            first = len(measures)
            self._job.tell(10 + 90 * first // self._count, "run")
            ending = self._stage(first, min(first + _BATCH, self._count))
            if ending.kind == EndingKind.ANSWERED:
                measures += _measures(ending)
                continue
            # What the child had judged before it died.
            journal = functools.partial(read_journal, self._folder, first)
            ending = self._job.stage("journal", journal, writes=False)
            measures += _measures(ending) if ending.kind == EndingKind.ANSWERED else []
            measures.append(self._alone(len(measures)))
        return measures

    def _stage(self, first: int, end: int) -> Ending:
        folder, runtime = self._folder, self._runtime
        return self._job.stage(
            "run",
            lambda: run_batch(runtime, folder, first, end),
            wall_seconds=4.0 * _CASE_SECONDS,
            cpu_seconds=2 * _CASE_SECONDS,
            file_bytes=_FILE_BYTES,
            written_files=_MOST_FILES,
        )

    def _alone(self, number: int) -> Measure:
        ending = self._stage(number, number + 1)
        if ending.kind == EndingKind.ANSWERED:
            return _measures(ending)[0]
        folder = self._folder
        words = self._job.cause(ending)
        is_late = ending.kind == EndingKind.TIMED_OUT
        outcome = CaseOutcome.TIMED_OUT if is_late else CaseOutcome.CRASHED
        named = self._job.stage(
            "name",
            lambda: Measure.of(cases.read_index(folder)[number], outcome, words),
            writes=False,
        )
        if named.kind != EndingKind.ANSWERED:
            raise JobError("suite-unreadable", "The index of the ONNX node tests cannot be read.")
        return answers.read(Measure, named.answer)


class _OptimiserFaults:
    """Cases that fail because of the runtime's graph optimiser, with the pass that is at fault."""

    def __init__(self, job: Job, folder: Path) -> None:
        self._job = job
        self._folder = folder

    def named(self, measures: list[Measure]) -> tuple[list[Measure], list[str]]:
        """The measures with the fault in their reasons, and the names of files of evidence."""
        named, evidence = list(measures), []
        for number, measure in enumerate(measures):
            if measure.outcome == CaseOutcome.PASSED or not self._passes_unoptimised(number):
                continue
            words, file = self._fault(number, measure.case)
            reason = f"the graph optimiser is at fault, since it passes without; {words}"
            clipped = text.clip(f"{reason}: {measure.reason}", _REASON_LENGTH)
            named[number] = replace(measure, reason=clipped)
            evidence += [file] if file else []
        return named, evidence

    def _passes_unoptimised(self, number: int) -> bool:
        task = functools.partial(run_unoptimised, self._folder, number, self._results(number))
        ending = self._job.stage("unoptimised", task, **stages.run_limits(self._job))
        return ending.kind == EndingKind.ANSWERED and ending.answer is True

    def _results(self, number: int) -> Path:
        return self._job.work / "unoptimised" / str(number)

    def _fault(self, number: int, name: str) -> tuple[str, str]:
        """What the optimiser breaks in a case, and the name of the file that shows it."""
        job, home = self._job, self._folder / str(number)
        case = Case(home, self._results(number), "test_data_set_0")
        file = child_runs.ModelFile(home / "model.onnx", home, child_runs.FileKind.ORIGINAL)
        fault = stages.optimiser_fault(job, file, case, _FAULT_PROFILE)
        if fault is None:
            return "no level of it fails alone", ""
        places = Places(home, job.work, job.out, name)
        reduced = stages.smallest_failure(job, file, case, fault, _FAULT_PROFILE, places)
        return stages.sentence_of(fault, reduced), reduced.evidence


def run_unoptimised(folder: Path, number: int, results: Path) -> bool:
    """Whether a case passes without graph optimisation; its outputs are kept. For a child."""
    case, home = cases.read_index(folder)[number], folder / str(number)
    outcome, _ = _try(runtimes.of(ONNXRUNTIME), case, home, optimise=False)
    if outcome != CaseOutcome.PASSED:
        return False
    file = child_runs.ModelFile(home / "model.onnx", home, child_runs.FileKind.ORIGINAL)
    child_runs.run(ONNXRUNTIME, file, [(home, results)], optimise=False)
    return True


def _measures(ending: Ending) -> list[Measure]:
    return [answers.read(Measure, row) for row in ending.answer]


def run_batch(runtime: str, folder: Path, first: int, end: int) -> list[Measure]:
    """Run some cases one after the other, keeping a journal; for a child."""
    measures = []
    with (folder / f"{_JOURNAL}-{first}").open("w", encoding="utf-8") as journal:
        for case in cases.read_index(folder)[first:end]:
            ended = _try(runtimes.of(runtime), case, folder / str(case.number))
            measures.append(Measure.of(case, *ended))
            print(json.dumps(asdict(measures[-1])), file=journal, flush=True)
    return measures


def read_journal(folder: Path, first: int) -> list[Measure]:
    """Give what the batch beginning here had found before its child ended."""
    path = folder / f"{_JOURNAL}-{first}"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    measures = []
    for line in lines:
        try:
            measures.append(Measure(**json.loads(line)))
        except ValueError:  # the child ended in the middle of a line
            break
    return measures


def _try(
    runtime: runtimes.Runtime, case: cases.Case, home: Path, *, optimise: bool = True
) -> tuple[CaseOutcome, str]:
    if case.problem:
        return CaseOutcome.UNSUPPORTED, case.problem
    path = home / "model.onnx"
    model = child_runs.load(path)
    try:
        execute = runtime.open(path, optimise=optimise)
    except runtimes.LoadError as error:
        return CaseOutcome.UNSUPPORTED, brief(str(error), str(home))
    profile = Profile("case", rtol=case.rtol, atol=case.atol)
    for dataset in datasets.read(home, model):
        values = runtimes.attempt(execute, dataset.inputs)
        if isinstance(values, Exception):
            words = brief(str(values), str(home))
            return CaseOutcome.FAILED, f"does not run: {type(values).__name__}: {words}"
        for port, value in zip(model.graph.output, values, strict=True):
            expected = dataset.outputs.get(port.name)
            reason = _judge(port.name, expected, value, profile)
            if reason:
                chance = ", ".join(bodies.random_operators(model))
                drawn = f"draws random numbers ({chance}), so it cannot match: " if chance else ""
                return CaseOutcome.FAILED, drawn + reason
    return CaseOutcome.PASSED, ""


def _judge(name: str, expected: Any, actual: Any, profile: Profile) -> str:
    """Say what is wrong with an output, or nothing; the rules of the ONNX runner."""
    kind = getattr(getattr(expected, "dtype", None), "name", "")
    if kind == "bfloat16":
        profile = Profile("case", max(profile.rtol, _BFLOAT16_RTOL), profile.atol)
    figures = agreement.compare(name, expected, actual, profile)
    return "" if figures.agrees else figures.reason
