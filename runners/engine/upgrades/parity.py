"""Whether a converted model computes the same as the original: expected outputs and comparison.

The judge of expected outputs is, in this order: the original model in ONNX Runtime; the test data
beside the model; the ONNX reference implementation. If the original runs, a candidate must stay
within the numerical noise of the original (`noise`), and no tolerance is chosen by data type.
Otherwise a tolerance applies, and the proof states it. `evidence` tells which outputs vary at all,
`coverage` which inner graphs the inputs enter.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hub.protocol import inputs as declarations
from hub.protocol import proofs
from hub.protocol.vocabularies import ONNXRUNTIME
from hub.protocol.vocabularies import REFERENCE as REFERENCE_RUNTIME
from runners.engine.confine.children import EndingKind
from runners.engine.runs import agreement, answers, noise
from runners.engine.runs.answers import Comparison, Inside, Observations, OutputState, Row, Trace
from runners.engine.runs.child_runs import BUNDLED, ModelFile
from runners.engine.runs.generate import GENERATED, SEARCHED, SWEPT, VARIED
from runners.engine.runs.shared_runs import AGAIN, Attempt, ModelUnderTest, RunStatus
from runners.engine.upgrades import candidates, coverage, evidence, results
from runners.engine.upgrades.results import (
    DATA,
    ORIGINAL,
    REFERENCE,
    CandidateResult,
    ExpectedOutputs,
    TargetStatus,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hub.protocol.input_ranges import InputRanges
    from runners.engine.jobs import Job

# Origin of the few data sets on which slow comparisons run.
_WITNESSED = "witnessed"
_WITNESSED_SETS = 1
_WORST = ("max_abs", "max_rel", "p999_rel", "ulp_max")
# Only these origins are run twice: few inputs suffice to detect randomness.
_REPEATED = (BUNDLED, GENERATED)
_GENERATED = (GENERATED, VARIED, SWEPT, SEARCHED)
# Processor seconds that the first generated inputs may take if further inputs are to be tried.
TIME_FOR_MORE = 2.5
# The same for inputs of all sizes and magnitudes.
TIME_FOR_SWEEPS = 0.5
# The same for a run of the reference, which is about 100 times slower.
_TIME_FOR_THE_REFERENCE = 0.5
_TOLERANCES = {
    profile.name: f"{profile.rtol:g} relative and {profile.atol:g} absolute"
    for profile in (agreement.FP32, agreement.FP16)
}
# States of outputs that can show a difference.
_INFORMATIVE = frozenset({"compared", "independent"})


class ParityCheck:
    """Produces expected outputs once and compares candidates with them.

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
        self._reference: Attempt | None = None
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
        if not self._states or any(output.state in _INFORMATIVE for output in self._states):
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
        self.notes.append(f"the runtime does not run the original: {generated.reason}")
        crashes = (attempt for attempt in attempts.values() if attempt.status == RunStatus.DIED)
        self.crash_reason = next((attempt.reason for attempt in crashes), "")
        if bundled := self.subject.prepared.bundled:
            folder = self.subject.sets[BUNDLED]
            self.expected.append(ExpectedOutputs(BUNDLED, folder, folder, DATA, len(bundled)))
        self._gather_from_reference()
        self._read_observations()

    def _gather_from_original(self, attempts: dict[str, Attempt]) -> None:
        generated = attempts[GENERATED]
        if generated.status == RunStatus.RAN and generated.seconds < TIME_FOR_MORE:
            attempts |= self._run_more(VARIED)
        if generated.status == RunStatus.RAN and generated.seconds < TIME_FOR_SWEEPS:
            attempts |= self._run_more(SWEPT)
        self._repeat(attempts)
        for origin, attempt in attempts.items():
            self._add_expected(origin, attempt, ORIGINAL)
        self._check_determinism(attempts)
        if not self.nondeterministic_reason:
            self._gather_evidence()

    def _run_more(self, origin: str) -> dict[str, Attempt]:
        problem = self.subject.generate_more(origin)
        if problem:
            self.notes.append(problem)
            return {}
        return {origin: self.subject.attempt(ONNXRUNTIME, origin)}

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
        repeated = [origin for origin in origins if origin in _REPEATED]
        self.subject.attempts(ONNXRUNTIME, origins, optimise=False)
        self.subject.attempts(ONNXRUNTIME, repeated, tag=AGAIN)

    def _own_runs(self, origin: str) -> tuple[Path, ...]:
        """Outputs of the original without graph optimisation, and in a second session.

        Their distance from the first run is the noise that a candidate may have, too.
        """
        runs = [self.subject.attempt(ONNXRUNTIME, origin, optimise=False)]
        if origin in _REPEATED:
            runs.append(self.subject.attempt(ONNXRUNTIME, origin, tag=AGAIN))
        return tuple(run.results for run in runs if run.status == RunStatus.RAN)

    def _check_determinism(self, attempts: dict[str, Attempt]) -> None:
        """Compare two sessions of the original: what differs from itself proves nothing."""
        for expected in self.expected:
            if expected.origin not in _REPEATED:
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
        for origin, attempt in self._run_more(SEARCHED).items():
            self._add_expected(origin, attempt, ORIGINAL)
        self._observe()

    def _observe(self) -> None:
        self._read_observations()
        if self.subject.prepared.bodies:
            self._trace = self._traced(ONNXRUNTIME, self.subject.original)

    def _read_observations(self) -> None:
        job = self.subject.job
        results = [expected.results for expected in self.expected]
        sets = [expected.sets for expected in self.expected]
        ending = job.stage(
            "evidence", lambda: evidence.observe(job.model, results, sets), writes=False
        )
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
        if attempt.status != RunStatus.RAN:
            self.notes.append(f"the reference does not run the original: {attempt.reason}")
        self._add_expected(GENERATED, attempt, REFERENCE)

    def judge(
        self, candidate: ModelFile, runtime: str, tag: str, changed: frozenset[str]
    ) -> CandidateResult:
        """Compare a candidate with all expected outputs.

        `changed` are the operators whose meaning differs between the two opsets.
        """
        rows: list[Row] = []
        answered: list[str] = []
        origins = [expected.origin for expected in self.expected]
        self.subject.attempts(runtime, origins, model_file=candidate, tag=tag)
        for expected in self.expected:
            origin = expected.origin
            attempt = self.subject.attempt(runtime, origin, model_file=candidate, tag=tag)
            if attempt.status != RunStatus.RAN:
                has_died = attempt.status == RunStatus.DIED
                status = TargetStatus.CRASHED if has_died else TargetStatus.NOT_LOADING
                fault = self._optimiser_fault(candidate, runtime, origin, tag)
                return CandidateResult(status, f"{attempt.reason}{fault}")
            result = self._compare(expected, attempt, runtime, candidate, tag)
            if isinstance(result, str):
                return CandidateResult(TargetStatus.NOT_COMPARABLE, result)
            rows += result.rows
            if not result.agrees:
                worst = (origin, result.worst)
                return CandidateResult(
                    TargetStatus.PARITY_LOST, results.first_difference(result), rows, worst
                )
            if len(result.sets) < expected.count:
                why = next(iter(attempt.refused.values()), "a data set has no outputs")
                return CandidateResult(TargetStatus.NOT_RUNNING, why, rows)
            if runtime == ONNXRUNTIME and expected.judge == ORIGINAL:
                left = expected.refused.items()
                answered += [why for name, why in left if name not in attempt.refused]
        proof = self._proof(candidate, runtime, tag, changed, rows)
        if answered:
            proof = replace(proof, refused=proofs.RefusedInputs(len(answered), answered[0]))
        gaps = "; ".join(proof.gaps)
        if proof.proves_nothing:
            reason = gaps or "no output was compared"
            return CandidateResult(TargetStatus.NOT_PROVABLE, reason, rows)
        is_partial = proof.strength == proofs.Strength.PARTIAL
        status = TargetStatus.PARTIAL if is_partial else TargetStatus.EQUAL
        return CandidateResult(status, gaps, rows, runtime=runtime, proof=proof)

    def _optimiser_fault(self, candidate: ModelFile, runtime: str, origin: str, tag: str) -> str:
        """What the graph optimiser breaks in a candidate that it alone keeps from running."""
        if runtime != ONNXRUNTIME:
            return ""
        unoptimised = self.subject.attempt(
            runtime, origin, model_file=candidate, optimise=False, tag=tag
        )
        if not unoptimised.has_outputs:
            return ""
        [name, *_] = self.subject.names_of(unoptimised)
        fault = self.subject.optimiser_fault(origin, unoptimised, name, candidate)
        where = f"; it fails {fault.sentence}" if fault else ""
        return f"; the optimiser is at fault, since without graph optimisation it runs{where}"

    def _compare(
        self,
        expected: ExpectedOutputs,
        attempt: Attempt,
        runtime: str,
        candidate: ModelFile,
        tag: str,
    ) -> Comparison | str:
        """Compare the outputs of one origin, by the original's noise if it is known.

        A string says why they cannot be compared.
        """
        if expected.judge == ORIGINAL and runtime == ONNXRUNTIME:
            return self._within_noise((expected.results, *expected.own), attempt.results)
        result = self.subject.compare(expected.results, attempt.results, self.tolerance)
        if expected.judge != REFERENCE or isinstance(result, str) or not result.agrees:
            return result
        # Original and candidate in the same runtime may differ by rounding only, so the strict
        # comparison decides where the reference runs both.
        origin = expected.origin
        run = self.subject.attempt(REFERENCE_RUNTIME, origin, model_file=candidate, tag=tag)
        if run.status != RunStatus.RAN:
            self.notes.append(f"the reference does not run the new model: {run.reason}")
            return result
        strict = self._within_noise((expected.results,), run.results)
        return result if isinstance(strict, str) or strict.agrees else strict

    def _within_noise(self, runs: tuple[Path, ...], actual: Path) -> Comparison | str:
        job = self.subject.job
        ending = job.stage(
            "compare", lambda: evidence.compare(job.model, runs, actual), writes=False
        )
        if ending.kind != EndingKind.ANSWERED:
            return f"comparing the outputs {job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def _proof(
        self,
        candidate: ModelFile,
        runtime: str,
        tag: str,
        changed: frozenset[str],
        rows: list[Row],
    ) -> proofs.Proof:
        judges = {expected.judge for expected in self.expected}
        has_noise = judges == {ORIGINAL} and runtime == ONNXRUNTIME
        if has_noise and self._reference_agrees(candidate, tag):
            judges.add(REFERENCE)
        trace = self._coverage(candidate, runtime)
        inside = self._inside(candidate) if has_noise else None
        self.largest = inside.largest if inside else None
        worst = max(rows, key=lambda row: answers.number(row["max_abs"], -1.0), default={})
        counts = {expected.origin: expected.count for expected in self.expected}
        generated = sum(counts.get(origin, 0) for origin in _GENERATED)
        is_declared = self._has_declared_values()
        outputs = [
            proofs.Output(
                output.name,
                output.state,
                results.largest_finite(rows, output.name, "max_abs"),
                results.largest_finite(rows, output.name, "noise") if has_noise else None,
                unchanged=changed.isdisjoint(output.operators),
                unseen=output.unseen,
            )
            for output in self._states
        ]
        return proofs.Proof(
            judges=tuple(name for name in (ORIGINAL, DATA, REFERENCE) if name in judges),
            bundled=counts.get(BUNDLED, 0),
            declared=generated if is_declared else 0,
            generated=0 if is_declared else generated,
            nodes=None if trace is None else trace.nodes,
            ran=None if trace is None else trace.ran,
            worst=results.finite(worst.get("max_abs")),
            noise=results.finite(worst.get("noise")) if has_noise else None,
            tolerance="" if has_noise else _TOLERANCES[self.tolerance],
            outputs=tuple(outputs),
            branches=tuple(branch.proof(changed) for branch in trace.branches) if trace else (),
            inner=inside.compared if inside else None,
            hidden=inside.node if inside else None,
            ranges=self._ranges,
        )

    def _has_declared_values(self) -> bool:
        """Whether the card gives bounds or a distribution of an input of the model."""
        names = self.subject.prepared.inputs
        return any(
            declared.name in names and (declared.bounds() or declared.distribution)
            for declared in self._declared
        )

    def _coverage(self, candidate: ModelFile, runtime: str) -> Trace | None:
        """Which nodes ran: of the original if the runtime runs it, else of the candidate."""
        prepared = self.subject.prepared
        if not prepared.bodies:
            return Trace(prepared.nodes, prepared.nodes)
        return self._traced(runtime, candidate) if self.has_no_baseline else self._trace

    def _reference_agrees(self, candidate: ModelFile, tag: str) -> bool:
        """Whether both models are equal in the reference, too, on a few inputs.

        The reference counts only if it gives the outputs of ONNX Runtime for the original.
        """
        subject = self.subject
        usual = [expected for expected in self.expected if expected.origin == GENERATED]
        seconds = subject.attempt(ONNXRUNTIME, GENERATED).seconds if usual else math.inf
        if seconds > _TIME_FOR_THE_REFERENCE:
            return False
        if self._reference is None:
            self._select_witnesses()
            self._reference = subject.attempt(REFERENCE_RUNTIME, _WITNESSED)
        original = self._reference
        if not original.has_outputs:
            return False
        comparisons = [
            subject.compare(expected.results, original.results, self.tolerance)
            for expected in self.expected
            if expected.origin in _REPEATED
        ]
        if any(isinstance(result, str) or not result.agrees for result in comparisons):
            self.notes.append("the reference does not give what the runtime gives on the original")
            return False
        run = subject.attempt(REFERENCE_RUNTIME, _WITNESSED, model_file=candidate, tag=tag)
        if run.status != RunStatus.RAN:
            self.notes.append(f"the reference does not run the new model: {run.reason}")
            return False
        result = self._within_noise((original.results,), run.results)
        if isinstance(result, str) or not result.agreed:
            why = result if isinstance(result, str) else results.first_difference(result)
            self.notes.append(f"the reference gives other values for the new model: {why}")
            return False
        return True

    def _select_witnesses(self) -> None:
        """Copy the first data sets of each origin to a folder, for slow comparisons."""
        subject = self.subject
        if _WITNESSED in subject.sets:
            return
        folder = subject.job.work / "sets" / _WITNESSED
        sources = [
            (expected.sets, expected.results)
            for expected in self.expected
            if expected.origin in _REPEATED
        ]
        subject.run_stage("pick", lambda: evidence.pick(sources, folder, _WITNESSED_SETS))
        subject.sets[_WITNESSED] = folder

    def _inside(self, candidate: ModelFile) -> Inside | None:
        """Compare intermediate values: a mask may hide a difference from every output."""
        self._select_witnesses()
        subject, sets = self.subject, self.subject.sets[_WITNESSED]
        ending = subject.run_stage(
            "inside",
            lambda: candidates.inner_values(
                subject.original, candidate, sets, self.tolerance, subject.job.work / "bodies"
            ),
        )
        if ending.kind == EndingKind.ANSWERED:
            inside = answers.read(Inside, ending.answer)
            if not inside.is_complete:
                self.notes.append("not all values inside bodies could be compared")
            return inside
        self.notes.append(f"comparing the values inside {subject.job.cause(ending)}")
        return None

    def refusal(self, candidate: ModelFile, tag: str) -> str:
        """Why a candidate does not run on inputs on which the original runs; empty if it does."""
        for expected in self.expected:
            if expected.judge != ORIGINAL:
                continue
            attempt = self.subject.attempt(
                ONNXRUNTIME, expected.origin, model_file=candidate, tag=tag
            )
            if attempt.status != RunStatus.RAN or attempt.ran < expected.count:
                return attempt.reason or next(iter(attempt.refused.values()), "it does not run")
        return ""

    def facts(self, result: CandidateResult) -> dict[str, Any]:
        """Summary for the report: the worst of each figure over all outputs and data sets."""
        proof = result.proof
        datasets = {expected.origin: expected.count for expected in self.expected}
        return {
            "judges": list(proof.judges) if proof else [],
            "runtime": result.runtime,
            "profile": self.tolerance if proof and proof.tolerance else noise.NAME,
            "datasets": datasets if result.runtime else {},
            "outputs": len(result.rows),
            "worst": {name: results.largest(result.rows, name) for name in _WORST},
            "notes": self.notes[:20],
        }
