"""Check by the test data beside a model; a second runtime decides what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from hub.protocol.vocabularies import REFERENCE
from runners.engine.conformance.verdict_maker import Check
from runners.engine.conformance.verdicts import (
    Blame,
    CheckOutcome,
    Verdict,
    differs,
    refusal,
)
from runners.engine.runs.answers import Comparison
from runners.engine.runs.attempts import Attempt, RunStatus
from runners.engine.runs.child_runs import BUNDLED


class BundledCheck(Check):
    """Whether the runtime gives the outputs of the test data beside the model."""

    def judge(self) -> Verdict:
        prepared = self._subject.prepared
        if prepared.problem:
            return Verdict(CheckOutcome.CANNOT_TELL, prepared.problem, Blame.DATA)
        if not prepared.bundled:
            unusable = "; ".join(prepared.unusable)
            return Verdict(CheckOutcome.UNTESTED, unusable or "no test data lie beside the model")
        attempt = self._subject.attempt(self._name, BUNDLED)
        if attempt.status != RunStatus.RAN:
            return self._maker.not_run(attempt)
        return self._against_data(attempt)

    def _against_data(self, attempt: Attempt) -> Verdict:
        comparison = self._subject.compare(self._subject.sets[BUNDLED], attempt.results)
        if isinstance(comparison, str):
            return Verdict(CheckOutcome.CANNOT_TELL, comparison)
        if comparison.agreed and not attempt.refused:
            prepared = self._subject.prepared
            left = f"{prepared.left_out} sets were left out" if prepared.left_out else ""
            notes = [note for note in (*prepared.unusable, left, attempt.note) if note]
            return self._maker.verdict(CheckOutcome.PASSED, comparison, "; ".join(notes))
        return self._maker.if_random() or self._blame(attempt, comparison)

    def _blame(self, attempt: Attempt, comparison: Comparison) -> Verdict:
        """Decide by a second runtime whether the test data or this runtime are wrong.

        If the second runtime gives the expected outputs, this runtime is wrong. If it gives the
        outputs of this runtime, the data are wrong, unless it does not follow the model's operator
        set. Otherwise this runtime is blamed.
        """
        reason = differs(comparison) or f"{self._name} {refusal(attempt)}"
        guilty = Blame.REFERENCE if self._name == REFERENCE else Blame.RUNTIME
        witness = self._maker.witness()
        if witness is None:
            return self._maker.blamed(guilty, comparison, f"{reason}; no other runtime to ask")
        # The witness runs the model upgraded, then the original, until one of them decides: it may
        # refuse either.
        others: list[Attempt] = []
        undecided: Verdict | None = None
        for model_file in self._subject.model_files:
            other = self._subject.attempt(witness, BUNDLED, model_file=model_file)
            others.append(other)
            if not other.has_outputs:
                continue
            if self._maker.agrees(self._subject.sets[BUNDLED], other.results):
                words = f"{reason}, which {witness} meets"
                return self._met_by(witness, guilty, comparison, words)
            if self._maker.agrees(other.results, attempt.results):
                words = f"{reason}, but {witness} gives what {self._name} gives"
                undecided = self._maker.unjudged(model_file.kind, comparison, words)
                if undecided is None:
                    return self._maker.blamed(Blame.DATA, comparison, words)
        undecided = undecided or self._all_refuse(witness, attempt, others, reason)
        if undecided is not None:
            return undecided
        if not any(other.has_outputs for other in others):
            return self._maker.blamed(guilty, comparison, f"{reason}; {witness} cannot be asked")
        verdict = self._maker.blamed(guilty, comparison, f"{reason}; {witness} agrees with neither")
        return self._maker.localised(verdict, BUNDLED, comparison.worst, witness, witness)

    def _all_refuse(
        self, witness: str, attempt: Attempt, others: Sequence[Attempt], reason: str
    ) -> Verdict | None:
        """The verdict if no runtime runs the bundled inputs, else None."""
        is_refused = any(other.status == RunStatus.RAN and other.refused for other in others)
        if attempt.ran or not is_refused or any(other.has_outputs for other in others):
            return None
        words = f"{reason}; {witness} refuses it too, so the data may be at fault"
        blames = Blame.DATA if self._maker.generated.ran else Blame.NONE
        return Verdict(CheckOutcome.CANNOT_TELL, words, blames, runs=bool(blames))

    def _met_by(self, witness: str, guilty: Blame, comparison: Comparison, reason: str) -> Verdict:
        """The verdict if another runtime gives the expected outputs."""
        data = self._subject.sets[BUNDLED]
        optimiser = self._maker.blame_optimiser(BUNDLED, data, comparison, reason)
        if optimiser is not None:
            return optimiser
        verdict = self._maker.blamed(guilty, comparison, reason)
        believed = self._name if guilty == Blame.REFERENCE else witness
        return self._maker.localised(verdict, BUNDLED, comparison.worst, witness, believed)
