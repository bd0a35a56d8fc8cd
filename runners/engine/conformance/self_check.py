"""Checks of a runtime against itself: without graph optimisation, and in a second session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from hub.protocol.vocabularies import REFERENCE
from runners.engine import runtimes
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
from runners.engine.runs.child_runs import BUNDLED, title_of
from runners.engine.runs.generate import GENERATED

_EXACT = "exact"


class SelfCheck(Check):
    """Whether two runs of one runtime agree."""

    def judge(self, words: str, *, optimise: bool = True, tag: str = "") -> Verdict:
        profile = _EXACT if optimise else self._subject.prepared.profile
        comparisons: dict[str, Comparison] = {}
        why = self._subject.generation_problem
        self._subject.attempts(self._name, self.origins(), optimise=optimise, tag=tag)
        for origin in self.origins():
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
            return self._maker.verdict(CheckOutcome.PASSED, whole, profile=profile)
        reason = differs(whole, f"its own outputs {words}")
        random = self._maker.if_random()
        if random is not None or optimise:
            return random or self._maker.blamed(Blame.RUNTIME, whole, reason, profile)
        origin = next(origin for origin, part in comparisons.items() if part.worst)
        return self._optimisation_differs(origin, comparisons[origin].worst, whole, reason)

    def _second_run(
        self, origin: str, first: Attempt, second: Attempt, profile: str, *, optimise: bool
    ) -> Comparison | Verdict:
        """The comparison of two runs, or the verdict if one of them did not end as the other."""
        for attempt in (first, second):
            if attempt.status != RunStatus.RAN:
                return self._maker.not_run(attempt)
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
        return self._maker.with_pass(verdict, origin, second, lost[0])

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
            self._maker.agrees(expected, optimised.results)
            and not self._maker.agrees(expected, unoptimised.results)
        )
        if believes_optimised:
            words = f"{reason}, and {voice} gives those with optimisation"
            verdict = self._maker.blamed(Blame.RUNTIME, whole, words, profile)
            return self._maker.localised(
                verdict, origin, name, self._name, self._name, optimised=True
            )
        verdict = self._maker.blamed(Blame.OPTIMISER, whole, reason, profile)
        verdict = self._maker.localised(
            verdict, origin, name, self._name, self._name, optimised=True
        )
        with_pass = self._maker.with_pass(verdict, origin, unoptimised, name)
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

    def origins(self) -> list[str]:
        origins = [BUNDLED] if self._subject.prepared.bundled else []
        if self._maker.generated.ran or self._maker.generated.status == RunStatus.DIED:
            origins.append(GENERATED)
        return origins


def _joined(parts: Iterable[Comparison]) -> Comparison:
    comparisons = list(parts)
    return Comparison(
        [name for part in comparisons for name in part.sets],
        all(part.agrees for part in comparisons),
        [row for part in comparisons for row in part.rows],
    )
