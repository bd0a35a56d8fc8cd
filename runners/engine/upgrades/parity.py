"""What a converted model is held against: the original in the runtime, or the next best judge.

An upgrade is held to the original's own noise, never to a tolerance chosen by its types. Expected
outputs lie in folders by origin; who made them, and what the inputs reached, is always said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hub.protocol import inputs as declarations
from hub.protocol import proofs, vocabularies
from runners.engine.runs import agreement, answers
from runners.engine.runs.answers import Comparison, Inside, OutputState, Row, States, Trace
from runners.engine.runs.child_runs import BUNDLED, Form
from runners.engine.runs.generate import GENERATED, SEARCHED, VARIED
from runners.engine.runs.shared_runs import Attempt, Bench
from runners.engine.upgrades import candidates, coverage, evidence, noise

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.jobs import Job

ORIGINAL, DATA, REFERENCE = "original", "bundled-data", "reference"
REGISTRY = proofs.BY_SCHEMA
_WITNESSED = "witnessed"
_WORST = ("max_abs", "max_rel", "p999_rel", "ulp_max")
# Chance shows on few inputs.
_REPEATED = (BUNDLED, GENERATED)
_GENERATED = (GENERATED, VARIED, SEARCHED)
# Seconds that the usual generated inputs may have taken, for others to be tried too.
TIME_FOR_MORE = 2.5
# The reference takes some hundred times as long.
_TIME_FOR_THE_REFERENCE = 0.5
_WITNESSED_SETS = 1
_TOLERANCES = {
    one.name: f"{one.rtol:g} relative and {one.atol:g} absolute"
    for one in (agreement.FP32, agreement.FP16)
}


@dataclass(frozen=True, slots=True)
class Expected:
    """Outputs of one origin of data sets, and who says that they are right.

    `own` are further runs of the same original on the same inputs: its noise.
    """

    origin: str
    sets: Path
    results: Path
    judge: str
    count: int
    own: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate against everything expected."""

    word: str
    reason: str = ""
    rows: list[Row] = field(default_factory=list)
    worst: tuple[str, str] = ("", "")
    runtime: str = ""
    proof: proofs.Proof | None = None


class Court:
    """Gathers what is expected once, and then judges candidates.

    `declared` is the key `inputs` of the version's card.
    """

    def __init__(self, job: Job, declared: Any = None) -> None:
        self.bench = Bench(job, vocabularies.ONNXRUNTIME, declared=declared)
        self.expected: list[Expected] = []
        self.notes: list[str] = []
        self.unsteady = ""
        self.deadly = ""
        self._trace: Trace | None = None
        self._states: list[OutputState] = []
        self._reference: Attempt | None = None
        self._declared = declarations.parse(declared)

    @property
    def readable(self) -> bool:
        """Whether the model could be read at all."""
        return self.bench.prepared.is_readable

    @property
    def helpless(self) -> bool:
        """Whether no run of the original in the runtime can be held against anything."""
        runs = any(one.judge == ORIGINAL for one in self.expected)
        return bool(self.unsteady) or not runs

    @property
    def barren(self) -> str:
        """Why no output can show anything, whatever is held against it; empty where one can."""
        if not self._states or any(one.state in _FINE for one in self._states):
            return ""
        return "; ".join(proofs.Output(one.name, one.state).sentence for one in self._states)

    @property
    def tolerance(self) -> str:
        """The profile where the original's noise is unknown: of floats, whatever is quantised."""
        return (agreement.FP16 if self.bench.prepared.half else agreement.FP32).name

    def gather(self) -> None:
        """Run the original where it runs; else believe the bundled data, then the reference."""
        generated = self.bench.generate()
        attempts = {GENERATED: generated}
        if self.bench.prepared.bundled or generated.word != "ran":
            attempts[BUNDLED] = self._bundled(vocabularies.ONNXRUNTIME)
        if any(attempt.word == "ran" and attempt.ran for attempt in attempts.values()):
            if generated.word == "ran" and generated.seconds < TIME_FOR_MORE:
                attempts |= self._more(VARIED)
            self._run_again(attempts)
            for origin, attempt in attempts.items():
                self._take(origin, attempt, ORIGINAL)
            self._watch_for_chance(attempts)
            if not self.unsteady:
                self._look_at_evidence()
            return
        self.notes.append(f"the runtime does not run the original: {generated.reason}")
        self.deadly = next((one.reason for one in attempts.values() if one.word == "died"), "")
        if bundled := self.bench.prepared.bundled:
            folder = self.bench.sets[BUNDLED]
            count = len(bundled)
            self.expected.append(Expected(BUNDLED, folder, folder, DATA, count))
        self._ask_the_reference()
        self._states = self._read_states([one.results for one in self.expected])

    def _bundled(self, runtime: str) -> Attempt:
        return self.bench.attempt(runtime, BUNDLED)

    def _more(self, origin: str) -> dict[str, Attempt]:
        problem = self.bench.generate_more(origin)
        if problem:
            self.notes.append(problem)
            return {}
        return {origin: self.bench.attempt(vocabularies.ONNXRUNTIME, origin)}

    def _take(self, origin: str, attempt: Attempt, judge: str) -> None:
        if attempt.refused:
            count, why = len(attempt.refused), next(iter(attempt.refused.values()))
            named = f"{count} of {attempt.sets} {origin} inputs are"
            self.notes.append(f"{named} left out, the original does not run on them: {why}")
        if attempt.word == "ran" and attempt.ran:
            own = self._own(origin) if judge == ORIGINAL else ()
            sets = self.bench.sets[origin]
            self.expected.append(Expected(origin, sets, attempt.results, judge, attempt.ran, own))

    def _run_again(self, attempts: dict[str, Attempt]) -> None:
        """Make the runs that `_own` asks for, those of all origins in one session."""
        ran = [origin for origin, one in attempts.items() if one.word == "ran" and one.ran]
        repeated = [origin for origin in ran if origin in _REPEATED]
        self.bench.attempts(vocabularies.ONNXRUNTIME, ran, optimise=False)
        self.bench.attempts(vocabularies.ONNXRUNTIME, repeated, tag="again")

    def _own(self, origin: str) -> tuple[Path, ...]:
        """Run the original without optimisation, and again as it is: what lies between is noise."""
        runs = [self.bench.attempt(vocabularies.ONNXRUNTIME, origin, optimise=False)]
        if origin in _REPEATED:
            runs.append(self.bench.attempt(vocabularies.ONNXRUNTIME, origin, tag="again"))
        return tuple(one.results for one in runs if one.word == "ran")

    def _watch_for_chance(self, attempts: dict[str, Attempt]) -> None:
        """Look at the second run of the original: what differs from itself cannot be compared."""
        for one in self.expected:
            if one.origin not in _REPEATED:
                continue
            again = self.bench.attempt(vocabularies.ONNXRUNTIME, one.origin, tag="again")
            result = self.bench.compare(attempts[one.origin].results, again.results, self.tolerance)
            if not isinstance(result, str) and not result.agreed:
                drawn = (
                    ", ".join(self.bench.prepared.random)
                    or "no operator known to draw random numbers"
                )
                self.unsteady = f"two runs of the original differ ({drawn})"

    def _look_at_evidence(self) -> None:
        """Learn what the inputs reached; where that is not everything, search for others once."""
        self._observe()
        branches = [] if self._trace is None else self._trace.branches
        if all(one.state in _FINE for one in self._states) and all(
            one.taken or not one.reachable for one in branches
        ):
            return
        for origin, attempt in self._more(SEARCHED).items():
            self._take(origin, attempt, ORIGINAL)
        self._observe()

    def _observe(self) -> None:
        self._states = self._read_states([one.results for one in self.expected])
        if self.bench.prepared.bodies:
            self._trace = self._traced(vocabularies.ONNXRUNTIME, self.bench.original)

    def _read_states(self, results: list[Path]) -> list[OutputState]:
        model = self.bench.job.model
        ending = self.bench.job.stage(
            "evidence", lambda: evidence.states(model, results), writes=False
        )
        if ending.kind == "answered":
            return answers.read(States, ending.answer).outputs
        self.notes.append(f"looking at the outputs {self.bench.job.cause(ending)}")
        return []

    def _traced(self, runtime: str, form: Form) -> Trace | None:
        job, folders = self.bench.job, [one.sets for one in self.expected]
        ending = self.bench.run_stage(
            "trace", lambda: coverage.trace(runtime, form, folders, job.work / "trace")
        )
        if ending.kind == "answered":
            return answers.read(Trace, ending.answer)
        self.notes.append(f"recording which branches run {job.cause(ending)}")
        return None

    def _ask_the_reference(self) -> None:
        """Let the reference speak, if it meets the bundled data or there are none."""
        if self.expected:
            attempt = self._bundled(vocabularies.REFERENCE)
            met = self.bench.compare(self.expected[0].results, attempt.results, self.tolerance)
            if isinstance(met, str) or not met.agreed:
                self.notes.append("the reference does not meet the bundled data and is not asked")
                return
        bench = Bench(self.bench.job, vocabularies.REFERENCE, declared=self.bench.declared)
        attempt = bench.generate()
        self.bench.sets[GENERATED] = bench.sets[GENERATED]
        if attempt.word != "ran":
            self.notes.append(f"the reference does not run the original: {attempt.reason}")
        self._take(GENERATED, attempt, REFERENCE)

    def judge(self, candidate: Form, runtime: str, tag: str, changed: frozenset[str]) -> Trial:
        """Run a candidate on everything expected, and state how far it was shown to be equal.

        `changed` are the operators that differ between the two operator sets.
        """
        rows: list[Row] = []
        origins = [one.origin for one in self.expected]
        self.bench.attempts(runtime, origins, form=candidate, tag=tag)
        for one in self.expected:
            attempt = self.bench.attempt(runtime, one.origin, form=candidate, tag=tag)
            if attempt.word != "ran":
                word = "crashed" if attempt.word == "died" else "not-loading"
                return Trial(word, attempt.reason)
            result = self._held(one, attempt, runtime, candidate, tag)
            if isinstance(result, str):
                return Trial("not-comparable", result)
            rows += result.rows
            if not result.agrees:
                return Trial("parity-lost", _first_bad(result), rows, (one.origin, result.worst))
            if len(result.sets) < one.count:
                why = next(iter(attempt.refused.values()), "a data set has no outputs")
                return Trial("not-running", why, rows)
        proof = self._proof(candidate, runtime, tag, changed, rows)
        if proof.proves_nothing:
            return Trial("not-provable", "; ".join(proof.gaps) or "no output was compared", rows)
        word = "equal" if proof.strength in proofs.SUFFICIENT else "partial"
        return Trial(word, "; ".join(proof.gaps), rows, runtime=runtime, proof=proof)

    def _held(
        self, one: Expected, attempt: Attempt, runtime: str, candidate: Form, tag: str
    ) -> Comparison | str:
        """Hold one origin's outputs to the original's noise, or to the tolerance without one."""
        if one.judge == ORIGINAL and runtime == vocabularies.ONNXRUNTIME:
            return self._within_noise((one.results, *one.own), attempt.results)
        result = self.bench.compare(one.results, attempt.results, self.tolerance)
        if one.judge != REFERENCE or isinstance(result, str) or not result.agrees:
            return result
        # In one and the same runtime there is nothing but rounding to excuse a difference.
        theirs = self.bench.attempt(vocabularies.REFERENCE, one.origin, form=candidate, tag=tag)
        if theirs.word != "ran":
            self.notes.append(f"the reference does not run the new model: {theirs.reason}")
            return result
        strict = self._within_noise((one.results,), theirs.results)
        return result if isinstance(strict, str) or strict.agrees else strict

    def _within_noise(self, runs: tuple[Path, ...], actual: Path) -> Comparison | str:
        job = self.bench.job
        ending = job.stage("compare", lambda: evidence.hold(job.model, runs, actual), writes=False)
        if ending.kind != "answered":
            return f"comparing the outputs {job.cause(ending)}"
        return answers.read(Comparison, ending.answer)

    def _proof(
        self, candidate: Form, runtime: str, tag: str, changed: frozenset[str], rows: list[Row]
    ) -> proofs.Proof:
        judges = {one.judge for one in self.expected}
        noisy = judges == {ORIGINAL} and runtime == vocabularies.ONNXRUNTIME
        if noisy and self._reference_agrees(candidate, tag):
            judges.add(REFERENCE)
        trace = self._coverage(candidate, runtime)
        inside = self._inside(candidate) if noisy else None
        worst = max(rows, key=lambda row: answers.number(row["max_abs"], -1.0), default={})
        counts = {one.origin: one.count for one in self.expected}
        generated = sum(counts.get(origin, 0) for origin in _GENERATED)
        declared = any(
            one.name in self.bench.prepared.inputs and (one.bounds() or one.distribution)
            for one in self._declared
        )
        return proofs.Proof(
            judges=tuple(name for name in (ORIGINAL, DATA, REFERENCE) if name in judges),
            bundled=counts.get(BUNDLED, 0),
            declared=generated if declared else 0,
            generated=0 if declared else generated,
            nodes=None if trace is None else trace.nodes,
            ran=None if trace is None else trace.ran,
            worst=_finite(worst.get("max_abs")),
            noise=_finite(worst.get("noise")) if noisy else None,
            tolerance="" if noisy else _TOLERANCES[self.tolerance],
            outputs=tuple(
                proofs.Output(
                    one.name,
                    one.state,
                    _most(rows, one.name, "max_abs"),
                    _most(rows, one.name, "noise") if noisy else None,
                    unchanged=changed.isdisjoint(one.operators),
                )
                for one in self._states
            ),
            branches=tuple(one.proof(changed) for one in trace.branches) if trace else (),
            inner=inside.compared if inside else None,
            hidden=inside.node if inside else None,
        )

    def _coverage(self, candidate: Form, runtime: str) -> Trace | None:
        """Tell what ran: of the original where the runtime runs it, else of the candidate."""
        prepared = self.bench.prepared
        if not prepared.bodies:
            return Trace(prepared.nodes, prepared.nodes)
        return self._trace if not self.helpless else self._traced(runtime, candidate)

    def _reference_agrees(self, candidate: Form, tag: str) -> bool:
        """Ask the reference on a few inputs whether both models are equal there too.

        It is believed where it gives what the runtime gives on the original.
        """
        bench = self.bench
        usual = next((one for one in self.expected if one.origin == GENERATED), None)
        seconds = bench.attempt(vocabularies.ONNXRUNTIME, GENERATED).seconds if usual else 0.0
        if usual is None or seconds > _TIME_FOR_THE_REFERENCE:
            return False
        if self._reference is None:
            self._pick()
            self._reference = bench.attempt(vocabularies.REFERENCE, _WITNESSED)
        mine = self._reference
        if mine.word != "ran" or not mine.ran:
            return False
        met = [
            bench.compare(one.results, mine.results, self.tolerance)
            for one in self.expected
            if one.origin in {BUNDLED, GENERATED}
        ]
        if any(isinstance(one, str) or not one.agrees for one in met):
            self.notes.append("the reference does not give what the runtime gives on the original")
            return False
        theirs = bench.attempt(vocabularies.REFERENCE, _WITNESSED, form=candidate, tag=tag)
        if theirs.word != "ran":
            self.notes.append(f"the reference does not run the new model: {theirs.reason}")
            return False
        result = self._within_noise((mine.results,), theirs.results)
        if isinstance(result, str) or not result.agreed:
            why = result if isinstance(result, str) else _first_bad(result)
            self.notes.append(f"the reference gives other values for the new model: {why}")
            return False
        return True

    def _pick(self) -> None:
        """Set a few inputs apart for what is slow: the first of each origin."""
        bench = self.bench
        if _WITNESSED in bench.sets:
            return
        folder = bench.job.work / "sets" / _WITNESSED
        results = [
            (one.sets, one.results) for one in self.expected if one.origin in {BUNDLED, GENERATED}
        ]
        bench.run_stage("pick", lambda: evidence.pick(results, folder, _WITNESSED_SETS))
        bench.sets[_WITNESSED] = folder

    def _inside(self, candidate: Form) -> Inside | None:
        """Compare the values inside on a few inputs: a mask may keep some from every output."""
        self._pick()
        bench, sets = self.bench, self.bench.sets[_WITNESSED]
        ending = bench.run_stage(
            "inside",
            lambda: candidates.inner_values(bench.original, candidate, sets, self.tolerance),
        )
        if ending.kind == "answered":
            return answers.read(Inside, ending.answer)
        self.notes.append(f"comparing the values inside {bench.job.cause(ending)}")
        return None

    def refusal(self, candidate: Form, tag: str) -> str:
        """Say why a candidate does not run where the original does; values are not compared."""
        for one in self.expected:
            if one.judge == ORIGINAL:
                attempt = self.bench.attempt(
                    vocabularies.ONNXRUNTIME, one.origin, form=candidate, tag=tag
                )
                if attempt.word != "ran" or attempt.ran < one.count:
                    return attempt.reason or next(iter(attempt.refused.values()), "it does not run")
        return ""

    def facts(self, trial: Trial) -> dict[str, Any]:
        """Sum the figures up: the worst of each over all outputs and data sets."""
        proof = trial.proof
        return {
            "judges": list(proof.judges) if proof else [],
            "runtime": trial.runtime,
            "profile": self.tolerance if proof and proof.tolerance else noise.NAME,
            "datasets": {one.origin: one.count for one in self.expected if trial.runtime},
            "outputs": len(trial.rows),
            "worst": {name: _largest(trial.rows, name) for name in _WORST},
            "notes": self.notes[:20],
        }


_FINE = frozenset({"compared", "independent"})


def _first_bad(comparison: Comparison) -> str:
    return next((str(row["reason"]) for row in comparison.rows if not row["agrees"]), "")


def _finite(figure: Any) -> float | None:
    return float(figure) if isinstance(figure, int | float) else None


def _most(rows: list[Row], output: str, name: str) -> float | None:
    figures = [_finite(row.get(name)) for row in rows if row["name"] == output]
    return max((one for one in figures if one is not None), default=None)


def _largest(rows: list[Row], name: str) -> float | str | None:
    figures = [row[name] for row in rows if row.get(name) is not None]
    strange = [one for one in figures if isinstance(one, str)]
    return strange[0] if strange else max(figures, default=None)
