"""Runs of one model that several checks of a job share, each made once, and their comparisons.

Every run and every comparison happens in a child process of its own; this process reads only the
children's answers.
"""

from __future__ import annotations

import functools
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hub.protocol.vocabularies import REFERENCE
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.jobs import Job
from runners.engine.runs import answers, child_runs, localise, specification
from runners.engine.runs.answers import (
    Comparison,
    Divergence,
    Evidence,
    Generated,
    Message,
    Name,
    Prepared,
    Ran,
    ShapeDifference,
)
from runners.engine.runs.attempts import AGAIN, Attempt, RunStatus, Session, attempt_of, key_of
from runners.engine.runs.child_runs import BUNDLED, FileKind, ModelFile
from runners.engine.runs.generate import GENERATED, SIZE_GROUPS, SIZES
from runners.engine.runs.optimiser import Case
from runners.engine.runs.stages import FILE_BYTES, run_limits

# The reference is about 100 times slower than ONNX Runtime. Its generated sets after the first
# share this budget; each set has at most the second limit.
_REFERENCE_BUDGET_SECONDS, _REFERENCE_CPU_SECONDS = 10.0, 30
# With less time left than this, a timeout is that of the job, not of the run.
_LATE_SECONDS = 1.5
SEED = 20_240_611
_GENERATED_SET = "test_data_set_generated-"


class ModelUnderTest:
    """One model on one runtime, with its data sets and the runs that were made."""

    def __init__(self, job: Job, runtime: str, *, declared: Any = None) -> None:
        self.job = job
        self.runtime = runtime
        # The key `inputs` of the version's card, not yet parsed.
        self.declared = declared
        self.sizes: Sequence[int] = SIZES
        self.original = ModelFile(job.model, job.model.parent, FileKind.ORIGINAL)
        self.upgraded_opset = 0
        self.sets = {origin: self.place_of(origin) for origin in (BUNDLED, GENERATED)}
        self.generation_problem = ""
        self._attempts: dict[str, Attempt] = {}
        self.prepared = self._prepare()

    def _prepare(self) -> Prepared:
        task = functools.partial(child_runs.prepare, self.job.model, self.job.work / "sets")
        first = self._input_task(self._generated_root(0), GENERATED, SIZES)
        self.job.ahead({"prepare": task, **first}, file_bytes=FILE_BYTES)
        ending = self.job.stage("prepare", task, file_bytes=FILE_BYTES)
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
            "upgrade", lambda: child_runs.upgrade(model, target, runtime), file_bytes=FILE_BYTES
        )
        if ending.kind == EndingKind.ANSWERED:
            self.upgraded_opset = answers.read(int, ending.answer)
        upgraded = [ModelFile(target, model.parent)] if self.upgraded_opset else []
        return [*upgraded, self.original]

    def generate(self) -> Attempt:
        """Generate inputs that the runtime accepts: small ones, or larger ones if those fail."""
        first: tuple[Attempt, Path] | None = None
        for k, sizes in enumerate(SIZE_GROUPS):
            attempt = self._generate(k, sizes)
            if attempt.status != RunStatus.RAN or attempt.ran:
                return attempt
            first = first or (attempt, self.sets[GENERATED])
        if first is None:
            return Attempt(RunStatus.NONE, self.sets[GENERATED], "no inputs were generated")
        # The runtime fails on every size. Other runtimes are tried on the smallest inputs.
        attempt, self.sets[GENERATED] = first
        self._attempts[key_of(self.runtime, GENERATED, FileKind.ORIGINAL, "")] = attempt
        return attempt

    def _generate(self, k: int, sizes: Sequence[int]) -> Attempt:
        root = self._generated_root(k)
        failure = self._make_inputs(root, GENERATED, sizes)
        if failure:
            self.generation_problem = failure
            return Attempt(RunStatus.NONE, root, failure)
        attempt = self._first_run(str(k))
        fit = [size for size in sizes if f"{_GENERATED_SET}{size}" not in attempt.refused]
        self.sizes = fit or sizes
        # Later requests for the run of generated inputs get this one.
        self._attempts[key_of(self.runtime, GENERATED, FileKind.ORIGINAL, "")] = attempt
        return attempt

    def _generated_root(self, k: int) -> Path:
        return self.job.work / f"sets-{k}"

    def _first_run(self, tag: str) -> Attempt:
        """Run the generated sets and, in the same session, bundled sets that have not run yet."""
        bundled = key_of(self.runtime, BUNDLED, FileKind.ORIGINAL, "")
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
            attempt = self._attempts.get(key_of(self.runtime, origin, FileKind.ORIGINAL, ""))
            for difference in attempt.shapes if attempt else ():
                differences.setdefault(difference.name, difference)
        return list(differences.values())

    def generate_more(self, origin: str) -> str:
        """Generate sets of another origin, of the sizes that `generate` found to run.

        Returns why there are none; empty on success.
        """
        return self._make_inputs(self.job.work / "sets", origin, self.sizes)

    def _input_task(
        self, root: Path, origin: str, sizes: Sequence[int]
    ) -> dict[str, Callable[[], Generated]]:
        """The task of `_make_inputs`, by the name of its stage."""
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
        return {f"generate {root.name} {origin}": task}

    def _make_inputs(self, root: Path, origin: str, sizes: Sequence[int]) -> str:
        """Generate sets of an origin. Returns why there are none; empty on success."""
        [(name, task)] = self._input_task(root, origin, sizes).items()
        ending = self.job.stage(name, task, file_bytes=FILE_BYTES)
        if ending.kind != EndingKind.ANSWERED:
            return f"generating inputs {self.job.cause(ending)}"
        failure = answers.read(Generated, ending.answer).failure
        if not failure:
            self.sets[origin] = root / origin
        return failure

    def run_ahead(
        self,
        sessions: Sequence[Session],
        tasks: Mapping[str, Callable[[], Any]],
        origins: Sequence[str] = (),
    ) -> None:
        """Make runs, and do tasks on their outputs, in one child, for later calls.

        Sets of `origins` are generated before. What does not succeed is left to those calls. For
        models that run fast: all together has the time of one run.
        """
        todo: dict[str, Callable[[], Any]] = {}
        for origin in origins:
            self.sets[origin] = self.place_of(origin)
            todo |= self._input_task(self.job.work / "sets", origin, self.sizes)
        todo |= {session.name: self._run_task(session) for session in sessions}
        if self.job.ahead({**todo, **tasks}, **run_limits(self.job)):
            return
        for session in sessions:
            self._clear(session)

    def place_of(self, origin: str) -> Path:
        """The folder of the data sets of an origin, unless it has several sizes to try."""
        return self.job.work / "sets" / origin

    def results_of(self, session: Session) -> list[Path]:
        """Folders of the outputs, in the order of the origins."""
        return [self.job.work / "runs" / key for key in session.keys]

    def _run_task(self, session: Session, budget: float = math.inf) -> Callable[[], list[Ran]]:
        sets = [self.sets[origin] for origin in session.origins]
        return functools.partial(
            child_runs.run,
            session.runtime,
            session.model_file,
            list(zip(sets, self.results_of(session), strict=True)),
            optimise=session.optimise,
            budget=budget,
        )

    def _clear(self, session: Session) -> None:
        for place in self.results_of(session):
            shutil.rmtree(place, ignore_errors=True)

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
        whole = Session(runtime, origins, file, optimise, tag)
        keys = dict(zip(origins, whole.keys, strict=True))
        missing = [origin for origin, key in keys.items() if key not in self._attempts]
        if len(missing) > 1 and runtime != REFERENCE and not self.prepared.random:
            self._run_together(replace(whole, origins=missing))
        for origin in missing:
            if keys[origin] not in self._attempts:
                self._attempts[keys[origin]] = self._run(replace(whole, origins=[origin]))
        return {origin: self._attempts[key] for origin, key in keys.items()}

    def _run_together(self, session: Session) -> None:
        ending = self.run_stage(session.name, self._run_task(session))
        if ending.kind != EndingKind.ANSWERED:
            self._clear(session)
            return
        runs = answers.session(ending.answer, len(session.origins))
        results = self.results_of(session)
        for key, place, run in zip(session.keys, results, runs, strict=True):
            self._attempts[key] = attempt_of(run, place, session.model_file)

    def _run(self, session: Session) -> Attempt:
        """Run the data sets of the one origin of a session."""
        [results], file_kind = self.results_of(session), session.model_file.kind
        # Bundled data are never bounded: whether they are right must not depend on time.
        is_bounded = session.runtime == REFERENCE and session.origins == [GENERATED]
        # A repeated run needs one set only, to see whether the reference is deterministic.
        seconds = 0.0 if session.tag == AGAIN else _REFERENCE_BUDGET_SECONDS
        ending = self.run_stage(
            session.name,
            self._run_task(session, seconds if is_bounded else math.inf),
            cpu_seconds=_REFERENCE_CPU_SECONDS if is_bounded else 0,
        )
        if ending.kind == EndingKind.ANSWERED:
            [run] = answers.session(ending.answer, 1)
            return attempt_of(run, results, session.model_file)
        if ending.kind == EndingKind.TIMED_OUT:
            return self._out_of_time(results, file_kind)
        status = RunStatus.DIED
        if ending.kind == EndingKind.RAISED:
            status = _RAISED.get(ending.answer[0], RunStatus.REFUSED)
        return Attempt(
            status,
            results,
            self.job.cause(ending),
            file_kind=file_kind,
            signal=ending.kind == EndingKind.SIGNALLED,
        )

    def run_stage(self, name: str, task: Callable[[], Any], *, cpu_seconds: int = 0) -> Ending:
        """Run a task in a child with the time limits of a run, or with `cpu_seconds`."""
        return self.job.stage(name, task, **run_limits(self.job, cpu_seconds))

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
        [(name, task)] = self.compare_task(expected, actual, profile).items()
        ending = self.job.stage(name, task, writes=False)
        if ending.kind != EndingKind.ANSWERED:
            return f"comparing the outputs {self.job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def compare_task(
        self, expected: Path, actual: Path, profile: str = ""
    ) -> dict[str, Callable[[], Comparison]]:
        """The task of `compare`, by the name of its stage."""
        profile = profile or self.prepared.profile
        task = functools.partial(child_runs.compare, self.job.model, expected, actual, profile)
        return {f"compare {expected} with {actual} by {profile}": task}

    def localise(self, parties: localise.Parties, origin: str, name: str) -> Divergence:
        """Find the first node whose outputs differ between two runtimes on one data set."""
        # Optimised and unoptimised runs of one runtime are compared on the original file only.
        model_files = [self.original] if parties.optimised else self.model_files
        places = localise.Places(self.sets[origin], self.job.work, self.job.out)
        ending = self.job.stage(
            "localise",
            lambda: localise.find(parties, model_files, places, name),
            **run_limits(self.job),
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

    def optimiser_case(self, origin: str, unoptimised: Attempt, name: str) -> Case:
        """One data set with the outputs of a run without optimisation, for `stages`."""
        return Case(self.sets[origin], unoptimised.results, name)


# Exception raised when loading a model -> status of the run.
_RAISED = {
    "UnsupportedModelError": RunStatus.UNSUPPORTED,
    "UnpreparedError": RunStatus.UNPREPARED,
}
