"""Check by the ONNX reference on generated inputs: bundled data decide which of both is wrong."""

from __future__ import annotations

from dataclasses import replace

from hub.protocol import arithmetic
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
from runners.engine.runs.child_runs import BUNDLED, FileKind
from runners.engine.runs.generate import GENERATED

_NO_BUNDLED = "no bundled data decide"
_BUNDLED_UNDECIDED = "the bundled data do not decide"
_UNDECIDED = frozenset({_NO_BUNDLED, _BUNDLED_UNDECIDED})


class ReferenceCheck(Check):
    """Whether the runtime agrees with the reference."""

    def judge(self) -> Verdict:
        if self._name == REFERENCE:
            return Verdict(CheckOutcome.INAPPLICABLE, "it is the reference itself")
        attempt, origin, note = self._inputs()
        if attempt is None:
            return Verdict(CheckOutcome.CANNOT_TELL, note)
        if attempt.status != RunStatus.RAN:
            return self._maker.not_run(attempt)
        return self._maker.if_random() or self._against_reference(attempt, origin, note)

    def _against_reference(self, attempt: Attempt, origin: str, note: str) -> Verdict:
        # Agreement on one file of the model, upgraded or original, is enough to pass. Otherwise the
        # first file that the reference runs decides, which is the one that it runs best.
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
                return self._maker.verdict(
                    CheckOutcome.PASSED, comparison, self._on(other, comparison, note)
                )
            best = best or (comparison, other)
        if best is None:
            return Verdict(CheckOutcome.CANNOT_TELL, f"the reference cannot run the model: {why}")
        return self._disagreement(*best, attempt=attempt, origin=origin)

    def _overflow(
        self, comparison: Comparison, other: Attempt, attempt: Attempt, origin: str
    ) -> Verdict | None:
        """The verdict if the model overflows in half precision, which the reference computes in.

        The runtime computes in float32, where it does not, and is not to blame.
        """
        if not self._runtime.widens_half:
            return None
        places = self._subject.overflows(other.results, attempt.results)
        if not places:
            return None
        words = (
            f"in half, {len(places)} {'output is' if len(places) == 1 else 'outputs are'} infinite "
            f"or NaN (first {places[0]}); {self._arithmetic(comparison)}"
        )
        verdict = replace(self._maker.blamed(Blame.NONE, comparison, words), overflows=True)
        return self._maker.localised(verdict, origin, comparison.worst, REFERENCE, REFERENCE)

    def _arithmetic(self, comparison: Comparison) -> str:
        """In what arithmetic a half-precision model was computed; empty for other models."""
        if not self._subject.prepared.half or not self._runtime.widens_half:
            return ""
        return arithmetic.of(len(comparison.sets))

    def _inputs(self) -> tuple[Attempt | None, str, str]:
        """Choose a run to compare: (run, origin of its inputs, note).

        Generated inputs are used, or the bundled ones if the model runs on none of them.
        """
        generated = self._maker.generated
        if generated.status == RunStatus.DIED or generated.ran:
            return generated, GENERATED, ""
        why = self._subject.generation_problem or refusal(generated) or "none could be made"
        if self._subject.prepared.bundled:
            bundled = self._subject.attempt(self._name, BUNDLED)
            if bundled.status != RunStatus.RAN or bundled.ran:
                return bundled, BUNDLED, f"on the bundled inputs, since generated ones fail: {why}"
        return None, "", f"no generated inputs fit the model: {why}"

    def _on(self, other: Attempt, comparison: Comparison, note: str) -> str:
        words = [word for word in (note, self._arithmetic(comparison)) if word]
        if other.file_kind == FileKind.UPGRADED:
            words.append(f"the reference ran it upgraded to opset {self._subject.upgraded_opset}")
        if other.note:
            words.append(f"{other.note}; sets compared: {len(comparison.sets)}")
        return "; ".join(words)

    def _disagreement(
        self, comparison: Comparison, other: Attempt, *, attempt: Attempt, origin: str
    ) -> Verdict:
        """Decide by the bundled data whether this runtime or the reference is wrong."""
        guilty, why = Blame.RUNTIME, _NO_BUNDLED
        if self._subject.prepared.bundled:
            data = self._subject.sets[BUNDLED]
            model_file = next(
                file for file in self._subject.model_files if file.kind == other.file_kind
            )
            mine = self._subject.attempt(self._name, BUNDLED)
            theirs = self._subject.attempt(REFERENCE, BUNDLED, model_file=model_file)
            runtime_meets = mine.status == RunStatus.RAN and self._maker.agrees(data, mine.results)
            reference_meets = theirs.status == RunStatus.RAN and self._maker.agrees(
                data, theirs.results
            )
            if runtime_meets and not reference_meets:
                guilty, why = Blame.REFERENCE, f"{self._name} meets the bundled data, it does not"
            elif reference_meets and not runtime_meets:
                why = "the reference meets the bundled data"
            else:
                why = _BUNDLED_UNDECIDED
        words = f"{differs(comparison, 'the reference')}; {why}"
        exempt = self._overflow(comparison, other, attempt, origin)
        if exempt is None and guilty == Blame.RUNTIME:
            exempt = self._maker.unjudged(
                other.file_kind, comparison, words
            ) or self._maker.blame_optimiser(origin, other.results, comparison, words)
        if exempt is not None:
            return exempt
        verdict = self._maker.blamed(guilty, comparison, words)
        believed = self._name if guilty == Blame.REFERENCE else REFERENCE
        verdict = self._maker.localised(
            verdict, origin, comparison.worst, REFERENCE, believed, undecided=why in _UNDECIDED
        )
        return self._by_definition(verdict)

    def _by_definition(self, verdict: Verdict) -> Verdict:
        """The verdict by the definition of the operator at fault, if that decides.

        The reference follows the table of special values of `Cast` to 8 bits, at the operator set
        of the model, so agreement of the data with the runtime does not make it wrong.
        """
        node = verdict.node
        is_defined = self._subject.prepared.narrow and node is not None and node.op == "Cast"
        if verdict.blames != Blame.REFERENCE or not is_defined:
            return verdict
        reason = f"{verdict.reason}; the definition of Cast gives the outputs of the reference"
        return replace(
            verdict, outcome=CheckOutcome.FAILED, blames=Blame.RUNTIME, reason=reason, evidence=""
        )
