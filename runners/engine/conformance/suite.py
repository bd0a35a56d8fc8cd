"""The suite task: the ONNX node tests on one runtime, a part at a time.

The cases run in batches; when one ends its child, it is run alone to be sure, and the next child
goes on behind it. So a runtime that crashes costs one case, not the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.conformance import cases
from runners.engine.jobs import JobError
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.runs import agreement, child_runs, shared_runs
from runners.engine.runs.agreement import Profile

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.confine.children import Ending
    from runners.engine.conformance.cases import Case
    from runners.engine.jobs import Job
    from runners.engine.reports import Report

OUTCOMES = ("passed", "failed", "unsupported", "crashed", "timed-out")
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
    if ending.kind != "answered":
        words = shared_runs.told(ending, job)
        raise JobError("suite-unreadable", f"The ONNX node tests could not be made: {words}")
    measures = _Round(job, runtime, folder, int(ending.answer)).run()
    totals = {word: sum(one["outcome"] == word for one in measures) for word in OUTCOMES}
    facts = {"runtime": runtime, "part": part, "parts": parts, "totals": totals}
    return job.report("passed", (), facts, measures)


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

    def run(self) -> list[dict[str, Any]]:
        measures: list[dict[str, Any]] = []
        while len(measures) < self._count:
            first = len(measures)
            self._job.tell(10 + 90 * first // self._count, "run")
            ending = self._stage(first, min(first + _BATCH, self._count))
            if ending.kind == "answered":
                measures += ending.answer
                continue
            measures += self._survivors(first)
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

    def _survivors(self, first: int) -> list[dict[str, Any]]:
        """Ask what a child that died had already found."""
        folder = self._folder
        ending = self._job.stage("journal", lambda: read_journal(folder, first), writes=False)
        return list(ending.answer) if ending.kind == "answered" else []

    def _alone(self, number: int) -> dict[str, Any]:
        ending = self._stage(number, number + 1)
        if ending.kind == "answered":
            measure: dict[str, Any] = ending.answer[0]
            return measure
        folder = self._folder
        words = shared_runs.told(ending, self._job)
        word = "timed-out" if ending.kind == "timed-out" else "crashed"
        named = self._job.stage(
            "name", lambda: _measure(read_case(folder, number), word, words), writes=False
        )
        if named.kind != "answered":
            raise JobError("suite-unreadable", "The index of the ONNX node tests cannot be read.")
        found: dict[str, Any] = named.answer
        return found


def read_case(folder: Path, number: int) -> Case:
    """Give one case of the index."""
    return cases.read_index(folder)[number]


def run_batch(runtime: str, folder: Path, first: int, end: int) -> list[dict[str, Any]]:
    """Run some cases one after the other, keeping a journal; for a child."""
    import json  # noqa: PLC0415

    chosen = runtimes.of(runtime)
    found = []
    with (folder / f"{_JOURNAL}-{first}").open("w", encoding="utf-8") as journal:
        for case in cases.read_index(folder)[first:end]:
            measure = _measure(case, *_try(chosen, case, folder / str(case.number)))
            found.append(measure)
            print(json.dumps(measure), file=journal, flush=True)
    return found


def read_journal(folder: Path, first: int) -> list[dict[str, Any]]:
    """Give what the batch beginning here had found before its child ended."""
    import json  # noqa: PLC0415

    path = folder / f"{_JOURNAL}-{first}"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:  # the child ended in the middle of a line
            break
    return found


def _measure(case: Case, outcome: str, reason: str) -> dict[str, Any]:
    return {
        "case": case.name,
        "operator": case.operator,
        "opset": case.opset,
        "outcome": outcome,
        "reason": text.clip(reason, _REASON_LENGTH),
    }


def _try(runtime: runtimes.Runtime, case: Case, home: Path) -> tuple[str, str]:
    if case.problem:
        return "unsupported", case.problem
    path = home / "model.onnx"
    model = child_runs.load(path)
    try:
        go = runtime.open(path)
    except runtimes.LoadError as error:
        return "unsupported", shared_runs.plain(str(error), str(home))
    profile = Profile("case", rtol=case.rtol, atol=case.atol)
    for dataset in datasets.read(home, model):
        try:
            values = go(dataset.inputs)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = (
                f"does not run: {type(error).__name__}: {shared_runs.plain(str(error), str(home))}"
            )
            return "failed", words
        for port, value in zip(model.graph.output, values, strict=True):
            expected = dataset.outputs.get(port.name)
            reason = _judge(port.name, expected, value, profile)
            if reason:
                chance = ", ".join(bodies.random_operators(model))
                drawn = f"draws random numbers ({chance}), so it cannot match: " if chance else ""
                return "failed", drawn + reason
    return "passed", ""


def _judge(name: str, expected: Any, actual: Any, profile: Profile) -> str:
    """Say what is wrong with an output, or nothing; the rules of the ONNX runner."""
    kind = getattr(getattr(expected, "dtype", None), "name", "")
    if kind == "bfloat16":
        profile = Profile("case", max(profile.rtol, _BFLOAT16_RTOL), profile.atol)
    figures = agreement.compare(name, expected, actual, profile)
    return "" if figures.agrees else figures.reason
