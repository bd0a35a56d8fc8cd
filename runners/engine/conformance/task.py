"""The conformance task: one runtime on one model, judged in four ways, with evidence.

Outcomes are EARL words. A check fails by the fault of the runtime or of the model alone; where the
test data or the reference are wrong it cannot tell, and names them. A voice that cannot be asked is
never counted as agreeing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME, OPENVINO, REFERENCE
from runners.engine import runtimes
from runners.engine.checks.written_models import processor_flags
from runners.engine.conformance.verdicts import Verdict, differs, findings, refusal, spelt
from runners.engine.jobs import JobError
from runners.engine.onnx_files import datasets
from runners.engine.runs.child_runs import BUNDLED, GENERATED
from runners.engine.runs.localise import Parties
from runners.engine.runs.shared_runs import Attempt, Bench, Comparison

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runners.engine.jobs import Job
    from runners.engine.reports import Report
    from runners.engine.runs.child_runs import Form

CHECKS = ("bundled", "reference", "optimisation", "determinism")
_PROGRESS = {"bundled": 30, "reference": 50, "optimisation": 75, "determinism": 90}
_EXACT = "exact"


def run(job: Job) -> Report:
    """Judge the model with the runtime that the options name."""
    runtime = str(job.request.options.get("runtime", ONNXRUNTIME))
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
    measures = [judge.measure(check) for check in CHECKS]
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
        [{"name": one["evidence"]} for one in measures if one["evidence"]],
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
        checks: dict[str, Callable[[], Verdict]] = {
            "bundled": self._bundled,
            "reference": self._reference,
            "optimisation": self._optimisation,
            "determinism": self._determinism,
        }
        verdict = self._never(check) or checks[check]()
        self.verdicts[check] = verdict
        version = "onnx" if self._name == REFERENCE else self._name
        return {
            "runtime": self._name,
            "runtime_version": self._bench.job.versions.get(version, ""),
            "check": check,
            "outcome": verdict.outcome,
            "blames": verdict.blames,
            "runs": verdict.runs,
            "reason": verdict.reason,
            "profile": verdict.profile,
            "datasets": verdict.sets,
            "seconds": round(time.monotonic() - started, 3),
            "outputs": verdict.rows,
            "node": verdict.node,
            "evidence": verdict.evidence,
        }

    def _never(self, check: str) -> Verdict | None:
        """Give the verdict of every check where the model is not loaded, or runs on no input."""
        facts = self._bench.facts
        if facts.get("unread"):
            return Verdict("cantTell", f"reading the model {facts['problem']}")
        if self._generated is None:
            self._generated = self._bench.generate()
        attempt = self._generated
        if attempt.word == "none" and facts["bundled"]:
            attempt = self._bench.attempt(self._name, BUNDLED)
        if attempt.word == "unsupported":
            words = f"{self._name} does not support it: {attempt.reason}"
            return Verdict("inapplicable", words, runs=False)
        if attempt.word in {"unprepared", "refused"}:
            return self._not_run(attempt)
        if attempt.word != "ran" or attempt.ran:
            return None
        if facts["bundled"]:
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
        if not self._bench.random:
            return None
        names = ", ".join(self._bench.random)
        return Verdict("inapplicable", f"the model draws random numbers ({names})")

    # --- the data that came with the model ---

    def _bundled(self) -> Verdict:
        facts = self._bench.facts
        if facts["problem"]:
            return Verdict("cantTell", str(facts["problem"]), "data")
        if not facts["bundled"]:
            unusable = "; ".join(facts["unusable"])
            return Verdict("untested", unusable or "no test data lie beside the model")
        attempt = self._bench.attempt(self._name, BUNDLED)
        if attempt.word != "ran":
            return self._not_run(attempt)
        return self._held_against_data(attempt)

    def _held_against_data(self, attempt: Attempt) -> Verdict:
        found = self._bench.compare(self._bench.sets[BUNDLED], attempt.results)
        if isinstance(found, str):
            return Verdict("cantTell", found)
        if found.agreed and not attempt.refused:
            facts = self._bench.facts
            left = [f"{count} sets were left out" for count in [facts["left_out"]] if count]
            notes = [attempt.note] if attempt.note else []
            return self._told("passed", found, "; ".join([*facts["unusable"], *left, *notes]))
        return self._by_chance() or self._blame(attempt, found)

    def _blame(self, attempt: Attempt, found: Comparison) -> Verdict:
        """Ask another runtime whom to believe: the data or the one on trial."""
        reason = differs(found) or f"{self._name} {refusal(attempt)}"
        guilty = "reference" if self._name == REFERENCE else "runtime"
        witness = self._witness()
        if witness is None:
            return self._blamed(guilty, found, f"{reason}; no other runtime to ask")
        asked = False
        refused = ""
        for form in self._forms():
            other = self._bench.attempt(witness, BUNDLED, form=form)
            if other.word != "ran" or not other.ran:
                refused = refused or (refusal(other) if other.word == "ran" else "")
                continue
            asked = True
            meets = self._agrees(self._bench.sets[BUNDLED], other.results)
            if meets:
                words = f"{reason}, which {witness} meets"
                told = self._blamed(guilty, found, words)
                believed = self._name if guilty == "reference" else witness
                return self._localised(told, BUNDLED, found.worst, witness, believed)
            if self._agrees(other.results, attempt.results):
                words = f"{reason}, but {witness} gives what {self._name} gives"
                return self._blamed("data", found, words)
        if refused and not asked and not attempt.ran:
            words = f"{reason}; {witness} refuses it too, so the data may be at fault"
            generated = self._generated
            blames = "data" if generated is not None and generated.ran else ""
            return Verdict("cantTell", words, blames, runs=bool(blames))
        words = "agrees with neither" if asked else "cannot be asked"
        told = self._blamed(guilty, found, f"{reason}; {witness} {words}")
        if asked:
            return self._localised(told, BUNDLED, found.worst, witness, witness)
        return told

    def _witness(self) -> str | None:
        others = (REFERENCE, ONNXRUNTIME, OPENVINO)
        return next(
            (name for name in others if name != self._name and name in runtimes.names()), None
        )

    def _forms(self) -> list[Form]:
        self._bench.upgrade()
        return self._bench.forms()

    def _agrees(self, expected: Path, actual: Path) -> bool:
        found = self._bench.compare(expected, actual)
        return not isinstance(found, str) and found.agreed

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
            found = self._bench.compare(other.results, attempt.results)
            if isinstance(found, str) or not found.sets:
                why = why or refusal(other) or other.reason
                if other.word == "died":  # what exhausts it once exhausts it again
                    break
                continue
            if found.agreed:
                return self._told("passed", found, self._on(other, found, note))
            best = best or (found, other)
        if best is None:
            return Verdict("cantTell", f"the reference cannot run the model: {why}")
        return self._disagreement(*best, attempt=attempt, origin=origin)

    def _trial_inputs(self) -> tuple[Attempt | None, str, str]:
        """Choose the inputs: generated ones, or the bundled where none of those fit."""
        generated = self._generated
        if generated is not None and (generated.word == "died" or generated.ran):
            return generated, GENERATED, ""
        why = self._bench.generation_problem or refusal(generated) or "none could be made"
        if self._bench.facts["bundled"]:
            bundled = self._bench.attempt(self._name, BUNDLED)
            if bundled.word != "ran" or bundled.ran:
                return bundled, BUNDLED, f"on the bundled inputs, since generated ones fail: {why}"
        return None, "", f"no generated inputs fit the model: {why}"

    def _on(self, other: Attempt, found: Comparison, note: str) -> str:
        words = [note] if note else []
        if other.form == "upgraded":
            words.append(f"the reference ran it upgraded to opset {self._bench.upgraded_opset}")
        if other.note:
            words.append(f"{other.note}; sets compared: {len(found.sets)}")
        return "; ".join(words)

    def _disagreement(
        self, found: Comparison, other: Attempt, *, attempt: Attempt, origin: str
    ) -> Verdict:
        guilty, why = "runtime", "no third voice was heard"
        if self._bench.facts["bundled"]:
            data = self._bench.sets[BUNDLED]
            form = next(one for one in self._bench.forms() if self._word(one) == other.form)
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
        told = self._blamed(guilty, found, f"{differs(found, 'the reference')}; {why}")
        believed = self._name if guilty == "reference" else REFERENCE
        return self._localised(told, origin, found.worst, REFERENCE, believed)

    def _word(self, form: Form) -> str:
        return "original" if form is self._bench.original else "upgraded"

    # --- the runtime against itself ---

    def _optimisation(self) -> Verdict:
        if not self._runtime.optimises:
            return Verdict("inapplicable", f"{self._name} has no optimisation to switch off")
        return self._against_itself("with optimisation off", optimise=False)

    def _determinism(self) -> Verdict:
        return self._against_itself("in a second session", tag="again")

    def _against_itself(self, words: str, *, optimise: bool = True, tag: str = "") -> Verdict:
        profile = _EXACT if optimise else self._bench.profile
        sums: dict[str, Comparison] = {}
        why = self._bench.generation_problem
        for origin in self._origins():
            first = self._bench.attempt(self._name, origin)
            second = self._bench.attempt(self._name, origin, optimise=optimise, tag=tag)
            for attempt in (first, second):
                if attempt.word != "ran":
                    return self._not_run(attempt)
            found = self._bench.compare(second.results, first.results, profile)
            if isinstance(found, str):
                return Verdict("cantTell", found)
            if found.sets:
                sums[origin] = found
            else:
                why = refusal(first) or refusal(second)
        if not sums:
            return Verdict("cantTell", f"no inputs to run it on: {why}")
        told = self._summed(sums, f"its own outputs {words}", profile)
        if told.outcome == "failed" and not optimise:
            origin = next(origin for origin, one in sums.items() if one.worst)
            worst = sums[origin].worst
            return self._localised(told, origin, worst, self._name, self._name, optimised=True)
        return told

    def _summed(self, sums: dict[str, Comparison], whom: str, profile: str) -> Verdict:
        whole = Comparison(
            tuple(name for one in sums.values() for name in one.sets),
            all(one.agrees for one in sums.values()),
            [row for one in sums.values() for row in one.rows],
        )
        if whole.agreed:
            return self._told("passed", whole, profile=profile)
        return self._by_chance() or self._blamed("runtime", whole, differs(whole, whom), profile)

    def _origins(self) -> list[str]:
        origins = [BUNDLED] if self._bench.facts["bundled"] else []
        generated = self._generated
        if generated is not None and (generated.ran or generated.word == "died"):
            origins.append(GENERATED)
        return origins

    # --- putting it into words ---

    def _blamed(self, guilty: str, found: Comparison, reason: str, profile: str = "") -> Verdict:
        """A difference: the runtime fails by it; wrong data and a wrong reference fail nobody."""
        outcome = "failed" if guilty == "runtime" else "cantTell"
        return self._told(outcome, found, reason, guilty, profile)

    def _told(
        self, outcome: str, found: Comparison, reason: str = "", blames: str = "", profile: str = ""
    ) -> Verdict:
        remarks = [row["reason"] for row in found.rows if row["agrees"] and row["reason"]]
        if outcome == "passed" and remarks:
            reason = "; ".join(word for word in (reason, remarks[0]) if word)
        return Verdict(
            outcome,
            reason,
            blames,
            profile or self._bench.profile,
            len(found.sets),
            sorted(found.rows, key=lambda row: row["agrees"]),
            runs=bool(found.sets),
        )

    def _localised(
        self,
        told: Verdict,
        origin: str,
        name: str,
        witness: str,
        believed: str,
        *,
        optimised: bool = False,
    ) -> Verdict:
        if not name:
            return told
        parties = Parties(self._name, witness, believed, self._bench.profile, optimised)
        found = self._bench.localise(parties, origin, name)
        told.node, told.evidence = found["node"], str(found["evidence"])
        if told.node is not None:
            told.reason += f"; first at {spelt(told.node)}"
        if found["note"]:
            told.reason += f" ({found['note']})"
        return told
