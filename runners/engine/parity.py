"""What a converted model is held against: the original in the runtime, or the next best judge.

Expected outputs lie in folders by origin; who made them is always said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runners.engine import runtimes
from runners.engine.bench import Bench
from runners.engine.trials import BUNDLED, GENERATED

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.bench import Attempt, Comparison
    from runners.engine.jobs import Job
    from runners.engine.trials import Form

ORIGINAL, DATA, REFERENCE = "original", "bundled-data", "reference"
REGISTRY = "schema-registry"
_WORST = ("max_abs", "max_rel", "p999_rel", "ulp_max")


@dataclass(frozen=True, slots=True)
class Expected:
    """Outputs of one origin of data sets, and who says that they are right."""

    origin: str
    sets: Path
    results: Path
    judge: str
    count: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate against everything expected."""

    word: str
    reason: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    worst: tuple[str, str] = ("", "")
    judges: list[str] = field(default_factory=list)
    runtime: str = ""


class Court:
    """Gathers what is expected once, and then judges candidates."""

    def __init__(self, job: Job) -> None:
        self.bench = Bench(job, runtimes.ONNXRUNTIME)
        self.expected: list[Expected] = []
        self.notes: list[str] = []
        self.unsteady = ""
        self.deadly = ""

    @property
    def readable(self) -> bool:
        """Whether the model could be read at all."""
        return "unread" not in self.bench.facts

    @property
    def helpless(self) -> bool:
        """Whether no run of the original in the runtime can be held against anything."""
        runs = any(one.judge == ORIGINAL for one in self.expected)
        return bool(self.unsteady) or not runs

    def gather(self) -> None:
        """Run the original where it runs; else believe the bundled data, then the reference."""
        made = {GENERATED: self.bench.generate()}
        made[BUNDLED] = self._bundled(runtimes.ONNXRUNTIME)
        if any(attempt.word == "ran" for attempt in made.values()):
            for origin, attempt in made.items():
                self._take(origin, attempt, ORIGINAL)
            self._watch_for_chance(made)
            return
        self.notes.append(f"the runtime does not run the original: {made[GENERATED].reason}")
        self.deadly = next((one.reason for one in made.values() if one.word == "died"), "")
        if self.bench.facts["bundled"]:
            folder = self.bench.sets[BUNDLED]
            count = len(self.bench.facts["bundled"])
            self.expected.append(Expected(BUNDLED, folder, folder, DATA, count))
        self._ask_the_reference()

    def _bundled(self, runtime: str) -> Attempt:
        return self.bench.attempt(runtime, BUNDLED)

    def _take(self, origin: str, attempt: Attempt, judge: str) -> None:
        for name, why in attempt.refused.items():
            self.notes.append(f"{name} is left out, the original does not run on it: {why}")
        if attempt.word == "ran" and attempt.ran:
            sets = self.bench.sets[origin]
            self.expected.append(Expected(origin, sets, attempt.results, judge, attempt.ran))

    def _watch_for_chance(self, made: dict[str, Attempt]) -> None:
        """Run the original once more: what differs from itself cannot be compared."""
        for one in self.expected:
            again = self.bench.attempt(runtimes.ONNXRUNTIME, one.origin, tag="again")
            found = self.bench.compare(made[one.origin].results, again.results)
            if not isinstance(found, str) and not found.agreed:
                drawn = ", ".join(self.bench.random) or "no operator known to draw random numbers"
                self.unsteady = f"two runs of the original differ ({drawn})"

    def _ask_the_reference(self) -> None:
        """Let the reference speak, if it meets the bundled data or there are none."""
        if self.expected:
            attempt = self._bundled(runtimes.REFERENCE)
            met = self.bench.compare(self.expected[0].results, attempt.results)
            if isinstance(met, str) or not met.agreed:
                self.notes.append("the reference does not meet the bundled data and is not asked")
                return
        bench = Bench(self.bench.job, runtimes.REFERENCE)
        attempt = bench.generate()
        self.bench.sets[GENERATED] = bench.sets[GENERATED]
        if attempt.word != "ran":
            self.notes.append(f"the reference does not run the original: {attempt.reason}")
        self._take(GENERATED, attempt, REFERENCE)

    def judge(self, candidate: Form, runtime: str, tag: str) -> Trial:
        """Run a candidate on everything expected; "proven" only if every output agrees."""
        rows: list[dict[str, Any]] = []
        for one in self.expected:
            attempt = self.bench.attempt(runtime, one.origin, form=candidate, tag=tag)
            if attempt.word != "ran":
                word = "crashed" if attempt.word == "died" else "not-loading"
                return Trial(word, attempt.reason)
            found = self.bench.compare(one.results, attempt.results)
            if isinstance(found, str):
                return Trial("not-comparable", found)
            rows += found.rows
            if not found.agrees:
                return Trial("parity-lost", _first_bad(found), rows, (one.origin, found.worst))
            if len(found.sets) < one.count:
                why = next(iter(attempt.refused.values()), "a data set has no outputs")
                return Trial("not-running", why, rows)
        judges = sorted({one.judge for one in self.expected})
        return Trial("proven", "", rows, judges=judges, runtime=runtime)

    def refusal(self, candidate: Form, tag: str) -> str:
        """Say why a candidate does not run where the original does; values are not compared."""
        for one in self.expected:
            if one.judge == ORIGINAL:
                attempt = self.bench.attempt(
                    runtimes.ONNXRUNTIME, one.origin, form=candidate, tag=tag
                )
                if attempt.word != "ran" or attempt.ran < one.count:
                    return attempt.reason or next(iter(attempt.refused.values()), "it does not run")
        return ""

    def facts(self, trial: Trial) -> dict[str, Any]:
        """Sum the figures up: the worst of each over all outputs and data sets."""
        return {
            "judges": trial.judges,
            "runtime": trial.runtime,
            "profile": self.bench.profile,
            "datasets": {one.origin: one.count for one in self.expected if trial.runtime},
            "outputs": len(trial.rows),
            "worst": {name: _largest(trial.rows, name) for name in _WORST},
            "notes": self.notes[:20],
        }


def _first_bad(found: Comparison) -> str:
    return next((str(row["reason"]) for row in found.rows if not row["agrees"]), "")


def _largest(rows: list[dict[str, Any]], name: str) -> float | str | None:
    figures = [row[name] for row in rows if row.get(name) is not None]
    strange = [one for one in figures if isinstance(one, str)]
    return strange[0] if strange else max(figures, default=None)
