"""Verdicts of one model on one runtime, and which side is wrong where outputs differ.

A third party decides by majority: another runtime for bundled data, the bundled data for the
reference. A third party that cannot run the model never counts as agreement.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from runners.engine import runtimes
from runners.engine.conformance.verdicts import (
    Blame,
    CheckOutcome,
    Verdict,
    place_of,
)
from runners.engine.runs import stages
from runners.engine.runs.answers import Comparison, ReducedModel
from runners.engine.runs.attempts import Attempt, RunStatus
from runners.engine.runs.child_runs import FileKind
from runners.engine.runs.localise import Parties, Places
from runners.engine.runs.optimiser import OptimiserFault
from runners.engine.runs.shared_runs import ModelUnderTest


class VerdictMaker:
    """Verdicts of one model on one runtime, with the faults of the optimiser that were found."""

    def __init__(self, subject: ModelUnderTest) -> None:
        self.subject = subject
        self.name = subject.runtime
        self.runtime = runtimes.of(subject.runtime)
        self._faults: dict[tuple[str, ...], tuple[OptimiserFault, ReducedModel] | None] = {}

    @functools.cached_property
    def generated(self) -> Attempt:
        """The first run on generated inputs."""
        return self.subject.generate()

    def faulty(self, reason: str, *, runs: bool | None = None) -> Verdict:
        """A verdict against the runtime; `CANNOT_TELL` if the runtime is the reference itself."""
        if self.name == REFERENCE:
            return Verdict(CheckOutcome.CANNOT_TELL, reason, Blame.REFERENCE, runs=runs)
        return Verdict(CheckOutcome.FAILED, reason, Blame.RUNTIME, runs=runs)

    def not_run(self, attempt: Attempt) -> Verdict:
        if attempt.status == RunStatus.REFUSED:
            words = f"{self.name} does not load it: {attempt.reason}"
            return Verdict(CheckOutcome.FAILED, words, runs=False)
        if attempt.status in {RunStatus.LATE, RunStatus.UNPREPARED}:
            return Verdict(CheckOutcome.CANNOT_TELL, attempt.reason)
        words = f"{self.name} {attempt.reason}"
        if self.name == REFERENCE and not attempt.signal:
            # The reference is a slow interpreter: a timeout does not mean that it is wrong.
            return Verdict(CheckOutcome.CANNOT_TELL, words)
        # Only a crash by a signal is certainly a fault of the runtime.
        return Verdict(
            CheckOutcome.FAILED, words, Blame.RUNTIME if attempt.signal else Blame.NONE, runs=False
        )

    def if_random(self) -> Verdict | None:
        names = ", ".join(self.subject.prepared.random)
        if not names:
            return None
        return Verdict(CheckOutcome.INAPPLICABLE, f"the model draws random numbers ({names})")

    def witness(self) -> str | None:
        others = (REFERENCE, ONNXRUNTIME, OPENVINO)
        return next(
            (name for name in others if name != self.name and name in runtimes.names()), None
        )

    def agrees(self, expected: Path, actual: Path) -> bool:
        comparison = self.subject.compare(expected, actual)
        return not isinstance(comparison, str) and comparison.agreed

    def unjudged(
        self, file_kind: FileKind | None, comparison: Comparison, reason: str
    ) -> Verdict | None:
        """The verdict if the reference does not follow the model's operator set, else None."""
        operators = self.subject.unjudged(file_kind)
        if not operators:
            return None
        names = ", ".join(operators[: stages.MOST_OPERATORS])
        words = f"{reason}; the reference does not follow the model's operator set in {names}"
        return self.blamed(Blame.NONE, comparison, words)

    def blame_optimiser(
        self, origin: str, expected: Path, comparison: Comparison, reason: str
    ) -> Verdict | None:
        """The verdict against the optimiser if the unoptimised outputs are those expected."""
        if not self.runtime.optimises:
            return None
        unoptimised = self.subject.attempt(self.name, origin, optimise=False)
        if not unoptimised.has_outputs or not self.agrees(expected, unoptimised.results):
            return None
        words = f"{reason}; without graph optimisation {self.name} agrees"
        verdict = self.blamed(Blame.OPTIMISER, comparison, words)
        return self.with_pass(verdict, origin, unoptimised, comparison.worst)

    def with_pass(self, verdict: Verdict, origin: str, unoptimised: Attempt, name: str) -> Verdict:
        """Add the passes at fault and the smallest model that shows it.

        `name` is the data set; if it is empty, the first one that runs unoptimised is taken.
        """
        names: Sequence[str] = [name] if name else self.subject.names_of(unoptimised)
        key = (origin, *names[:1])
        if self.name != ONNXRUNTIME or not names:
            return verdict
        if key not in self._faults:
            self._faults[key] = self._fault(origin, unoptimised, names[0])
        result = self._faults[key]
        if result is None:
            return replace(verdict, reason=f"{verdict.reason}; no level of it fails alone")
        fault, reduced = result
        reason = f"{verdict.reason}; {stages.sentence_of(fault, reduced)}"
        return replace(
            verdict, reason=reason, graph_pass=", ".join(fault.passes), evidence=reduced.evidence
        )

    def _fault(
        self, origin: str, unoptimised: Attempt, name: str
    ) -> tuple[OptimiserFault, ReducedModel] | None:
        subject = self.subject
        case, profile = subject.optimiser_case(origin, unoptimised, name), subject.prepared.profile
        fault = stages.optimiser_fault(subject.job, subject.original, case, profile)
        if fault is None:
            return None
        places = Places(case.sets, subject.job.work, subject.job.out)
        return fault, stages.smallest_failure(
            subject.job, subject.original, case, fault, profile, places
        )

    def blamed(
        self, guilty: Blame, comparison: Comparison, reason: str, profile: str = ""
    ) -> Verdict:
        """The verdict about outputs that differ: `FAILED` only if the runtime is to blame."""
        is_failure = guilty in {Blame.RUNTIME, Blame.OPTIMISER}
        outcome = CheckOutcome.FAILED if is_failure else CheckOutcome.CANNOT_TELL
        return self.verdict(outcome, comparison, reason, guilty, profile)

    def verdict(
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
            profile or self.subject.prepared.profile,
            len(comparison.sets),
            sorted(comparison.rows, key=lambda row: row["agrees"]),
            runs=bool(comparison.sets),
        )

    def localised(
        self,
        verdict: Verdict,
        origin: str,
        name: str,
        witness: str,
        believed: str,
        *,
        optimised: bool = False,
        undecided: bool = False,
    ) -> Verdict:
        """The verdict with the first node that differs.

        Where nothing but the two runs says which is right (``undecided``), roundings that grow from
        node to node blame neither.
        """
        if not name:
            return verdict
        parties = Parties(self.name, witness, believed, self.subject.prepared.profile, optimised)
        divergence = self.subject.localise(parties, origin, name)
        node, note = divergence.node, divergence.note
        reason = verdict.reason
        if node is not None:
            reason += f"; first at {place_of(node)}"
        if note:
            reason += f" ({note})"
        verdict = replace(verdict, reason=reason, node=node, evidence=divergence.evidence)
        if undecided and divergence.is_rounding:
            # Both compute each node rightly: neither is to blame for how the model magnifies.
            return replace(verdict, outcome=CheckOutcome.CANNOT_TELL, blames=Blame.NONE)
        return verdict


class Check:
    """One check; its verdicts come from the maker that all checks of a model share."""

    def __init__(self, maker: VerdictMaker) -> None:
        self._maker = maker
        self._subject = maker.subject
        self._name = maker.name
        self._runtime = maker.runtime
