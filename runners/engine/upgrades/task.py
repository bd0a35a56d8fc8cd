"""Task "upgrade": the model at another operator set, with the evidence that it is equal.

Targets are tried from the highest that the runtime really runs downwards. The result lies beside
the original and never in its place; what stood in the way of a higher target is told step by step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from hub.protocol.proofs import PARTIAL, Proof
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine.jobs import Job, JobError, scan_of
from runners.engine.onnx_files import datasets, staging
from runners.engine.reports import Finding, Report
from runners.engine.runs import answers
from runners.engine.runs.answers import Blocking, Converted, Difference, Survey
from runners.engine.runs.child_runs import Form
from runners.engine.upgrades import candidates
from runners.engine.upgrades.parity import REGISTRY, Court, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable


LADDER = (26, 25, 23, 21, 18, 17, 13)
# What the new file may be larger than the old: nodes and constants, never weights.
_GROWTH_BYTES = 64 << 20
_SHOWN_BLOCKING = 5


@dataclass(slots=True)
class Step:
    """One target and what became of it."""

    target: int
    result: str = ""
    reason: str = ""
    blocking: list[Blocking] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    node: Difference | None = None
    checks: dict[str, str] = field(default_factory=dict)
    untouched: bool = False
    changed: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        row = asdict(self)
        names = ("target", "result", "reason", "blocking", *(("node",) if self.node else ()))
        return {name: row[name] for name in names}


def run(job: Job) -> Report:
    """Bring the model to the target asked for, or to the highest at which runs show it equal.

    The option `inputs` is the key of that name of the version's card.
    """
    target = job.request.options.get("target")
    if target is not None and type(target) is not int:
        raise JobError("engine-error", "The target of an upgrade must be a number.")
    external = job.scan()
    files = job.request.files
    beside = datasets.paths(files, job.request.entry)
    examples = datasets.examples(job.request.options.get("inputs"), files)
    job.lay_out([job.request.entry, *external, *beside, *examples])
    job.tell(15, "survey")
    ending = job.stage("survey", lambda: candidates.survey(job.model))
    if ending.kind != "answered":
        words = f"The model's operator sets cannot be read: {job.cause(ending)}"
        if ending.kind == "raised" and ending.answer[0] != "InvalidModelError":
            raise JobError("engine-error", words)
        return job.report("failed", (Finding("upgrade-unreadable", "error", words),))
    survey = answers.read(Survey, ending.answer)
    rungs = ladder(survey, target)
    if not rungs:
        return job.report("passed", (), _unchanged(survey))
    return _Ascent(job, survey, external).climb(rungs)


def ladder(survey: Survey, target: int | None) -> list[int]:
    """List the targets to try, best first; empty when the model is already where it should be."""
    source, highest = survey.source, survey.highest
    readable = survey.ir_version <= survey.highest_ir
    if source == 0:
        return []
    if target is not None:
        return [] if target == source and readable else [target]
    if source == highest:
        return [] if readable else [source]
    rungs = [highest, *(rung for rung in LADDER if rung < highest)]
    return [rung for rung in rungs if source > highest or rung > source]


def _unchanged(survey: Survey) -> dict[str, Any]:
    source = survey.source
    return {"source": source, "target": source, "rules": [], "steps": [], "changed": False}


class _Ascent:
    """One model on its way through the targets."""

    def __init__(self, job: Job, survey: Survey, external: list[str]) -> None:
        self._job = job
        self._survey = survey
        self._external = external
        self._steps: list[Step] = []
        self._court: Court | None = None
        self._original_checks: dict[str, str] | None = None
        self._spare: tuple[Step, Form] | None = None

    def climb(self, rungs: list[int]) -> Report:
        for place, target in enumerate(rungs):
            self._job.tell(20 + 70 * place // len(rungs), f"opset {target}")
            step = Step(target)
            self._steps.append(step)
            candidate = self._make(step)
            if candidate is None:
                continue
            trial = self._judge(step, candidate)
            if trial.proof is not None:
                return self._success(step, candidate, trial, trial.proof)
            if step.untouched and self._spare is None:
                self._spare = (step, candidate)
            else:
                self._discard(target)
            if trial.word == "not-provable" and self._spare:
                break
        return self._by_the_registry() or self._failed()

    def _by_the_registry(self) -> Report | None:
        """Where no run can judge, accept a step in which no operator of the model changed."""
        court = self._court
        if self._spare is None or court is None or court.deadly:
            return None
        if not court.helpless and not court.barren:
            return None
        step, candidate = self._spare
        if step.result == "invalid":
            return None
        step.result = "unchanged-operators"
        del self._steps[self._steps.index(step) + 1 :]
        proof = Proof((REGISTRY,))
        return self._success(step, candidate, Trial("equal", proof=proof), proof)

    def _discard(self, target: int) -> None:
        (self._job.out / self._name(target)).unlink(missing_ok=True)

    def _name(self, target: int) -> str:
        return f"{PurePosixPath(self._job.request.entry).stem}.opset{target}.onnx"

    def _make(self, step: Step) -> Form | None:
        """Convert in a child; gives where the candidate lies, None when there is none."""
        job, target = self._job, step.target
        candidate = job.out / self._name(target)
        ir_version = self._survey.highest_ir
        ending = job.stage(
            f"convert to {target}",
            lambda: candidates.make(job.model, target, ir_version, candidate),
            file_bytes=job.size(job.request.entry) + _GROWTH_BYTES,
        )
        if ending.kind != "answered":
            step.result = "crashed" if ending.kind == "signalled" else "not-converted"
            step.reason = (
                f"the converter of onnx {job.versions.get('onnx', '')} {job.cause(ending)}"
            )
            self._discard(target)
            return None
        converted = answers.read(Converted, ending.answer)
        step.rules, step.untouched = converted.rules, converted.untouched
        step.changed, step.blocking = converted.operators_changed, converted.blocking
        if step.blocking:
            step.result, step.reason = "blocked", step.blocking[0].sentence
            return None
        if not converted.changed:
            step.result, step.reason = "no-change", "the conversion changes nothing"
            self._discard(target)
            return None
        return self._place(candidate, target)

    def _place(self, candidate: Path, target: int) -> Form:
        """Put a candidate that needs external data beside them; others stay where they are."""
        if not self._external:
            return Form(candidate, candidate.parent)
        job = self._job
        name = f"{target}-{self._name(target)}"
        while name in {PurePosixPath(path).name for path in job.request.files}:
            name = f"0{name}"
        path = str(PurePosixPath(job.request.entry).with_name(name))
        staging.lay_out(job.input, {path: str(candidate)}, [path], job.stop.requested)
        place = job.input.joinpath(*path.split("/"))
        return Form(place, place.parent)

    def _judge(self, step: Step, candidate: Form) -> Trial:
        """Check and run a candidate."""
        step.checks = self._examine(candidate)
        if step.checks["checker"] and self._accepts_original("checker"):
            step.result, step.reason = "invalid", step.checks["checker"]
            return Trial("invalid")
        if self._court is None:
            self._court = Court(self._job, self._job.request.options.get("inputs"))
            if self._court.readable:
                self._court.gather()
        court = self._court
        if not court.readable or court.unsteady or court.barren or not court.expected:
            step.result = "not-provable"
            step.reason = (
                court.unsteady
                or court.barren
                or "; ".join(
                    [*court.notes, court.bench.generation_problem, court.bench.prepared.problem]
                ).strip("; ")
            )
            refused = ""
            # Whether it may stand on the operator schemas.
            if step.untouched and (court.unsteady or court.barren):
                refused = court.refusal(candidate, f"opset{step.target}")
            if refused:
                step.result, step.reason, step.untouched = "not-loading", refused, False
            return Trial(step.result, step.reason)
        beyond = step.target > self._survey.highest
        runtime = REFERENCE if beyond else ONNXRUNTIME
        changed = frozenset(step.changed)
        trial = court.judge(candidate, runtime, f"opset{step.target}", changed)
        if trial.word == "not-loading" and court.helpless and not beyond:
            # The runtime runs neither; the reference may run both.
            again = court.judge(candidate, REFERENCE, f"opset{step.target}", changed)
            trial = again if again.proof is not None else trial
        step.result = trial.word
        step.reason = trial.reason.replace(candidate.path.name, "the new model")
        if trial.word == "parity-lost" and not beyond:
            self._localise(step, candidate, trial)
        return trial

    def _examine(self, candidate: Form) -> dict[str, str]:
        ending = self._job.stage("check", lambda: candidates.examine(candidate.path), writes=False)
        if ending.kind == "answered":
            return {key: str(ending.answer[key]) for key in ("checker", "inference")}
        return {"checker": "", "inference": self._job.cause(ending)}

    def _accepts_original(self, library: str) -> bool:
        """Whether the checker, or strict inference, has nothing to say against the original."""
        if self._original_checks is None:
            self._original_checks = self._examine(Form(self._job.model, self._job.model.parent))
        return not self._original_checks[library]

    def _localise(self, step: Step, candidate: Form, trial: Trial) -> None:
        assert self._court is not None  # noqa: S101 - a trial has happened
        court, (origin, name) = self._court, trial.worst
        sets, original = court.bench.sets[origin], court.bench.original
        ending = self._job.stage(
            "localise",
            lambda: candidates.first_difference(original, candidate, sets, name, court.tolerance),
        )
        if ending.kind == "answered" and ending.answer:
            step.node = answers.read(Difference, ending.answer)
            step.reason += f" (first at node {step.node.name!r}, {step.node.op})"

    def _success(self, step: Step, candidate: Form, trial: Trial, proof: Proof) -> Report:
        assert self._court is not None  # noqa: S101 - a trial has happened
        job, name = self._job, self._name(step.target)
        sizes = staging.sizes({path: job.request.files[path] for path in self._external})
        entry = str(PurePosixPath(job.request.entry).with_name(name))
        job.tell(95, "describe")
        ending = job.stage(
            "describe", lambda: candidates.tell(candidate.path, entry, sizes), writes=False
        )
        if ending.kind != "answered":
            raise JobError("engine-error", f"The new file was not described: {job.cause(ending)}")
        facts = {
            **_unchanged(self._survey),
            "target": step.target,
            "rules": step.rules,
            "steps": [one.to_json() for one in self._steps],
            "changed": True,
            "described": scan_of(ending.answer).facts,
            "parity": self._court.facts(trial),
            "proof": proof.to_json(),
        }
        findings = [*_stepped_down(self._steps), *_gaps(proof)]
        if step.checks["inference"] and self._accepts_original("inference"):
            words = (
                "Strict shape inference rejects the new file but not the original: "
                f"{step.checks['inference']}"
            )
            findings.append(Finding("upgrade-inference", "info", words))
        return job.report("passed", tuple(findings), facts, trial.rows, [name])

    def _failed(self) -> Report:
        job = self._job
        for step in self._steps:
            self._discard(step.target)
        facts = {**_unchanged(self._survey), "steps": [one.to_json() for one in self._steps]}
        if self._court is not None:
            facts["notes"] = self._court.notes[:20]
        findings = tuple(_reasons(self._steps))
        ran = self._court is not None and bool(self._court.expected)
        if ran and all(step.result == "not-provable" for step in self._steps):
            # The original runs, and nothing speaks against it or the new model.
            findings = tuple(replace(one, severity="warning") for one in findings)
            return job.report("passed", findings, facts)
        return job.report("failed", findings, facts)


def _stepped_down(steps: list[Step]) -> Iterable[Finding]:
    last = steps[-1]
    if last.result == "unchanged-operators":
        yield Finding(
            "parity-by-registry",
            "warning",
            f"No run could be compared ({last.reason}). The variant is kept because no operator "
            "of this model changed between the two operator sets.",
        )
    if last.target != steps[0].target:
        yield Finding(
            "upgrade-stepped-down",
            "info",
            f"Operator set {steps[0].target} was not reached ({steps[0].reason}); "
            f"{last.target} is the highest that passed.",
        )


def _gaps(proof: Proof) -> Iterable[Finding]:
    """Say of a variant that was made what its proof leaves open."""
    if proof.strength != PARTIAL:
        return
    yield Finding(
        "parity-partial",
        "warning",
        f"The new model was {proof.sentence}. It is kept and can be loaded by name, but is not "
        "the default for its operator set. Add test data that cover what is missing, or declare "
        "`inputs:` "
        "on the card.",
    )


def _reasons(steps: list[Step]) -> Iterable[Finding]:
    """Name what stood in the way: of the first target each node, then every other reason once."""
    for one in steps[0].blocking[:_SHOWN_BLOCKING]:
        words = f"Blocked: {one.sentence}. Export the model again with a newer operator set."
        yield Finding("upgrade-blocked", "error", words, one.node)
    distinct = {(step.result, step.reason): step for step in reversed(steps)}
    for step in steps:
        if step.result != "blocked" and distinct[step.result, step.reason] is step:
            yield _reason(step)


def _reason(step: Step) -> Finding:
    target, reason = step.target, step.reason
    match step.result:
        case "parity-lost":
            words = f"At operator set {target} the model returns different values: {reason}."
            where = "" if step.node is None else step.node.name
            return Finding("parity-lost", "error", words, where)
        case "not-provable":
            words = (
                f"The new model could not be proven equal, so there is no variant: {reason}. "
                "Upload test data (test_data_set_0/input_0.pb, output_0.pb) beside the model, "
                "declare `inputs:` on its card, or upload a model without randomness."
            )
            return Finding("parity-not-proven", "error", words)
        case "crashed":
            return Finding("converter-crashed", "error", f"Operator set {target}: {reason}.")
    words = f"Operator set {target} was not reached ({step.result}): {reason}"
    return Finding("upgrade-failed", "error", words)
