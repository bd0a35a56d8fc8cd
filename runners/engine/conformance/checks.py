"""The four checks of a model on a runtime, and which side is wrong where outputs differ.

A third party decides by majority: another runtime for bundled data, the bundled data for the
reference. A third party that cannot run the model never counts as agreement.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from hub.protocol import arithmetic
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
from runners.engine.runs.child_runs import BUNDLED, FileKind, title_of
from runners.engine.runs.generate import GENERATED
from runners.engine.runs.localise import Parties
from runners.engine.runs.shared_runs import AGAIN, Attempt, ModelUnderTest, RunStatus

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.runs.answers import ReducedModel
    from runners.engine.runs.optimiser import OptimiserFault

_PROGRESS = {"bundled": 30, "reference": 50, "optimisation": 75, "determinism": 90}
CHECKS = tuple(_PROGRESS)
_EXACT = "exact"
# Operators of a reduced model that a reason lists.
_MOST_OPERATORS = 8


class Checks:
    """The four checks of one model on one runtime; their verdicts by the names of the checks."""

    def __init__(self, subject: ModelUnderTest) -> None:
        self._subject = subject
        self._name = subject.runtime
        self._runtime = runtimes.of(subject.runtime)
        self._refused: Verdict | None = None
        self._faults: dict[tuple[str, ...], tuple[OptimiserFault, ReducedModel] | None] = {}
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
        attempt, origin = self._generated, GENERATED
        if attempt.status == RunStatus.NONE and prepared.bundled:
            attempt, origin = self._subject.attempt(self._name, BUNDLED), BUNDLED
        if attempt.has_outputs or attempt.status == RunStatus.NONE:
            return None
        if attempt.status == RunStatus.RAN and prepared.bundled:
            bundled = self._subject.attempt(self._name, BUNDLED)
            if check == "bundled" or bundled.status != RunStatus.RAN or bundled.ran:
                return None
        if self._refused is None:
            self._refused = self._runs_unoptimised(attempt, origin) or self._without_outputs(
                attempt
            )
        return self._refused

    def _without_outputs(self, attempt: Attempt) -> Verdict | None:
        """The verdict of a run without outputs; None if it died, which each check judges itself."""
        if attempt.status == RunStatus.UNSUPPORTED:
            words = f"{self._name} does not support it: {attempt.reason}"
            return Verdict(CheckOutcome.INAPPLICABLE, words, runs=False)
        if attempt.status in {RunStatus.UNPREPARED, RunStatus.REFUSED}:
            return self._not_run(attempt)
        return self._refuses_everything(attempt) if attempt.status == RunStatus.RAN else None

    def _runs_unoptimised(self, attempt: Attempt, origin: str) -> Verdict | None:
        """The verdict if the model runs without graph optimisation alone, else None."""
        has_failed = attempt.signal or attempt.status in {
            RunStatus.RAN,
            RunStatus.REFUSED,
            RunStatus.UNSUPPORTED,
        }
        if not self._runtime.optimises or not has_failed:
            return None
        unoptimised = self._subject.attempt(self._name, origin, optimise=False)
        if not unoptimised.has_outputs:
            return None
        what = {RunStatus.RAN: refusal(attempt), RunStatus.DIED: attempt.reason}
        words = what.get(attempt.status, f"does not load it: {attempt.reason}")
        verdict = Verdict(
            CheckOutcome.FAILED,
            f"{self._name} {words}; without graph optimisation it runs",
            Blame.OPTIMISER,
            runs=False,
        )
        return self._with_pass(verdict, origin, unoptimised, "")

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
        outputs of this runtime, the data are wrong, unless it does not follow the model's operator
        set. Otherwise this runtime is blamed.
        """
        reason = differs(comparison) or f"{self._name} {refusal(attempt)}"
        guilty = Blame.REFERENCE if self._name == REFERENCE else Blame.RUNTIME
        witness = self._witness()
        if witness is None:
            return self._blamed(guilty, comparison, f"{reason}; no other runtime to ask")
        # The witness runs the model upgraded, then the original, until one of them decides: it may
        # refuse either.
        others: list[Attempt] = []
        undecided: Verdict | None = None
        for model_file in self._subject.model_files:
            other = self._subject.attempt(witness, BUNDLED, model_file=model_file)
            others.append(other)
            if not other.has_outputs:
                continue
            if self._agrees(self._subject.sets[BUNDLED], other.results):
                words = f"{reason}, which {witness} meets"
                return self._met_by(witness, guilty, comparison, words)
            if self._agrees(other.results, attempt.results):
                words = f"{reason}, but {witness} gives what {self._name} gives"
                undecided = self._unjudged(model_file.kind, comparison, words)
                if undecided is None:
                    return self._blamed(Blame.DATA, comparison, words)
        undecided = undecided or self._all_refuse(witness, attempt, others, reason)
        if undecided is not None:
            return undecided
        if not any(other.has_outputs for other in others):
            return self._blamed(guilty, comparison, f"{reason}; {witness} cannot be asked")
        verdict = self._blamed(guilty, comparison, f"{reason}; {witness} agrees with neither")
        return self._localised(verdict, BUNDLED, comparison.worst, witness, witness)

    def _all_refuse(
        self, witness: str, attempt: Attempt, others: Sequence[Attempt], reason: str
    ) -> Verdict | None:
        """The verdict if no runtime runs the bundled inputs, else None."""
        is_refused = any(other.status == RunStatus.RAN and other.refused for other in others)
        if attempt.ran or not is_refused or any(other.has_outputs for other in others):
            return None
        words = f"{reason}; {witness} refuses it too, so the data may be at fault"
        blames = Blame.DATA if self._generated.ran else Blame.NONE
        return Verdict(CheckOutcome.CANNOT_TELL, words, blames, runs=bool(blames))

    def _unjudged(
        self, file_kind: FileKind | None, comparison: Comparison, reason: str
    ) -> Verdict | None:
        """The verdict if the reference does not follow the model's operator set, else None."""
        operators = self._subject.unjudged(file_kind)
        if not operators:
            return None
        names = ", ".join(operators[:_MOST_OPERATORS])
        words = f"{reason}; the reference does not follow the model's operator set in {names}"
        return self._blamed(Blame.NONE, comparison, words)

    def _met_by(self, witness: str, guilty: Blame, comparison: Comparison, reason: str) -> Verdict:
        """The verdict if another runtime gives the expected outputs."""
        data = self._subject.sets[BUNDLED]
        optimiser = self._blame_optimiser(BUNDLED, data, comparison, reason)
        if optimiser is not None:
            return optimiser
        verdict = self._blamed(guilty, comparison, reason)
        believed = self._name if guilty == Blame.REFERENCE else witness
        return self._localised(verdict, BUNDLED, comparison.worst, witness, believed)

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
                return self._verdict(
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
        verdict = replace(self._blamed(Blame.NONE, comparison, words), overflows=True)
        return self._localised(verdict, origin, comparison.worst, REFERENCE, REFERENCE)

    def _arithmetic(self, comparison: Comparison) -> str:
        """In what arithmetic a half-precision model was computed; empty for other models."""
        if not self._subject.prepared.half or not self._runtime.widens_half:
            return ""
        return arithmetic.of(len(comparison.sets))

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
        words = f"{differs(comparison, 'the reference')}; {why}"
        exempt = self._overflow(comparison, other, attempt, origin)
        if exempt is None and guilty == Blame.RUNTIME:
            exempt = self._unjudged(other.file_kind, comparison, words) or self._blame_optimiser(
                origin, other.results, comparison, words
            )
        if exempt is not None:
            return exempt
        verdict = self._blamed(guilty, comparison, words)
        believed = self._name if guilty == Blame.REFERENCE else REFERENCE
        verdict = self._localised(verdict, origin, comparison.worst, REFERENCE, believed)
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

    # --- the optimiser of the runtime ---

    def _blame_optimiser(
        self, origin: str, expected: Path, comparison: Comparison, reason: str
    ) -> Verdict | None:
        """The verdict against the optimiser if the unoptimised outputs are those expected."""
        if not self._runtime.optimises:
            return None
        unoptimised = self._subject.attempt(self._name, origin, optimise=False)
        if not unoptimised.has_outputs or not self._agrees(expected, unoptimised.results):
            return None
        words = f"{reason}; without graph optimisation {self._name} agrees"
        verdict = self._blamed(Blame.OPTIMISER, comparison, words)
        return self._with_pass(verdict, origin, unoptimised, comparison.worst)

    def _with_pass(self, verdict: Verdict, origin: str, unoptimised: Attempt, name: str) -> Verdict:
        """Add the passes at fault and the smallest model that shows it.

        `name` is the data set; if it is empty, the first one that runs unoptimised is taken.
        """
        names: Sequence[str] = [name] if name else self._subject.names_of(unoptimised)
        key = (origin, *names[:1])
        if self._name != ONNXRUNTIME or not names:
            return verdict
        if key not in self._faults:
            self._faults[key] = self._fault(origin, unoptimised, names[0])
        result = self._faults[key]
        if result is None:
            return replace(verdict, reason=f"{verdict.reason}; no level of it fails alone")
        fault, reduced = result
        reason = f"{verdict.reason}; {fault.sentence}"
        if reduced.operators:
            count = len(reduced.operators)
            nodes = f"{count} {'node' if count == 1 else 'nodes'}"
            some = ", ".join(reduced.operators[:_MOST_OPERATORS])
            reason += f"; the smallest model that fails has {nodes}: {some}"
        return replace(
            verdict, reason=reason, graph_pass=", ".join(fault.passes), evidence=reduced.evidence
        )

    def _fault(
        self, origin: str, unoptimised: Attempt, name: str
    ) -> tuple[OptimiserFault, ReducedModel] | None:
        fault = self._subject.optimiser_fault(origin, unoptimised, name)
        if fault is None:
            return None
        return fault, self._subject.smallest_failure(origin, unoptimised, name, fault)

    # --- the runtime against itself ---

    def _against_itself(self, words: str, *, optimise: bool = True, tag: str = "") -> Verdict:
        profile = _EXACT if optimise else self._subject.prepared.profile
        comparisons: dict[str, Comparison] = {}
        why = self._subject.generation_problem
        self._subject.attempts(self._name, self._origins(), optimise=optimise, tag=tag)
        for origin in self._origins():
            first = self._subject.attempt(self._name, origin)
            second = self._subject.attempt(self._name, origin, optimise=optimise, tag=tag)
            comparison = self._second_run(origin, first, second, profile, optimise=optimise)
            if isinstance(comparison, Verdict):
                return comparison
            if comparison.sets:
                comparisons[origin] = comparison
            else:
                why = refusal(first) or refusal(second)
        if not comparisons:
            return Verdict(CheckOutcome.CANNOT_TELL, f"no inputs to run it on: {why}")
        whole = _joined(comparisons.values())
        if whole.agreed:
            return self._verdict(CheckOutcome.PASSED, whole, profile=profile)
        reason = differs(whole, f"its own outputs {words}")
        random = self._if_random()
        if random is not None or optimise:
            return random or self._blamed(Blame.RUNTIME, whole, reason, profile)
        origin = next(origin for origin, part in comparisons.items() if part.worst)
        return self._optimisation_differs(origin, comparisons[origin].worst, whole, reason)

    def _second_run(
        self, origin: str, first: Attempt, second: Attempt, profile: str, *, optimise: bool
    ) -> Comparison | Verdict:
        """The comparison of two runs, or the verdict if one of them did not end as the other."""
        for attempt in (first, second):
            if attempt.status != RunStatus.RAN:
                return self._not_run(attempt)
        comparison = self._subject.compare(second.results, first.results, profile)
        if isinstance(comparison, str):
            return Verdict(CheckOutcome.CANNOT_TELL, comparison)
        refused = None if optimise else self._refuses_optimised(origin, first, second)
        return refused or comparison

    def _refuses_optimised(self, origin: str, first: Attempt, second: Attempt) -> Verdict | None:
        """The verdict if a data set runs without optimisation alone, else None."""
        lost = [name for name in first.refused if name not in second.refused]
        if not lost or not second.has_outputs:
            return None
        reason = f"{self._name} refuses {title_of(lost[0])}: {first.refused[lost[0]]}"
        verdict = Verdict(
            CheckOutcome.FAILED,
            f"{reason}; without graph optimisation it runs",
            Blame.OPTIMISER,
            runs=first.has_outputs,
        )
        return self._with_pass(verdict, origin, second, lost[0])

    def _optimisation_differs(
        self, origin: str, name: str, whole: Comparison, reason: str
    ) -> Verdict:
        """Decide by the data or the reference whether the optimised outputs are wrong.

        Only where these give the optimised outputs, and not the others, the runtime computes the
        model wrongly as it is written. Otherwise a pass has changed what it must not change.
        """
        profile = self._subject.prepared.profile
        optimised = self._subject.attempt(self._name, origin)
        unoptimised = self._subject.attempt(self._name, origin, optimise=False)
        voice, expected = self._third_voice(origin)
        believes_optimised = expected is not None and (
            self._agrees(expected, optimised.results)
            and not self._agrees(expected, unoptimised.results)
        )
        if believes_optimised:
            words = f"{reason}, and {voice} gives those with optimisation"
            verdict = self._blamed(Blame.RUNTIME, whole, words, profile)
            return self._localised(verdict, origin, name, self._name, self._name, optimised=True)
        verdict = self._blamed(Blame.OPTIMISER, whole, reason, profile)
        verdict = self._localised(verdict, origin, name, self._name, self._name, optimised=True)
        with_pass = self._with_pass(verdict, origin, unoptimised, name)
        return replace(with_pass, evidence=with_pass.evidence or verdict.evidence)

    def _third_voice(self, origin: str) -> tuple[str, Path | None]:
        """Name and outputs of what decides between two runs of the runtime; None without any."""
        if origin == BUNDLED:
            return "the bundled data", self._subject.sets[BUNDLED]
        if REFERENCE in runtimes.names():
            for model_file in self._subject.model_files:
                attempt = self._subject.attempt(REFERENCE, origin, model_file=model_file)
                if attempt.has_outputs:
                    return "the reference", attempt.results
        return "", None

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
        is_failure = guilty in {Blame.RUNTIME, Blame.OPTIMISER}
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
        # Outputs that agree may have a remark; one of them is enough for the reason of a pass.
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


def _joined(parts: Iterable[Comparison]) -> Comparison:
    comparisons = list(parts)
    return Comparison(
        [name for part in comparisons for name in part.sets],
        all(part.agrees for part in comparisons),
        [row for part in comparisons for row in part.rows],
    )
