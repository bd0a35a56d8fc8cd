"""Whether a converted model computes the same as the original: comparison with expected outputs.

If the original runs, a candidate must stay within the numerical noise of the original (`noise`),
and no tolerance is chosen by data type. Otherwise a tolerance applies, and the proof states it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hub.protocol import proofs
from hub.protocol.vocabularies import ONNXRUNTIME
from hub.protocol.vocabularies import REFERENCE as REFERENCE_RUNTIME
from runners.engine.confine.children import EndingKind
from runners.engine.runs import agreement, answers, noise, stages
from runners.engine.runs.answers import Comparison, Row
from runners.engine.runs.attempts import Attempt, RunStatus, Session
from runners.engine.runs.child_runs import BUNDLED, ModelFile
from runners.engine.runs.generate import GENERATED, SEARCHED, SWEPT, VARIED
from runners.engine.upgrades import candidates, evidence, results, witnesses
from runners.engine.upgrades.answers import Inside, ReferenceRuns, Trace
from runners.engine.upgrades.baseline import REPEATED, Baseline
from runners.engine.upgrades.results import (
    DATA,
    ORIGINAL,
    REFERENCE,
    CandidateResult,
    ExpectedOutputs,
    TargetStatus,
)

_WORST = ("max_abs", "max_rel", "p999_rel", "ulp_max")
_GENERATED = (GENERATED, VARIED, SWEPT)
# Processor seconds of the first generated inputs up to which the reference is asked, which is about
# 100 times slower.
_TIME_FOR_THE_REFERENCE = 0.5
_TOLERANCES = {
    profile.name: f"{profile.rtol:g} relative and {profile.atol:g} absolute"
    for profile in (agreement.FP32, agreement.FP16)
}


class ParityCheck(Baseline):
    """Compares candidates with the expected outputs of their original."""

    def judge(
        self,
        candidate: ModelFile,
        runtime: str,
        tag: str,
        changed: frozenset[str],
        twin: proofs.Proof | None = None,
        later: Mapping[str, Callable[[], Any]] | None = None,
    ) -> CandidateResult:
        """Compare a candidate with all expected outputs.

        `changed` are the operators whose meaning differs between the two opsets. `twin` is the
        proof of a candidate with the same graph, whose operators mean the same: what the reference
        and the values inside show holds for both. `later` are tasks of stages that follow where the
        candidate is equal and has no twin.
        """
        rows: list[Row] = []
        answered: list[str] = []
        self.is_fused_otherwise = False
        origins = [expected.origin for expected in self.expected]
        if self._is_fast and runtime == ONNXRUNTIME:
            more = {**self._slow_tasks(candidate), **(later or {})} if twin is None else {}
            self._judge_ahead(Session(runtime, origins, candidate, tag=tag), more)
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
        proof = self._proof(candidate, runtime, changed, rows, twin)
        if answered:
            proof = replace(proof, refused=proofs.RefusedInputs(len(answered), answered[0]))
        gaps = "; ".join(proof.gaps)
        if proof.proves_nothing:
            reason = gaps or "no output was compared"
            return CandidateResult(TargetStatus.NOT_PROVABLE, reason, rows)
        is_partial = proof.strength == proofs.Strength.PARTIAL
        status = TargetStatus.PARTIAL if is_partial else TargetStatus.EQUAL
        return CandidateResult(status, gaps, rows, runtime=runtime, proof=proof)

    def _judge_ahead(self, session: Session, later: Mapping[str, Callable[[], Any]]) -> None:
        """Run a candidate in one child, compare its outputs there, and do what comes later."""
        tasks: dict[str, Callable[[], Any]] = {}
        for expected, place in zip(self.expected, self.subject.results_of(session), strict=True):
            if expected.judge == ORIGINAL:
                tasks |= self._noise_task((expected.results, *expected.own), place)
        self.subject.run_ahead([session], {**tasks, **later})

    def _slow_tasks(self, candidate: ModelFile) -> dict[str, Callable[[], Any]]:
        """The tasks of the reference and of values inside; nothing where outputs show no noise."""
        if any(expected.judge != ORIGINAL for expected in self.expected):
            return {}
        reference = self._reference_task(candidate) if self._is_reference_asked else {}
        return {**reference, **self._inside_task(candidate)}

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
        case = self.subject.optimiser_case(origin, unoptimised, name)
        profile = self.subject.prepared.profile
        fault = stages.optimiser_fault(self.subject.job, candidate, case, profile)
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
            noisy = self._within_noise((expected.results, *expected.own), attempt.results)
            if isinstance(noisy, str) or noisy.agrees:
                return noisy
            return self._as_written(expected, attempt, candidate, tag) or noisy
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

    def _as_written(
        self, expected: ExpectedOutputs, attempt: Attempt, candidate: ModelFile, tag: str
    ) -> Comparison | None:
        """The comparison by tolerance if both forms are equal unoptimised, else None.

        At another opset, passes of the optimiser fuse other nodes, whose sums have another order.
        """
        subject, origin = self.subject, expected.origin
        before = subject.attempt(ONNXRUNTIME, origin, optimise=False)
        after = subject.attempt(ONNXRUNTIME, origin, model_file=candidate, optimise=False, tag=tag)
        if not before.ran == after.ran == expected.count:
            return None
        same = subject.compare(before.results, after.results, agreement.EXACT.name)
        within = subject.compare(expected.results, attempt.results, self.tolerance)
        if isinstance(same, str) or isinstance(within, str) or not (same.agreed and within.agreed):
            return None
        self.is_fused_otherwise = True
        self.notes.append("without graph optimisation, both models are equal bit by bit")
        return within

    def _noise_task(
        self, runs: tuple[Path, ...], actual: Path
    ) -> dict[str, Callable[[], Comparison]]:
        """The task of `_within_noise`, by the name of its stage."""
        task = partial(evidence.compare, self.subject.job.model, runs, actual)
        return {f"compare {runs[0]} with {actual} by noise": task}

    def _within_noise(self, runs: tuple[Path, ...], actual: Path) -> Comparison | str:
        job = self.subject.job
        [(name, task)] = self._noise_task(runs, actual).items()
        ending = job.stage(name, task, writes=False)
        if ending.kind != EndingKind.ANSWERED:
            return f"comparing the outputs {job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def _proof(
        self,
        candidate: ModelFile,
        runtime: str,
        changed: frozenset[str],
        rows: list[Row],
        twin: proofs.Proof | None,
    ) -> proofs.Proof:
        judges = {expected.judge for expected in self.expected}
        has_noise = judges == {ORIGINAL} and runtime == ONNXRUNTIME
        inner, hidden = (None, None) if twin is None else (twin.inner, twin.hidden)
        if twin is not None:
            judges.update(twin.judges)
        elif has_noise:
            if self._reference_agrees(candidate):
                judges.add(REFERENCE)
            inside = self._inside(candidate)
            self.largest = inside.largest if inside else None
            inner, hidden = (inside.compared, inside.node) if inside else (None, None)
        trace = self._coverage(candidate, runtime)
        worst = max(rows, key=lambda row: answers.number(row["max_abs"], -1.0), default={})
        counts = {expected.origin: expected.count for expected in self.expected}
        generated = sum(counts.get(origin, 0) for origin in _GENERATED)
        is_declared = self._has_declared_values()
        # Inputs that were searched may lie beyond what is declared.
        searched = counts.get(SEARCHED, 0)
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
            generated=searched if is_declared else generated + searched,
            nodes=None if trace is None else trace.nodes,
            ran=None if trace is None else trace.ran,
            worst=results.finite(worst.get("max_abs")),
            noise=results.finite(worst.get("noise")) if has_noise else None,
            tolerance="" if has_noise else _TOLERANCES[self.tolerance],
            outputs=tuple(outputs),
            branches=tuple(branch.proof(changed) for branch in trace.branches) if trace else (),
            inner=inner,
            hidden=hidden,
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

    @property
    def _is_reference_asked(self) -> bool:
        """Whether the original runs fast enough in ONNX Runtime on inputs that were generated."""
        if not any(expected.origin == GENERATED for expected in self.expected):
            return False
        seconds = self.subject.attempt(ONNXRUNTIME, GENERATED).seconds
        return seconds <= _TIME_FOR_THE_REFERENCE

    def _reference_task(self, candidate: ModelFile) -> dict[str, Callable[[], ReferenceRuns]]:
        """The task of `_reference_agrees`, by the name of its stage."""
        forms = (self.subject.original, candidate)
        task = partial(witnesses.reference, forms, self._witnesses(*REPEATED)[-1:], self.tolerance)
        return {f"reference {candidate.path.name}": task}

    def _reference_agrees(self, candidate: ModelFile) -> bool:
        """Whether both models are equal in the reference, too, on one input.

        The reference counts only if it gives the outputs of ONNX Runtime for the original.
        """
        if not self._is_reference_asked:
            return False
        subject = self.subject
        [(name, task)] = self._reference_task(candidate).items()
        ending = subject.run_stage(name, task)
        if ending.kind != EndingKind.ANSWERED:
            self.notes.append(f"the reference {subject.job.cause(ending)}")
            return False
        answer = answers.read(ReferenceRuns, ending.answer)
        self.notes += filter(None, [answer.note])
        return answer.agrees

    def _witnesses(self, *origins: str) -> list[tuple[Path, Path]]:
        """Folders of the inputs and outputs of which slow comparisons take the first data set."""
        return [
            (expected.sets, expected.results)
            for expected in self.expected
            if expected.origin in origins
        ]

    def _inside_task(self, candidate: ModelFile) -> dict[str, Callable[[], Inside]]:
        """The task of `_inside`, by the name of its stage."""
        subject = self.subject
        # The first of the searched inputs may be the only one that enters a branch.
        origins = (*REPEATED, SEARCHED) if subject.prepared.bodies else REPEATED
        task = partial(
            candidates.inner_values,
            *(subject.original, candidate, self._witnesses(*origins)),
            *(self.tolerance, subject.job.work / "bodies"),
        )
        return {f"inside {candidate.path.name}": task}

    def _inside(self, candidate: ModelFile) -> Inside | None:
        """Compare intermediate values: a mask may hide a difference from every output."""
        subject = self.subject
        [(name, task)] = self._inside_task(candidate).items()
        ending = subject.run_stage(name, task)
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
