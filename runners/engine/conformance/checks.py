"""The four checks of a model on a runtime."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from hub.protocol.vocabularies import REFERENCE
from runners.engine.conformance.bundled_check import BundledCheck
from runners.engine.conformance.reference_check import ReferenceCheck
from runners.engine.conformance.self_check import SelfCheck
from runners.engine.conformance.verdict_maker import Check, VerdictMaker
from runners.engine.conformance.verdicts import (
    Blame,
    CheckOutcome,
    Verdict,
    refusal,
)
from runners.engine.runs.attempts import AGAIN, Attempt, RunStatus, Session
from runners.engine.runs.child_runs import BUNDLED
from runners.engine.runs.generate import GENERATED
from runners.engine.runs.shared_runs import ModelUnderTest

_PROGRESS = {"bundled": 30, "reference": 50, "optimisation": 75, "determinism": 90}
CHECKS = tuple(_PROGRESS)
_EXACT = "exact"
# Processor seconds of the first run up to which one child makes all others.
_TIME_FOR_ALL = 2.5


class Checks(Check):
    """The four checks of one model on one runtime; their verdicts by the names of the checks."""

    def __init__(self, subject: ModelUnderTest) -> None:
        super().__init__(VerdictMaker(subject))
        self._itself = SelfCheck(self._maker)
        self._refused: Verdict | None = None
        self.verdicts: dict[str, Verdict] = {}

    def run_ahead(self, checks: Sequence[str]) -> None:
        """Make the runs and comparisons that checks of a fast and faultless model need at once."""
        subject = self._subject
        generated = self._maker.generated
        if generated.seconds > _TIME_FOR_ALL or not generated.ran or subject.prepared.random:
            return
        origins = self._itself.origins()
        attempts = subject.attempts(self._name, origins)
        whole = Session(self._name, origins, subject.original)
        sessions = []
        tasks: dict[str, Callable[[], Any]] = {}
        if "bundled" in checks and BUNDLED in origins:
            tasks |= subject.compare_task(subject.sets[BUNDLED], attempts[BUNDLED].results)
        if "optimisation" in checks and self._runtime.optimises:
            sessions.append((replace(whole, optimise=False), ""))
        if "determinism" in checks:
            sessions.append((replace(whole, tag=AGAIN), _EXACT))
        for session, profile in sessions:
            for origin, place in zip(origins, subject.results_of(session), strict=True):
                tasks |= subject.compare_task(place, attempts[origin].results, profile)
        subject.run_ahead([session for session, _ in sessions], tasks)

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
                return BundledCheck(self._maker).judge()
            case "reference":
                return ReferenceCheck(self._maker).judge()
            case "determinism":
                return self._itself.judge("in a second session", tag=AGAIN)
        if not self._runtime.optimises:
            return Verdict(
                CheckOutcome.INAPPLICABLE, f"{self._name} has no optimisation to switch off"
            )
        return self._itself.judge("with optimisation off", optimise=False)

    def _without_runs(self, check: str) -> Verdict | None:
        """The verdict of every check if the model does not load or runs on no input, else None."""
        prepared = self._subject.prepared
        if not prepared.is_readable:
            return Verdict(CheckOutcome.CANNOT_TELL, f"reading the model {prepared.problem}")
        attempt, origin = self._maker.generated, GENERATED
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
            return self._maker.not_run(attempt)
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
        return self._maker.with_pass(verdict, origin, unoptimised, "")

    def _refuses_everything(self, attempt: Attempt) -> Verdict:
        """The verdict if the runtime loads the model and fails on every input that was tried.

        The runtime fails if another runtime runs the same inputs. Otherwise the inputs may be
        invalid, and the outcome is `CANNOT_TELL`.
        """
        reason = f"{self._name} {refusal(attempt)}, and every other input that was tried"
        witness = self._maker.witness()
        for model_file in self._subject.model_files if witness else []:
            other = self._subject.attempt(str(witness), GENERATED, model_file=model_file)
            if other.has_outputs:
                return self._maker.faulty(f"{reason}; {witness} runs these inputs", runs=False)
        alone = f"{witness} does not run them either" if witness else "no other runtime to ask"
        words = f"{reason}; {alone}, so the inputs may be at fault"
        return Verdict(CheckOutcome.CANNOT_TELL, words, runs=False)
