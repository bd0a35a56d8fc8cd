"""The four checks of a model on a runtime, and which side is wrong where outputs differ.

A third party decides by majority: another runtime for bundled data, the bundled data for the
reference. A third party that cannot run the model never counts as agreement.
"""

from __future__ import annotations

import functools
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from runners.engine import runtimes
from runners.engine.conformance.verdicts import (
    Blame,
    CheckOutcome,
    Verdict,
    differs,
    place_of,
    refusal,
)
from runners.engine.runs.answers import Comparison
from runners.engine.runs.child_runs import BUNDLED, FileKind
from runners.engine.runs.generate import GENERATED
from runners.engine.runs.localise import Parties
from runners.engine.runs.shared_runs import AGAIN, Attempt, ModelUnderTest, RunStatus

if TYPE_CHECKING:
    from pathlib import Path

_PROGRESS = {"bundled": 30, "reference": 50, "optimisation": 75, "determinism": 90}
CHECKS = tuple(_PROGRESS)
_EXACT = "exact"


class Checks:
    """The four checks of one model on one runtime; their verdicts by the names of the checks."""

    def __init__(self, subject: ModelUnderTest) -> None:
        self._subject = subject
        self._name = subject.runtime
        self._runtime = runtimes.of(subject.runtime)
        self._refused: Verdict | None = None
        self.verdicts: dict[str, Verdict] = {}

    @functools.cached_property
    def _generated(self) -> Attempt:
        """The first run on generated inputs."""
        return self._subject.generate()

    def measure(self, check: str) -> dict[str, Any]:
        started = time.monotonic()
        self._subject.job.tell(_PROGRESS[check], check)
        verdict = self._without_runs(check) or self._judge(check)
        self.verdicts[check] = verdict
        version = "onnx" if self._name == REFERENCE else self._name
        return {
            "runtime": self._name,
            "runtime_version": self._subject.job.versions.get(version, ""),
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
            return Verdict(
                CheckOutcome.INAPPLICABLE, f"{self._name} has no optimisation to switch off"
            )
        return self._against_itself("with optimisation off", optimise=False)

    def _without_runs(self, check: str) -> Verdict | None:
        """The verdict of every check if the model does not load or runs on no input, else None."""
        prepared = self._subject.prepared
        if not prepared.is_readable:
            return Verdict(CheckOutcome.CANNOT_TELL, f"reading the model {prepared.problem}")
        attempt = self._generated
        if attempt.status == RunStatus.NONE and prepared.bundled:
            attempt = self._subject.attempt(self._name, BUNDLED)
        if attempt.status == RunStatus.UNSUPPORTED:
            words = f"{self._name} does not support it: {attempt.reason}"
            return Verdict(CheckOutcome.INAPPLICABLE, words, runs=False)
        if attempt.status in {RunStatus.UNPREPARED, RunStatus.REFUSED}:
            return self._not_run(attempt)
        if attempt.status != RunStatus.RAN or attempt.ran:
            return None
        if prepared.bundled:
            bundled = self._subject.attempt(self._name, BUNDLED)
            if check == "bundled" or bundled.status != RunStatus.RAN or bundled.ran:
                return None
        if self._refused is None:
            self._refused = self._refuses_everything(attempt)
        return self._refused

    def _refuses_everything(self, attempt: Attempt) -> Verdict:
        """The verdict if the runtime loads the model and fails on every input that was tried.

        The runtime fails if another runtime runs the same inputs. Otherwise the inputs may be
        invalid, and the outcome is `CANNOT_TELL`.
        """
        reason = f"{self._name} {refusal(attempt)}, and every other input that was tried"
        witness = self._witness()
        for model_file in self._subject.model_files if witness else []:
            other = self._subject.attempt(str(witness), GENERATED, model_file=model_file)
            if other.has_outputs:
                return self._faulty(f"{reason}; {witness} runs these inputs", runs=False)
        alone = f"{witness} does not run them either" if witness else "no other runtime to ask"
        words = f"{reason}; {alone}, so the inputs may be at fault"
        return Verdict(CheckOutcome.CANNOT_TELL, words, runs=False)

    def _faulty(self, reason: str, *, runs: bool | None = None) -> Verdict:
        """A verdict against the runtime; `CANNOT_TELL` if the runtime is the reference itself."""
        if self._name == REFERENCE:
            return Verdict(CheckOutcome.CANNOT_TELL, reason, Blame.REFERENCE, runs=runs)
        return Verdict(CheckOutcome.FAILED, reason, Blame.RUNTIME, runs=runs)

    def _not_run(self, attempt: Attempt) -> Verdict:
        if attempt.status == RunStatus.REFUSED:
            words = f"{self._name} does not load it: {attempt.reason}"
            return Verdict(CheckOutcome.FAILED, words, runs=False)
        if attempt.status in {RunStatus.LATE, RunStatus.UNPREPARED}:
            return Verdict(CheckOutcome.CANNOT_TELL, attempt.reason)
        words = f"{self._name} {attempt.reason}"
        if self._name == REFERENCE and not attempt.signal:
            # The reference is a slow interpreter: a timeout does not mean that it is wrong.
            return Verdict(CheckOutcome.CANNOT_TELL, words)
        # Only a crash by a signal is certainly a fault of the runtime.
        return Verdict(
            CheckOutcome.FAILED, words, Blame.RUNTIME if attempt.signal else Blame.NONE, runs=False
        )

    def _if_random(self) -> Verdict | None:
        names = ", ".join(self._subject.prepared.random)
        if not names:
            return None
        return Verdict(CheckOutcome.INAPPLICABLE, f"the model draws random numbers ({names})")

    # --- test data beside the model ---

    def _bundled(self) -> Verdict:
        prepared = self._subject.prepared
        if prepared.problem:
            return Verdict(CheckOutcome.CANNOT_TELL, prepared.problem, Blame.DATA)
        if not prepared.bundled:
            unusable = "; ".join(prepared.unusable)
            return Verdict(CheckOutcome.UNTESTED, unusable or "no test data lie beside the model")
        attempt = self._subject.attempt(self._name, BUNDLED)
        if attempt.status != RunStatus.RAN:
            return self._not_run(attempt)
        return self._against_data(attempt)

    def _against_data(self, attempt: Attempt) -> Verdict:
        comparison = self._subject.compare(self._subject.sets[BUNDLED], attempt.results)
        if isinstance(comparison, str):
            return Verdict(CheckOutcome.CANNOT_TELL, comparison)
        if comparison.agreed and not attempt.refused:
            prepared = self._subject.prepared
            left = f"{prepared.left_out} sets were left out" if prepared.left_out else ""
            notes = [note for note in (*prepared.unusable, left, attempt.note) if note]
            return self._verdict(CheckOutcome.PASSED, comparison, "; ".join(notes))
        return self._if_random() or self._blame(attempt, comparison)

    def _blame(self, attempt: Attempt, comparison: Comparison) -> Verdict:
        """Decide by a second runtime whether the test data or this runtime are wrong.

        If the second runtime gives the expected outputs, this runtime is wrong. If it gives the
        outputs of this runtime, the data are wrong. Otherwise this runtime is blamed.
        """
        reason = differs(comparison) or f"{self._name} {refusal(attempt)}"
        guilty = Blame.REFERENCE if self._name == REFERENCE else Blame.RUNTIME
        witness = self._witness()
        if witness is None:
            return self._blamed(guilty, comparison, f"{reason}; no other runtime to ask")
        witness_ran = False
        refused = ""
        for model_file in self._subject.model_files:
            other = self._subject.attempt(witness, BUNDLED, model_file=model_file)
            if not other.has_outputs:
                if other.status == RunStatus.RAN:
                    refused = refused or refusal(other)
                continue
            witness_ran = True
            if self._agrees(self._subject.sets[BUNDLED], other.results):
                words = f"{reason}, which {witness} meets"
                verdict = self._blamed(guilty, comparison, words)
                believed = self._name if guilty == Blame.REFERENCE else witness
                return self._localised(verdict, BUNDLED, comparison.worst, witness, believed)
            if self._agrees(other.results, attempt.results):
                words = f"{reason}, but {witness} gives what {self._name} gives"
                return self._blamed(Blame.DATA, comparison, words)
        if refused and not witness_ran and not attempt.ran:
            words = f"{reason}; {witness} refuses it too, so the data may be at fault"
            blames = Blame.DATA if self._generated.ran else Blame.NONE
            return Verdict(CheckOutcome.CANNOT_TELL, words, blames, runs=bool(blames))
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

    def _agrees(self, expected: Path, actual: Path) -> bool:
        comparison = self._subject.compare(expected, actual)
        return not isinstance(comparison, str) and comparison.agreed

    # --- the reference, on generated inputs ---

    def _reference(self) -> Verdict:
        if self._name == REFERENCE:
            return Verdict(CheckOutcome.INAPPLICABLE, "it is the reference itself")
        attempt, origin, note = self._inputs()
        if attempt is None:
            return Verdict(CheckOutcome.CANNOT_TELL, note)
        if attempt.status != RunStatus.RAN:
            return self._not_run(attempt)
        return self._if_random() or self._against_reference(attempt, origin, note)

    def _against_reference(self, attempt: Attempt, origin: str, note: str) -> Verdict:
        best: tuple[Comparison, Attempt] | None = None
        why = ""
        for model_file in self._subject.model_files:
            other = self._subject.attempt(REFERENCE, origin, model_file=model_file)
            comparison = self._subject.compare(other.results, attempt.results)
            if isinstance(comparison, str) or not comparison.sets:
                why = why or refusal(other) or other.reason
                if other.status == RunStatus.DIED:  # the other file would exceed the limits, too
                    break
                continue
            if comparison.agreed:
                return self._verdict(
                    CheckOutcome.PASSED, comparison, self._on(other, comparison, note)
                )
            best = best or (comparison, other)
        if best is None:
            return Verdict(CheckOutcome.CANNOT_TELL, f"the reference cannot run the model: {why}")
        return self._disagreement(*best, attempt=attempt, origin=origin)

    def _inputs(self) -> tuple[Attempt | None, str, str]:
        """Choose a run to compare: (run, origin of its inputs, note).

        Generated inputs are used, or the bundled ones if the model runs on none of them.
        """
        generated = self._generated
        if generated.status == RunStatus.DIED or generated.ran:
            return generated, GENERATED, ""
        why = self._subject.generation_problem or refusal(generated) or "none could be made"
        if self._subject.prepared.bundled:
            bundled = self._subject.attempt(self._name, BUNDLED)
            if bundled.status != RunStatus.RAN or bundled.ran:
                return bundled, BUNDLED, f"on the bundled inputs, since generated ones fail: {why}"
        return None, "", f"no generated inputs fit the model: {why}"

    def _on(self, other: Attempt, comparison: Comparison, note: str) -> str:
        words = [note] if note else []
        if other.file_kind == FileKind.UPGRADED:
            words.append(f"the reference ran it upgraded to opset {self._subject.upgraded_opset}")
        if other.note:
            words.append(f"{other.note}; sets compared: {len(comparison.sets)}")
        return "; ".join(words)

    def _disagreement(
        self, comparison: Comparison, other: Attempt, *, attempt: Attempt, origin: str
    ) -> Verdict:
        """Decide by the bundled data whether this runtime or the reference is wrong."""
        guilty, why = Blame.RUNTIME, "no third voice was heard"
        if self._subject.prepared.bundled:
            data = self._subject.sets[BUNDLED]
            model_file = next(
                file for file in self._subject.model_files if file.kind == other.file_kind
            )
            mine = self._subject.attempt(self._name, BUNDLED)
            theirs = self._subject.attempt(REFERENCE, BUNDLED, model_file=model_file)
            runtime_meets = mine.status == RunStatus.RAN and self._agrees(data, mine.results)
            reference_meets = theirs.status == RunStatus.RAN and self._agrees(data, theirs.results)
            if runtime_meets and not reference_meets:
                guilty, why = Blame.REFERENCE, f"{self._name} meets the bundled data, it does not"
            elif reference_meets and not runtime_meets:
                why = "the reference meets the bundled data"
            else:
                why = "the bundled data do not decide"
        verdict = self._blamed(guilty, comparison, f"{differs(comparison, 'the reference')}; {why}")
        believed = self._name if guilty == Blame.REFERENCE else REFERENCE
        return self._localised(verdict, origin, comparison.worst, REFERENCE, believed)

    # --- the runtime against itself ---

    def _against_itself(self, words: str, *, optimise: bool = True, tag: str = "") -> Verdict:
        profile = _EXACT if optimise else self._subject.prepared.profile
        comparisons: dict[str, Comparison] = {}
        why = self._subject.generation_problem
        self._subject.attempts(self._name, self._origins(), optimise=optimise, tag=tag)
        for origin in self._origins():
            first = self._subject.attempt(self._name, origin)
            second = self._subject.attempt(self._name, origin, optimise=optimise, tag=tag)
            for attempt in (first, second):
                if attempt.status != RunStatus.RAN:
                    return self._not_run(attempt)
            comparison = self._subject.compare(second.results, first.results, profile)
            if isinstance(comparison, str):
                return Verdict(CheckOutcome.CANNOT_TELL, comparison)
            if comparison.sets:
                comparisons[origin] = comparison
            else:
                why = refusal(first) or refusal(second)
        if not comparisons:
            return Verdict(CheckOutcome.CANNOT_TELL, f"no inputs to run it on: {why}")
        verdict = self._summed(comparisons, f"its own outputs {words}", profile)
        if verdict.outcome == CheckOutcome.FAILED and not optimise:
            origin = next(origin for origin, comparison in comparisons.items() if comparison.worst)
            worst = comparisons[origin].worst
            return self._localised(verdict, origin, worst, self._name, self._name, optimised=True)
        return verdict

    def _summed(self, comparisons: dict[str, Comparison], whom: str, profile: str) -> Verdict:
        parts = comparisons.values()
        whole = Comparison(
            [name for part in parts for name in part.sets],
            all(part.agrees for part in parts),
            [row for part in parts for row in part.rows],
        )
        if whole.agreed:
            return self._verdict(CheckOutcome.PASSED, whole, profile=profile)
        return self._if_random() or self._blamed(
            Blame.RUNTIME, whole, differs(whole, whom), profile
        )

    def _origins(self) -> list[str]:
        origins = [BUNDLED] if self._subject.prepared.bundled else []
        if self._generated.ran or self._generated.status == RunStatus.DIED:
            origins.append(GENERATED)
        return origins

    # --- verdicts ---

    def _blamed(
        self, guilty: Blame, comparison: Comparison, reason: str, profile: str = ""
    ) -> Verdict:
        """The verdict about outputs that differ: `FAILED` only if the runtime is to blame."""
        is_failure = guilty == Blame.RUNTIME
        outcome = CheckOutcome.FAILED if is_failure else CheckOutcome.CANNOT_TELL
        return self._verdict(outcome, comparison, reason, guilty, profile)

    def _verdict(
        self,
        outcome: CheckOutcome,
        comparison: Comparison,
        reason: str = "",
        blames: Blame = Blame.NONE,
        profile: str = "",
    ) -> Verdict:
        remarks = [row["reason"] for row in comparison.rows if row["agrees"] and row["reason"]]
        if outcome == CheckOutcome.PASSED and remarks:
            reason = "; ".join(word for word in (reason, remarks[0]) if word)
        return Verdict(
            outcome,
            reason,
            blames,
            profile or self._subject.prepared.profile,
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
        parties = Parties(self._name, witness, believed, self._subject.prepared.profile, optimised)
        divergence = self._subject.localise(parties, origin, name)
        node, note = divergence.node, divergence.note
        reason = verdict.reason
        if node is not None:
            reason += f"; first at {place_of(node)}"
        if note:
            reason += f" ({note})"
        return replace(verdict, reason=reason, node=node, evidence=divergence.evidence)
