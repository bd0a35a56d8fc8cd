"""Expected outputs of an upgrade: runs of the original, and what they show.

The judge of expected outputs is, in this order: the original model in ONNX Runtime; the test data
beside the model; the ONNX reference implementation. `evidence` tells which outputs vary at all,
`coverage` which inner graphs the inputs enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hub.protocol import inputs as declarations
from hub.protocol import proofs
from hub.protocol.input_ranges import InputRanges
from hub.protocol.vocabularies import ONNXRUNTIME
from hub.protocol.vocabularies import REFERENCE as REFERENCE_RUNTIME
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job
from runners.engine.runs import agreement, answers
from runners.engine.runs.attempts import AGAIN, Attempt, RunStatus, Session
from runners.engine.runs.child_runs import BUNDLED, ModelFile
from runners.engine.runs.generate import GENERATED, SEARCHED, SWEPT, VARIED
from runners.engine.runs.shared_runs import ModelUnderTest
from runners.engine.upgrades import coverage, evidence
from runners.engine.upgrades.answers import Observations, OutputState, Trace
from runners.engine.upgrades.results import (
    DATA,
    ORIGINAL,
    REFERENCE,
    ExpectedOutputs,
)

# Only these origins are run twice: few inputs suffice to detect randomness.
REPEATED = (BUNDLED, GENERATED)
# Processor seconds that the first generated inputs may take if further inputs are to be tried.
TIME_FOR_MORE = 2.5
# The same for inputs of all sizes and magnitudes.
TIME_FOR_SWEEPS = 0.5
# States of outputs that can show a difference.
_INFORMATIVE = frozenset({"compared", "independent"})


class Baseline:
    """The expected outputs of one model, produced once.

    `declared` is the key `inputs` of the version's card.
    """

    def __init__(self, job: Job, declared: Any = None) -> None:
        self.subject = ModelUnderTest(job, ONNXRUNTIME, declared=declared)
        self.expected: list[ExpectedOutputs] = []
        self.notes: list[str] = []
        self.nondeterministic_reason = ""
        self.crash_reason = ""
        self._trace: Trace | None = None
        self._states: list[OutputState] = []
        self._ranges: InputRanges | None = None
        # The greatest absolute value inside the model; None where it is not measured.
        self.largest: float | None = None
        # Whether a candidate is equal but for what graph optimisation rounds otherwise.
        self.is_fused_otherwise = False
        # Whether one child may do the work of several.
        self._is_fast = False
        self._declared = declarations.parse(declared)

    @property
    def readable(self) -> bool:
        """Whether the original could be read."""
        return self.subject.prepared.is_readable

    @property
    def has_no_baseline(self) -> bool:
        """Whether no run of the original in ONNX Runtime can serve as expected outputs."""
        runs = any(expected.judge == ORIGINAL for expected in self.expected)
        return bool(self.nondeterministic_reason) or not runs

    @property
    def uninformative_reason(self) -> str:
        """Why no output can show a difference, such as outputs without elements; else empty."""
        informative = any(output.state in _INFORMATIVE for output in self._states)
        if not self.expected or not self._states or informative:
            return ""
        outputs = [proofs.Output(output.name, output.state) for output in self._states]
        return "; ".join(output.sentence for output in outputs)

    @property
    def tolerance(self) -> str:
        """Profile used if the original's noise is unknown: of float types, also if quantised."""
        return (agreement.FP16 if self.subject.prepared.half else agreement.FP32).name

    def gather(self) -> None:
        """Produce the expected outputs: by the original, else by bundled data and reference."""
        generated = self.subject.generate()
        attempts = {GENERATED: generated}
        if self.subject.prepared.bundled or generated.status != RunStatus.RAN:
            attempts[BUNDLED] = self.subject.attempt(ONNXRUNTIME, BUNDLED)
        if any(attempt.has_outputs for attempt in attempts.values()):
            self._gather_from_original(attempts)
            return
        why = generated.reason or next(iter(generated.refused.values()), "")
        self.notes.append(f"the runtime does not run the original: {why}")
        crashes = (attempt for attempt in attempts.values() if attempt.status == RunStatus.DIED)
        self.crash_reason = next((attempt.reason for attempt in crashes), "")
        if bundled := self.subject.prepared.bundled:
            folder = self.subject.sets[BUNDLED]
            self.expected.append(ExpectedOutputs(BUNDLED, folder, folder, DATA, len(bundled)))
        self._gather_from_reference()
        self._read_observations()

    def _gather_from_original(self, attempts: dict[str, Attempt]) -> None:
        generated = attempts[GENERATED]
        seconds = generated.seconds if generated.status == RunStatus.RAN else math.inf
        limits = {VARIED: TIME_FOR_MORE, SWEPT: TIME_FOR_SWEEPS}
        more = [origin for origin, limit in limits.items() if seconds < limit]
        self._is_fast = seconds < TIME_FOR_SWEEPS and not self.subject.prepared.random
        if self._is_fast:
            self._run_ahead(attempts, more)
        attempts |= self._run_more(more)
        self._repeat(attempts)
        for origin, attempt in attempts.items():
            self._add_expected(origin, attempt, ORIGINAL)
        self._check_determinism(attempts)
        if not self.nondeterministic_reason:
            self._gather_evidence()

    def _run_ahead(self, attempts: dict[str, Attempt], more: list[str]) -> None:
        """Make the runs of `_run_more` and `_repeat` in one child, and look at their outputs."""
        subject = self.subject
        first = {origin: run for origin, run in attempts.items() if run.has_outputs}
        whole = Session(ONNXRUNTIME, more, subject.original)
        origins = [*first, *more]
        again = replace(whole, origins=list(first), tag=AGAIN)
        plain = replace(whole, origins=origins, optimise=False)
        tasks: dict[str, Callable[[], Any]] = {}
        for run, place in zip(first.values(), subject.results_of(again), strict=True):
            tasks |= subject.compare_task(run.results, place, self.tolerance)
        results = [*(run.results for run in first.values()), *subject.results_of(whole)]
        sets = subject.sets | {origin: subject.place_of(origin) for origin in more}
        tasks |= self._observation(results, [sets[origin] for origin in origins])
        subject.run_ahead([whole, plain, again], tasks, more)

    def _run_more(self, origins: Sequence[str]) -> dict[str, Attempt]:
        problems = {origin: self.subject.generate_more(origin) for origin in origins}
        self.notes += filter(None, problems.values())
        ready = [origin for origin, problem in problems.items() if not problem]
        return self.subject.attempts(ONNXRUNTIME, ready)

    def _add_expected(self, origin: str, attempt: Attempt, judge: str) -> None:
        if attempt.refused:
            count, why = len(attempt.refused), next(iter(attempt.refused.values()))
            named = f"{count} of {attempt.sets} {origin} inputs are"
            self.notes.append(f"{named} left out, the original does not run on them: {why}")
        if attempt.has_outputs:
            own = self._own_runs(origin) if judge == ORIGINAL else ()
            sets = self.subject.sets[origin]
            self.expected.append(
                ExpectedOutputs(
                    origin, sets, attempt.results, judge, attempt.ran, own, attempt.refused
                )
            )

    def _repeat(self, attempts: dict[str, Attempt]) -> None:
        """Make the runs that `_own_runs` requests in one session for each kind."""
        origins = [origin for origin, attempt in attempts.items() if attempt.has_outputs]
        repeated = [origin for origin in origins if origin in REPEATED]
        self.subject.attempts(ONNXRUNTIME, origins, optimise=False)
        self.subject.attempts(ONNXRUNTIME, repeated, tag=AGAIN)

    def _own_runs(self, origin: str) -> tuple[Path, ...]:
        """Outputs of the original without graph optimisation, and in a second session.

        Their distance from the first run is the noise that a candidate may have, too.
        """
        runs = [self.subject.attempt(ONNXRUNTIME, origin, optimise=False)]
        if origin in REPEATED:
            runs.append(self.subject.attempt(ONNXRUNTIME, origin, tag=AGAIN))
        return tuple(run.results for run in runs if run.status == RunStatus.RAN)

    def _check_determinism(self, attempts: dict[str, Attempt]) -> None:
        """Compare two sessions of the original: what differs from itself proves nothing."""
        for expected in self.expected:
            if expected.origin not in REPEATED:
                continue
            again = self.subject.attempt(ONNXRUNTIME, expected.origin, tag=AGAIN)
            first = attempts[expected.origin]
            result = self.subject.compare(first.results, again.results, self.tolerance)
            if not isinstance(result, str) and not result.agreed:
                random = ", ".join(self.subject.prepared.random)
                random = random or "no operator known to draw random numbers"
                self.nondeterministic_reason = f"two runs of the original differ ({random})"

    def _gather_evidence(self) -> None:
        """Observe what the inputs reach; if that is not everything, search for more inputs once."""
        self._observe()
        branches = [] if self._trace is None else self._trace.branches
        informative = all(output.state in _INFORMATIVE for output in self._states)
        if informative and all(branch.taken or not branch.reachable for branch in branches):
            return
        for origin, attempt in self._run_more([SEARCHED]).items():
            self._add_expected(origin, attempt, ORIGINAL)
        self._observe()

    def _observe(self) -> None:
        self._read_observations()
        if self.subject.prepared.bodies:
            self._trace = self._traced(ONNXRUNTIME, self.subject.original)

    def _observation(
        self, results: list[Path], sets: list[Path]
    ) -> dict[str, Callable[[], Observations]]:
        """The task of `_read_observations`, by the name of its stage."""
        task = partial(evidence.observe, self.subject.job.model, results, sets)
        return {f"evidence {results}": task}

    def _read_observations(self) -> None:
        job = self.subject.job
        results = [expected.results for expected in self.expected]
        sets = [expected.sets for expected in self.expected]
        [(name, task)] = self._observation(results, sets).items()
        ending = job.stage(name, task, writes=False)
        if ending.kind == EndingKind.ANSWERED:
            observations = answers.read(Observations, ending.answer)
            self._states, self._ranges = observations.states, observations.ranges
        else:
            self.notes.append(f"looking at the outputs {job.cause(ending)}")

    def _traced(self, runtime: str, model_file: ModelFile) -> Trace | None:
        job, folders = self.subject.job, [expected.sets for expected in self.expected]
        ending = self.subject.run_stage(
            "trace", lambda: coverage.trace(runtime, model_file, folders, job.work / "trace")
        )
        if ending.kind == EndingKind.ANSWERED:
            return answers.read(Trace, ending.answer)
        self.notes.append(f"recording which branches run {job.cause(ending)}")
        return None

    def _gather_from_reference(self) -> None:
        """Add outputs of the reference, unless it contradicts the bundled data."""
        if self.expected:
            attempt = self.subject.attempt(REFERENCE_RUNTIME, BUNDLED)
            result = self.subject.compare(self.expected[0].results, attempt.results, self.tolerance)
            if isinstance(result, str) or not result.agreed:
                self.notes.append("the reference does not meet the bundled data and is not asked")
                return
        reference = ModelUnderTest(
            self.subject.job, REFERENCE_RUNTIME, declared=self.subject.declared
        )
        attempt = reference.generate()
        self.subject.sets[GENERATED] = reference.sets[GENERATED]
        if not attempt.has_outputs:
            why = attempt.reason or next(iter(attempt.refused.values()), "")
            self.notes.append(f"the reference does not run the original: {why}")
        self._add_expected(GENERATED, attempt, REFERENCE)
