"""The conformance task: one runtime on one model, judged in four ways, with evidence.

Outcomes are EARL words. A check fails by the fault of the runtime or of the model alone; where the
test data or the reference are wrong it cannot tell, and names them. A voice that cannot be asked is
never counted as agreeing.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from runners.engine import runtimes
from runners.engine.checks.written_models import processor_flags
from runners.engine.conformance.verdicts import Verdict, differs, findings, place_of, refusal
from runners.engine.jobs import Job, JobError
from runners.engine.onnx_files import datasets
from runners.engine.runs.answers import Comparison
from runners.engine.runs.child_runs import BUNDLED, Form
from runners.engine.runs.generate import GENERATED
from runners.engine.runs.localise import Parties
from runners.engine.runs.shared_runs import AGAIN, Attempt, Bench

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.reports import Report

CHECKS = ("bundled", "reference", "optimisation", "determinism")
_PROGRESS = {"bundled": 30, "reference": 50, "optimisation": 75, "determinism": 90}
_EXACT = "exact"


def run(job: Job) -> Report:
    """Judge the model with the runtime that the options name; in all `checks` unless it names some.

    A job of its own for the slow reference lets the other checks be done before it.
    """
    runtime = str(job.request.options.get("runtime", ONNXRUNTIME))
    checks = job.request.options.get("checks", CHECKS)
    if not checks or not isinstance(checks, list | tuple) or not set(checks) <= set(CHECKS):
        raise JobError("engine-error", f"The checks must be some of {', '.join(CHECKS)}.")
    if runtime not in runtimes.names():
        raise JobError(
            "runtime-missing", f"The runtime {runtime!r} is not installed on this worker."
        )
    job.tell(5, "scan")
    needed = job.scan()
    beside = datasets.paths(job.request.files, job.request.entry)
    job.lay_out([job.request.entry, *needed, *beside])
    job.tell(15, "prepare")
    bench = Bench(job, runtime)
    judge = _Judge(bench)
    measures = [judge.measure(check) for check in CHECKS if check in checks]
    verdicts = judge.verdicts
    return job.report(
        "failed" if any(one.fails_the_job for one in verdicts.values()) else "passed",
        tuple(findings(verdicts.items())),
        {
            "runtime": runtime,
            "reference_opset": bench.upgraded_opset or None,
            "threads": 1,
            "processor_flags": processor_flags(),
        },
        measures,
        [one["evidence"] for one in measures if one["evidence"]],
    )


class _Judge:
    """Decides the four checks; each asks the bench for the runs it needs."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._name = bench.runtime
        self._runtime = runtimes.of(bench.runtime)
        self._generated: Attempt | None = None
        self._refused: Verdict | None = None
        self.verdicts: dict[str, Verdict] = {}

    def measure(self, check: str) -> dict[str, Any]:
        started = time.monotonic()
        self._bench.job.tell(_PROGRESS[check], check)
        verdict = self._never(check) or self._judge(check)
        self.verdicts[check] = verdict
        version = "onnx" if self._name == REFERENCE else self._name
        return {
            "runtime": self._name,
            "runtime_version": self._bench.job.versions.get(version, ""),
            "check": check,
            "seconds": round(time.monotonic() - started, 3),
            **asdict(verdict),
        }

    def _judge(self, check: str) -> Verdict:
        match check:
            case "bundled":
                return self._bundled()
            case "reference":
                return self._reference()
            case "determinism":
                return self._against_itself("in a second session", tag=AGAIN)
        if not self._runtime.optimises:
            return Verdict("inapplicable", f"{self._name} has no optimisation to switch off")
        return self._against_itself("with optimisation off", optimise=False)

    def _never(self, check: str) -> Verdict | None:
        """Give the verdict of every check where the model is not loaded, or runs on no input."""
        prepared = self._bench.prepared
        if not prepared.is_readable:
            return Verdict("cantTell", f"reading the model {prepared.problem}")
        if self._generated is None:
            self._generated = self._bench.generate()
        attempt = self._generated
        if attempt.word == "none" and prepared.bundled:
            attempt = self._bench.attempt(self._name, BUNDLED)
        if attempt.word == "unsupported":
            words = f"{self._name} does not support it: {attempt.reason}"
            return Verdict("inapplicable", words, runs=False)
        if attempt.word in {"unprepared", "refused"}:
            return self._not_run(attempt)
        if attempt.word != "ran" or attempt.ran:
            return None
        if prepared.bundled:
            bundled = self._bench.attempt(self._name, BUNDLED)
            if check == "bundled" or bundled.word != "ran" or bundled.ran:
                return None
        if self._refused is None:
            self._refused = self._refuses_everything(attempt)
        return self._refused

    def _refuses_everything(self, attempt: Attempt) -> Verdict:
        """Judge a runtime that loads the model and refuses every input that was tried.

        It fails where another runtime runs the same inputs. Where none does, the inputs may be at
        fault: that fails nobody, and is said.
        """
        reason = f"{self._name} {refusal(attempt)}, and every other input that was tried"
        witness = self._witness()
        for form in self._forms() if witness else []:
            other = self._bench.attempt(str(witness), GENERATED, form=form)
            if other.word == "ran" and other.ran:
                return self._faulty(f"{reason}; {witness} runs these inputs", runs=False)
        alone = f"{witness} does not run them either" if witness else "no other runtime to ask"
        words = f"{reason}; {alone}, so the inputs may be at fault"
        return Verdict("cantTell", words, runs=False)

    def _faulty(self, reason: str, *, runs: bool | None = None) -> Verdict:
        """The one on trial is at fault; a reference that is wrong fails nobody."""
        if self._name == REFERENCE:
            return Verdict("cantTell", reason, "reference", runs=runs)
        return Verdict("failed", reason, "runtime", runs=runs)

    def _not_run(self, attempt: Attempt) -> Verdict:
        if attempt.word == "refused":
            words = f"{self._name} does not load it: {attempt.reason}"
            return Verdict("failed", words, runs=False)
        if attempt.word in {"late", "unprepared"}:
            return Verdict("cantTell", attempt.reason)
        words = f"{self._name} {attempt.reason}"
        if self._name == REFERENCE and not attempt.signal:
            # The interpreter is slow by design: that it was not done in time says nothing.
            return Verdict("cantTell", words)
        # Only a signal is certainly the runtime's own doing.
        return Verdict("failed", words, "runtime" if attempt.signal else "", runs=False)

    def _by_chance(self) -> Verdict | None:
        names = ", ".join(self._bench.prepared.random)
        if not names:
            return None
        return Verdict("inapplicable", f"the model draws random numbers ({names})")

    # --- the data that came with the model ---

    def _bundled(self) -> Verdict:
        prepared = self._bench.prepared
        if prepared.problem:
            return Verdict("cantTell", prepared.problem, "data")
        if not prepared.bundled:
            unusable = "; ".join(prepared.unusable)
            return Verdict("untested", unusable or "no test data lie beside the model")
        attempt = self._bench.attempt(self._name, BUNDLED)
        if attempt.word != "ran":
            return self._not_run(attempt)
        return self._held_against_data(attempt)

    def _held_against_data(self, attempt: Attempt) -> Verdict:
        comparison = self._bench.compare(self._bench.sets[BUNDLED], attempt.results)
        if isinstance(comparison, str):
            return Verdict("cantTell", comparison)
        if comparison.agreed and not attempt.refused:
            prepared = self._bench.prepared
            left = f"{prepared.left_out} sets were left out" if prepared.left_out else ""
            notes = [note for note in (*prepared.unusable, left, attempt.note) if note]
            return self._verdict("passed", comparison, "; ".join(notes))
        return self._by_chance() or self._blame(attempt, comparison)

    def _blame(self, attempt: Attempt, comparison: Comparison) -> Verdict:
        """Ask another runtime whom to believe: the data or the one on trial."""
        reason = differs(comparison) or f"{self._name} {refusal(attempt)}"
        guilty = "reference" if self._name == REFERENCE else "runtime"
        witness = self._witness()
        if witness is None:
            return self._blamed(guilty, comparison, f"{reason}; no other runtime to ask")
        witness_ran = False
        refused = ""
        for form in self._forms():
            other = self._bench.attempt(witness, BUNDLED, form=form)
            if other.word != "ran" or not other.ran:
                refused = refused or (refusal(other) if other.word == "ran" else "")
                continue
            witness_ran = True
            meets = self._agrees(self._bench.sets[BUNDLED], other.results)
            if meets:
                words = f"{reason}, which {witness} meets"
                verdict = self._blamed(guilty, comparison, words)
                believed = self._name if guilty == "reference" else witness
                return self._localised(verdict, BUNDLED, comparison.worst, witness, believed)
            if self._agrees(other.results, attempt.results):
                words = f"{reason}, but {witness} gives what {self._name} gives"
                return self._blamed("data", comparison, words)
        if refused and not witness_ran and not attempt.ran:
            words = f"{reason}; {witness} refuses it too, so the data may be at fault"
            generated = self._generated
            blames = "data" if generated is not None and generated.ran else ""
            return Verdict("cantTell", words, blames, runs=bool(blames))
        words = "agrees with neither" if witness_ran else "cannot be asked"
        verdict = self._blamed(guilty, comparison, f"{reason}; {witness} {words}")
        if witness_ran:
            return self._localised(verdict, BUNDLED, comparison.worst, witness, witness)
        return verdict

    def _witness(self) -> str | None:
        others = (REFERENCE, ONNXRUNTIME, OPENVINO)
        return next(
            (name for name in others if name != self._name and name in runtimes.names()), None
        )

    def _forms(self) -> list[Form]:
        self._bench.upgrade()
        return self._bench.forms()

    def _agrees(self, expected: Path, actual: Path) -> bool:
        comparison = self._bench.compare(expected, actual)
        return not isinstance(comparison, str) and comparison.agreed

    # --- the reference, on inputs made for the purpose ---

    def _reference(self) -> Verdict:
        if self._name == REFERENCE:
            return Verdict("inapplicable", "it is the reference itself")
        attempt, origin, note = self._trial_inputs()
        if attempt is None:
            return Verdict("cantTell", note)
        if attempt.word != "ran":
            return self._not_run(attempt)
        return self._by_chance() or self._held_against_reference(attempt, origin, note)

    def _held_against_reference(self, attempt: Attempt, origin: str, note: str) -> Verdict:
        best: tuple[Comparison, Attempt] | None = None
        why = ""
        for form in self._forms():
            other = self._bench.attempt(REFERENCE, origin, form=form)
            comparison = self._bench.compare(other.results, attempt.results)
            if isinstance(comparison, str) or not comparison.sets:
                why = why or refusal(other) or other.reason
                if other.word == "died":  # what exhausts it once exhausts it again
                    break
                continue
            if comparison.agreed:
                return self._verdict("passed", comparison, self._on(other, comparison, note))
            best = best or (comparison, other)
        if best is None:
            return Verdict("cantTell", f"the reference cannot run the model: {why}")
        return self._disagreement(*best, attempt=attempt, origin=origin)

    def _trial_inputs(self) -> tuple[Attempt | None, str, str]:
        """Choose the inputs: generated ones, or the bundled where none of those fit."""
        generated = self._generated
        if generated is not None and (generated.word == "died" or generated.ran):
            return generated, GENERATED, ""
        why = self._bench.generation_problem or refusal(generated) or "none could be made"
        if self._bench.prepared.bundled:
            bundled = self._bench.attempt(self._name, BUNDLED)
            if bundled.word != "ran" or bundled.ran:
                return bundled, BUNDLED, f"on the bundled inputs, since generated ones fail: {why}"
        return None, "", f"no generated inputs fit the model: {why}"

    def _on(self, other: Attempt, comparison: Comparison, note: str) -> str:
        words = [note] if note else []
        if other.form == "upgraded":
            words.append(f"the reference ran it upgraded to opset {self._bench.upgraded_opset}")
        if other.note:
            words.append(f"{other.note}; sets compared: {len(comparison.sets)}")
        return "; ".join(words)

    def _disagreement(
        self, comparison: Comparison, other: Attempt, *, attempt: Attempt, origin: str
    ) -> Verdict:
        guilty, why = "runtime", "no third voice was heard"
        if self._bench.prepared.bundled:
            data = self._bench.sets[BUNDLED]
            form = next(one for one in self._bench.forms() if one.word == other.form)
            mine = self._bench.attempt(self._name, BUNDLED)
            theirs = self._bench.attempt(REFERENCE, BUNDLED, form=form)
            i_meet = mine.word == "ran" and self._agrees(data, mine.results)
            they_meet = theirs.word == "ran" and self._agrees(data, theirs.results)
            if i_meet and not they_meet:
                guilty, why = "reference", f"{self._name} meets the bundled data, it does not"
            elif they_meet and not i_meet:
                why = "the reference meets the bundled data"
            else:
                why = "the bundled data do not decide"
        verdict = self._blamed(guilty, comparison, f"{differs(comparison, 'the reference')}; {why}")
        believed = self._name if guilty == "reference" else REFERENCE
        return self._localised(verdict, origin, comparison.worst, REFERENCE, believed)

    # --- the runtime against itself ---

    def _against_itself(self, words: str, *, optimise: bool = True, tag: str = "") -> Verdict:
        profile = _EXACT if optimise else self._bench.prepared.profile
        comparisons: dict[str, Comparison] = {}
        why = self._bench.generation_problem
        self._bench.attempts(self._name, self._origins(), optimise=optimise, tag=tag)
        for origin in self._origins():
            first = self._bench.attempt(self._name, origin)
            second = self._bench.attempt(self._name, origin, optimise=optimise, tag=tag)
            for attempt in (first, second):
                if attempt.word != "ran":
                    return self._not_run(attempt)
            comparison = self._bench.compare(second.results, first.results, profile)
            if isinstance(comparison, str):
                return Verdict("cantTell", comparison)
            if comparison.sets:
                comparisons[origin] = comparison
            else:
                why = refusal(first) or refusal(second)
        if not comparisons:
            return Verdict("cantTell", f"no inputs to run it on: {why}")
        verdict = self._summed(comparisons, f"its own outputs {words}", profile)
        if verdict.outcome == "failed" and not optimise:
            origin = next(origin for origin, one in comparisons.items() if one.worst)
            worst = comparisons[origin].worst
            return self._localised(verdict, origin, worst, self._name, self._name, optimised=True)
        return verdict

    def _summed(self, comparisons: dict[str, Comparison], whom: str, profile: str) -> Verdict:
        whole = Comparison(
            [name for one in comparisons.values() for name in one.sets],
            all(one.agrees for one in comparisons.values()),
            [row for one in comparisons.values() for row in one.rows],
        )
        if whole.agreed:
            return self._verdict("passed", whole, profile=profile)
        return self._by_chance() or self._blamed("runtime", whole, differs(whole, whom), profile)

    def _origins(self) -> list[str]:
        origins = [BUNDLED] if self._bench.prepared.bundled else []
        generated = self._generated
        if generated is not None and (generated.ran or generated.word == "died"):
            origins.append(GENERATED)
        return origins

    # --- putting it into words ---

    def _blamed(
        self, guilty: str, comparison: Comparison, reason: str, profile: str = ""
    ) -> Verdict:
        """A difference: the runtime fails by it; wrong data and a wrong reference fail nobody."""
        outcome = "failed" if guilty == "runtime" else "cantTell"
        return self._verdict(outcome, comparison, reason, guilty, profile)

    def _verdict(
        self,
        outcome: str,
        comparison: Comparison,
        reason: str = "",
        blames: str = "",
        profile: str = "",
    ) -> Verdict:
        remarks = [row["reason"] for row in comparison.rows if row["agrees"] and row["reason"]]
        if outcome == "passed" and remarks:
            reason = "; ".join(word for word in (reason, remarks[0]) if word)
        return Verdict(
            outcome,
            reason,
            blames,
            profile or self._bench.prepared.profile,
            len(comparison.sets),
            sorted(comparison.rows, key=lambda row: row["agrees"]),
            runs=bool(comparison.sets),
        )

    def _localised(
        self,
        verdict: Verdict,
        origin: str,
        name: str,
        witness: str,
        believed: str,
        *,
        optimised: bool = False,
    ) -> Verdict:
        if not name:
            return verdict
        parties = Parties(self._name, witness, believed, self._bench.prepared.profile, optimised)
        divergence = self._bench.localise(parties, origin, name)
        node, note = divergence.node, divergence.note
        reason = verdict.reason
        if node is not None:
            reason += f"; first at {place_of(node)}"
        if note:
            reason += f" ({note})"
        return replace(verdict, reason=reason, node=node, evidence=divergence.evidence)
