"""Runs of one model that several checks of a job share, each made once, and their comparisons.

Every run and every comparison happens in a child process of its own; this process reads only the
children's answers.
"""

from __future__ import annotations

import functools
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import REFERENCE
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.runs import answers, child_runs, localise, optimiser, specification
from runners.engine.runs.answers import (
    Comparison,
    Divergence,
    Evidence,
    Generated,
    Message,
    Name,
    OptimisedRun,
    Prepared,
    Ran,
    ReducedModel,
    ShapeDifference,
)
from runners.engine.runs.child_runs import BUNDLED, FileKind, ModelFile
from runners.engine.runs.generate import GENERATED

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.jobs import Job
    from runners.engine.runs.optimiser import OptimiserFault
    from runners.engine.runtimes.graph_passes import GraphPasses

# Limits of one run of all data sets of an origin. Sets that the slow reference has not finished by
# then are not judged.
_RUN_CPU_SECONDS, _RUN_WALL_SECONDS = 60, 120.0
# The reference is about 100 times slower than ONNX Runtime. Its generated sets after the first
# share this budget; each set has at most the second limit.
_REFERENCE_BUDGET_SECONDS, _REFERENCE_CPU_SECONDS = 10.0, 30
_FILE_BYTES = 1 << 30
# With less time left than this, a timeout is that of the job, not of the run.
_LATE_SECONDS = 1.5
# Sizes of generated inputs for free dimensions. The next group is tried if no input of the previous
# group runs.
SIZES = ((1, 2, 3), (16, 32, 64), (576, 1024, 1600))
SEED = 20_240_611
# Tag of a repeated run in a new session.
AGAIN = "again"
_GENERATED_SET = "test_data_set_generated-"


class RunStatus(StrEnum):
    """How a run of a model ended.

    `UNSUPPORTED`: the runtime lacks an operator; `UNPREPARED`: the machine lacks something that the
    runtime needs; `REFUSED`: the model was not loaded; `DIED`: the child crashed or exceeded a
    limit; `LATE`: the job ran out of time; `NONE`: there are no inputs.
    """

    RAN = "ran"
    UNSUPPORTED = "unsupported"
    UNPREPARED = "unprepared"
    REFUSED = "refused"
    DIED = "died"
    LATE = "late"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of running a model on all data sets of one origin.

    `results` is the folder of the outputs; `refused` maps names of data sets that failed to the
    reason; `sets` counts all sets that were tried; `note` says why a run is incomplete; `signal`
    tells whether a signal ended the child; `seconds` is processor time; `shapes` are those outputs
    that contradict the declared shapes.
    """

    status: RunStatus
    results: Path
    reason: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    sets: int = 0
    file_kind: FileKind | None = None
    note: str = ""
    signal: bool = False
    seconds: float = 0.0
    shapes: Sequence[ShapeDifference] = ()

    @property
    def ran(self) -> int:
        """Number of data sets that have outputs."""
        return self.sets - len(self.refused)

    @property
    def has_outputs(self) -> bool:
        """Whether the model ran on at least one data set."""
        return self.status == RunStatus.RAN and self.ran > 0


class ModelUnderTest:
    """One model on one runtime, with its data sets and the runs that were made."""

    def __init__(self, job: Job, runtime: str, *, declared: Any = None) -> None:
        self.job = job
        self.runtime = runtime
        # The key `inputs` of the version's card, not yet parsed.
        self.declared = declared
        self.sizes: Sequence[int] = SIZES[0]
        self.original = ModelFile(job.model, job.model.parent, FileKind.ORIGINAL)
        self.upgraded_opset = 0
        self.sets = {origin: job.work / "sets" / origin for origin in (BUNDLED, GENERATED)}
        self.prepared = self._prepare()
        self.generation_problem = ""
        self._attempts: dict[str, Attempt] = {}

    def _prepare(self) -> Prepared:
        root, model = self.job.work / "sets", self.job.model
        ending = self.job.stage(
            "prepare", lambda: child_runs.prepare(model, root), file_bytes=_FILE_BYTES
        )
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(Prepared, ending.answer)
        return Prepared(problem=self.job.cause(ending), is_readable=False)

    @functools.cached_property
    def model_files(self) -> list[ModelFile]:
        """The files of the model, the one that the reference runs best first.

        That is the model at the newest opset of the reference, if it can be converted.
        """
        model, target = self.job.model, self.job.work / "upgraded" / "model.onnx"
        runtime = self.runtime
        ending = self.job.stage(
            "upgrade", lambda: child_runs.upgrade(model, target, runtime), file_bytes=_FILE_BYTES
        )
        if ending.kind == EndingKind.ANSWERED:
            self.upgraded_opset = answers.read(int, ending.answer)
        upgraded = [ModelFile(target, model.parent)] if self.upgraded_opset else []
        return [*upgraded, self.original]

    def generate(self) -> Attempt:
        """Generate inputs that the runtime accepts: small ones, or larger ones if those fail."""
        first: tuple[Attempt, Path] | None = None
        for k, sizes in enumerate(SIZES):
            attempt = self._generate(k, sizes)
            if attempt.status != RunStatus.RAN or attempt.ran:
                return attempt
            first = first or (attempt, self.sets[GENERATED])
        if first is None:
            return Attempt(RunStatus.NONE, self.sets[GENERATED], "no inputs were generated")
        # The runtime fails on every size. Other runtimes are tried on the smallest inputs.
        attempt, self.sets[GENERATED] = first
        self._attempts[_key(self.runtime, GENERATED, FileKind.ORIGINAL, "")] = attempt
        return attempt

    def _generate(self, k: int, sizes: Sequence[int]) -> Attempt:
        root = self.job.work / f"sets-{k}"
        failure = self._make_inputs(root, GENERATED, sizes)
        if failure:
            self.generation_problem = failure
            return Attempt(RunStatus.NONE, root, failure)
        attempt = self._first_run(str(k))
        fit = [size for size in sizes if f"{_GENERATED_SET}{size}" not in attempt.refused]
        self.sizes = fit or sizes
        # Later requests for the run of generated inputs get this one.
        self._attempts[_key(self.runtime, GENERATED, FileKind.ORIGINAL, "")] = attempt
        return attempt

    def _first_run(self, tag: str) -> Attempt:
        """Run the generated sets and, in the same session, bundled sets that have not run yet."""
        bundled = _key(self.runtime, BUNDLED, FileKind.ORIGINAL, "")
        origins = [GENERATED]
        if self.prepared.bundled and bundled not in self._attempts:
            origins.append(BUNDLED)
        attempts = self.attempts(self.runtime, origins, tag=tag)
        if BUNDLED in attempts:
            self._attempts[bundled] = attempts[BUNDLED]
        return attempts[GENERATED]

    @property
    def shape_differences(self) -> list[ShapeDifference]:
        """The outputs whose shapes contradict the declared ones in the runs of the runtime."""
        differences: dict[str, ShapeDifference] = {}
        for origin in (GENERATED, BUNDLED):
            attempt = self._attempts.get(_key(self.runtime, origin, FileKind.ORIGINAL, ""))
            for difference in attempt.shapes if attempt else ():
                differences.setdefault(difference.name, difference)
        return list(differences.values())

    def generate_more(self, origin: str) -> str:
        """Generate sets of another origin, of the sizes that `generate` found to run.

        Returns why there are none; empty on success.
        """
        return self._make_inputs(self.job.work / "sets", origin, self.sizes)

    def _make_inputs(self, root: Path, origin: str, sizes: Sequence[int]) -> str:
        """Generate sets of an origin. Returns why there are none; empty on success."""
        task = functools.partial(
            child_runs.make_inputs,
            self.job.model,
            root,
            SEED,
            sizes,
            declared=self.declared,
            origin=origin,
            examples=self.job.input,
        )
        ending = self.job.stage("generate", task, file_bytes=_FILE_BYTES)
        if ending.kind != EndingKind.ANSWERED:
            return f"generating inputs {self.job.cause(ending)}"
        failure = answers.read(Generated, ending.answer).failure
        if not failure:
            self.sets[origin] = root / origin
        return failure

    def attempt(
        self,
        runtime: str,
        origin: str,
        *,
        model_file: ModelFile | None = None,
        optimise: bool = True,
        tag: str = "",
    ) -> Attempt:
        """Run all data sets of one origin; a repeated request gets the run that was made before."""
        attempts = self.attempts(
            runtime, [origin], model_file=model_file, optimise=optimise, tag=tag
        )
        return attempts[origin]

    def attempts(
        self,
        runtime: str,
        origins: Sequence[str],
        *,
        model_file: ModelFile | None = None,
        optimise: bool = True,
        tag: str = "",
    ) -> dict[str, Attempt]:
        """Run the data sets of several origins, in one session where the outputs are the same.

        A model that draws random numbers may draw others later in a session, and the reference is
        so slow that its origins must not share one time limit. If the common session gives no
        answer, each origin runs alone, so that a crash on one does not condemn the others.
        """
        file = model_file or self.original
        full_tag = tag if optimise else f"{tag}unoptimised"
        keys = {origin: _key(runtime, origin, file.kind, full_tag) for origin in origins}
        missing = {origin: key for origin, key in keys.items() if key not in self._attempts}
        if len(missing) > 1 and runtime != REFERENCE and not self.prepared.random:
            self._run_together(runtime, missing, file, optimise=optimise)
        for origin, key in missing.items():
            if key not in self._attempts:
                self._attempts[key] = self._run(runtime, origin, file, optimise=optimise, key=key)
        return {origin: self._attempts[key] for origin, key in keys.items()}

    def _run_together(
        self, runtime: str, keys: dict[str, str], model_file: ModelFile, *, optimise: bool
    ) -> None:
        places = [self.job.work / "runs" / key for key in keys.values()]
        pairs = list(zip([self.sets[origin] for origin in keys], places, strict=True))
        ending = self.run_stage(
            f"run {' and '.join(keys.values())}",
            lambda: child_runs.run(runtime, model_file, pairs, optimise=optimise),
        )
        if ending.kind == EndingKind.ANSWERED:
            runs = answers.session(ending.answer, len(keys))
            for key, place, run in zip(keys.values(), places, runs, strict=True):
                self._attempts[key] = _attempt_of(run, place, model_file)
            return
        for place in places:
            shutil.rmtree(place, ignore_errors=True)

    def _run(
        self, runtime: str, origin: str, model_file: ModelFile, *, optimise: bool, key: str
    ) -> Attempt:
        results, sets = self.job.work / "runs" / key, self.sets[origin]
        # Bundled data are never bounded: whether they are right must not depend on time.
        is_bounded = runtime == REFERENCE and origin == GENERATED
        # A repeated run needs one set only, to see whether the reference is deterministic.
        seconds = 0.0 if key.endswith(f"-{AGAIN}") else _REFERENCE_BUDGET_SECONDS
        budget = seconds if is_bounded else math.inf
        ending = self.run_stage(
            f"run {key}",
            lambda: child_runs.run(
                runtime, model_file, [(sets, results)], optimise=optimise, budget=budget
            ),
            cpu_seconds=_REFERENCE_CPU_SECONDS if is_bounded else 0,
        )
        if ending.kind == EndingKind.ANSWERED:
            [run] = answers.session(ending.answer, 1)
            return _attempt_of(run, results, model_file)
        if ending.kind == EndingKind.TIMED_OUT:
            return self._out_of_time(results, model_file.kind)
        status = RunStatus.DIED
        if ending.kind == EndingKind.RAISED:
            status = _RAISED.get(ending.answer[0], RunStatus.REFUSED)
        return Attempt(
            status,
            results,
            self.job.cause(ending),
            file_kind=model_file.kind,
            signal=ending.kind == EndingKind.SIGNALLED,
        )

    def run_stage(self, name: str, task: Callable[[], Any], *, cpu_seconds: int = 0) -> Ending:
        """Run a task in a child with the time limits of a run, or with `cpu_seconds`."""
        usual = self.job.limits()
        return self.job.stage(
            name,
            task,
            wall_seconds=max(usual.wall_seconds, _RUN_WALL_SECONDS),
            cpu_seconds=cpu_seconds or max(usual.cpu_seconds, _RUN_CPU_SECONDS),
            file_bytes=_FILE_BYTES,
        )

    def _out_of_time(self, results: Path, file_kind: FileKind) -> Attempt:
        """Keep the outputs that a run had written when it reached its time limit."""
        is_job_late = self.job.seconds_left() <= _LATE_SECONDS
        note = f"{'the job' if is_job_late else 'the run'} ran out of time"
        ending = self.job.stage("count", lambda: child_runs.count(results), writes=False)
        done = answers.read(int, ending.answer) if ending.kind == EndingKind.ANSWERED else 0
        if done:
            note = f"{note} after {done} sets"
            return Attempt(RunStatus.RAN, results, sets=done, file_kind=file_kind, note=note)
        status = RunStatus.LATE if is_job_late else RunStatus.DIED
        return Attempt(status, results, note, file_kind=file_kind)

    def compare(self, expected: Path, actual: Path, profile: str = "") -> Comparison | str:
        """Compare the outputs in two folders; a string says why that failed."""
        model, profile = self.job.model, profile or self.prepared.profile
        ending = self.job.stage(
            "compare", lambda: child_runs.compare(model, expected, actual, profile), writes=False
        )
        if ending.kind != EndingKind.ANSWERED:
            return f"comparing the outputs {self.job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def localise(self, parties: localise.Parties, origin: str, name: str) -> Divergence:
        """Find the first node whose outputs differ between two runtimes on one data set."""
        # Optimised and unoptimised runs of one runtime are compared on the original file only.
        model_files = [self.original] if parties.optimised else self.model_files
        places = localise.Places(self.sets[origin], self.job.work, self.job.out)
        ending = self.job.stage(
            "localise",
            lambda: localise.find(parties, model_files, places, name),
            wall_seconds=_RUN_WALL_SECONDS,
            cpu_seconds=_RUN_CPU_SECONDS,
            file_bytes=_FILE_BYTES,
        )
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(Divergence, ending.answer)
        note = f"looking for the node {self.job.cause(ending)}"
        return Divergence(None, Evidence(""), Message(note))

    def overflows(self, expected: Path, actual: Path) -> list[Name]:
        """Outputs of a half-precision model that overflow in one run alone; else empty."""
        if not self.prepared.half:
            return []
        task = functools.partial(child_runs.overflows, self.job.model, expected, actual)
        ending = self.job.stage("overflows", task, writes=False)
        return answers.read(list[Name], ending.answer) if ending.kind == EndingKind.ANSWERED else []

    def unjudged(self, file_kind: FileKind | None) -> list[Name]:
        """Operators of a file of the model that the reference does not compute as defined."""
        model_file = next(file for file in self.model_files if file.kind == file_kind)
        ending = self.job.stage(
            "specification",
            lambda: specification.unjudged(self.original.load(), model_file.load()),
            writes=False,
        )
        return answers.read(list[Name], ending.answer) if ending.kind == EndingKind.ANSWERED else []

    def names_of(self, attempt: Attempt) -> list[Name]:
        """Names of the data sets that have outputs of a run."""
        task = functools.partial(child_runs.names_in, attempt.results)
        ending = self.job.stage("names", task, writes=False)
        return answers.read(list[Name], ending.answer) if ending.kind == EndingKind.ANSWERED else []

    def optimiser_fault(
        self, origin: str, unoptimised: Attempt, name: str, model_file: ModelFile | None = None
    ) -> OptimiserFault | None:
        """Find what the graph optimiser breaks on one data set; None if it breaks nothing.

        `unoptimised` is the run of the data sets of `origin` without optimisation, which has
        outputs. Each run is a child of its own, since a pass may crash it.
        """
        case = optimiser.Case(self.sets[origin], unoptimised.results, name)
        file, profile = model_file or self.original, self.prepared.profile
        log = self.job.work / "optimiser.log"

        def run_with(passes: GraphPasses) -> OptimisedRun:
            ending = self.run_stage(
                "optimiser", lambda: optimiser.run(file, case, passes, profile, log)
            )
            if ending.kind == EndingKind.ANSWERED:
                return answers.read(OptimisedRun, ending.answer)
            log_ending = self.job.stage("log", lambda: optimiser.suspects_in(log), writes=False)
            is_read = log_ending.kind == EndingKind.ANSWERED
            suspects = answers.read(list[Name], log_ending.answer) if is_read else []
            return OptimisedRun(Message(self.job.cause(ending)), suspects)

        return optimiser.search(run_with)

    def smallest_failure(
        self, origin: str, unoptimised: Attempt, name: str, fault: OptimiserFault
    ) -> ReducedModel:
        """Cut the smallest model out that shows a fault of the optimiser, as evidence."""
        case = optimiser.Case(self.sets[origin], unoptimised.results, name)
        places = localise.Places(self.sets[origin], self.job.work, self.job.out)
        profile = self.prepared.profile
        ending = self.run_stage(
            "reduce", lambda: optimiser.reduce(self.original, case, fault, profile, places)
        )
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(ReducedModel, ending.answer)
        return ReducedModel([], Evidence(""))


def _attempt_of(run: Ran, results: Path, model_file: ModelFile) -> Attempt:
    note = f"{run.left_out} larger inputs left out to save time" if run.left_out else ""
    return Attempt(
        RunStatus.RAN,
        results,
        refused=run.refused,
        sets=run.sets,
        file_kind=model_file.kind,
        note=note,
        seconds=run.seconds,
        shapes=run.shapes,
    )


def _key(runtime: str, origin: str, file_kind: FileKind, tag: str) -> str:
    return "-".join(part for part in (runtime, origin, file_kind, tag) if part)


# Exception raised when loading a model -> status of the run.
_RAISED = {
    "UnsupportedModelError": RunStatus.UNSUPPORTED,
    "UnpreparedError": RunStatus.UNPREPARED,
}
