"""Task "upgrade": convert a model to another opset and prove that it computes the same.

For each target opset, from the highest that the runtime loads downwards, the model is converted
(`opsets`), checked by the ONNX checker, and compared with the original (`parity`). The first target
whose candidate has a proof wins. If no run can decide because the original does not run or its
outputs show nothing, a candidate is accepted in which no operator changed between the two opsets.
Where other runtimes load less than this one, the same is done once more from the highest opset that
all of them load. Each result is a new file beside the original; the report lists the attempts with
their reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hub.protocol.proofs import BY_SCHEMA, PARTIAL, Proof
from hub.protocol.runtime_builds import PORTABLE, Ceiling
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job, JobError, scan_of
from runners.engine.onnx_files import datasets, staging
from runners.engine.reports import Finding, Report
from runners.engine.runs import answers
from runners.engine.runs.answers import Blocking, Converted, Difference, Survey
from runners.engine.runs.child_runs import ModelFile
from runners.engine.upgrades import candidates
from runners.engine.upgrades.parity import ParityCheck
from runners.engine.upgrades.results import CandidateResult, TargetStatus

# Opsets to try below the highest one of the runtime, in this order.
TARGETS = (27, 26, 25, 23, 21, 18, 17, 13)
# A new file may be larger by nodes and constants, but not by weights, which stay as they are.
_GROWTH_BYTES = 64 << 20
_SHOWN_BLOCKING = 5


@dataclass(slots=True)
class TargetAttempt:
    """The attempt to reach one target opset.

    `untouched` tells that no operator of the model changed between the two opsets; `changed` are
    the operators that did. `checks` are messages of checker and strict inference, empty for none.
    """

    target: int
    result: TargetStatus = TargetStatus.UNTRIED
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


@dataclass(frozen=True, slots=True)
class Goal:
    """Opsets of which the first that can be proven is kept.

    `is_needed` tells that without any of them the model has no form that the runtimes load.
    """

    targets: list[int]
    is_needed: bool = True


@dataclass(frozen=True, slots=True)
class UpgradedModel:
    """A file that is kept: the attempt that made it, its comparison, its proof and its facts."""

    attempt: TargetAttempt
    result: CandidateResult
    proof: Proof
    name: str
    described: dict[str, Any]


def run(job: Job) -> Report:
    """Convert to the option `target`, or to the highest opset with a proof of equality.

    Without a target, the option `portable` is an opset up to which a second file is made. The
    option `inputs` is the key `inputs` of the version's card.
    """
    target, portable = (_opset(job, name) for name in ("target", "portable"))
    external = job.scan()
    files = job.request.files
    beside = datasets.paths(files, job.request.entry)
    examples = datasets.examples(job.request.options.get("inputs"), files)
    job.lay_out([job.request.entry, *external, *beside, *examples])
    job.tell(15, "survey")
    ending = job.stage("survey", lambda: candidates.survey(job.model))
    if ending.kind != EndingKind.ANSWERED:
        words = f"The model's operator sets cannot be read: {job.cause(ending)}"
        if ending.kind == EndingKind.RAISED and ending.answer[0] != "InvalidModelError":
            raise JobError("engine-error", words)
        return job.report("failed", (Finding("upgrade-unreadable", "error", words),))
    survey = answers.read(Survey, ending.answer)
    return _UpgradeAttempts(job, survey, external).run(goals_of(survey, target, portable))


def _opset(job: Job, name: str) -> int | None:
    value = job.request.options.get(name)
    if value is not None and type(value) is not int:
        raise JobError("engine-error", f"The option {name} of an upgrade must be a number.")
    return value


def goals_of(survey: Survey, target: int | None, portable: int | None = None) -> list[Goal]:
    """What to try, in order; empty if the model needs no upgrade.

    With a target that alone, else the highest opset of the runtime, then the highest up to
    `portable`.
    """
    highest = Ceiling(survey.highest, survey.highest_ir)
    if target is not None:
        is_there = target == survey.source and survey.ir_version <= highest.ir_version
        return [] if is_there or survey.source == 0 else [Goal([target])]
    goals = [Goal(targets_for(survey, highest))]
    if portable is not None and portable < survey.highest:
        lower = Ceiling(portable, min(PORTABLE.ir_version, survey.highest_ir))
        goals.append(Goal(targets_for(survey, lower), is_needed=False))
    return [goal for goal in goals if goal.targets]


def targets_for(survey: Survey, ceiling: Ceiling) -> list[int]:
    """Opsets to try up to a ceiling, in order; empty if the model needs no upgrade.

    A model at the highest opset is converted only if its IR version is too high. One above it is
    converted down.
    """
    source, highest = survey.source, ceiling.opset
    if source == 0:
        return []
    if source == highest:
        return [] if survey.ir_version <= ceiling.ir_version else [source]
    targets = [highest, *(opset for opset in TARGETS if opset < highest)]
    return [opset for opset in targets if source > highest or opset > source]


class _UpgradeAttempts:
    """Attempts to convert one model, target by target, until each goal has a proof."""

    def __init__(self, job: Job, survey: Survey, external: list[str]) -> None:
        self._job = job
        self._survey = survey
        self._external = external
        self._attempts: list[TargetAttempt] = []
        self._upgraded: list[UpgradedModel] = []
        self._findings: list[Finding] = []
        self._parity: ParityCheck | None = None
        self._original_checks: dict[str, str] | None = None
        self._fallback: tuple[TargetAttempt, ModelFile] | None = None

    def run(self, goals: list[Goal]) -> Report:
        unreached: list[Goal] = []
        for place, goal in enumerate(goals):
            if not self._reach(goal, place / len(goals)):
                unreached.append(goal)
        if any(goal.is_needed for goal in unreached):
            return self._failed()
        for goal in unreached:
            if self._survey.source > goal.targets[0]:
                self._findings.append(_not_portable(goal, self._attempts[-1]))
        rows = [
            {**row, "target": upgraded.attempt.target}
            for upgraded in self._upgraded
            for row in upgraded.result.rows
        ]
        facts = {**self._facts(), "variants": [self._variant(row) for row in self._upgraded]}
        names = [upgraded.name for upgraded in self._upgraded]
        return self._job.report("passed", tuple(self._findings), facts, rows, names)

    def _reach(self, goal: Goal, share: float) -> bool:
        """Try the targets of a goal until one is kept; False if none is."""
        if any(upgraded.attempt.target <= goal.targets[0] for upgraded in self._upgraded):
            return True
        self._fallback = None
        first = len(self._attempts)
        tried = {attempt.target for attempt in self._attempts}
        targets = [target for target in goal.targets if target not in tried]
        for place, target in enumerate(targets):
            self._job.tell(20 + int(70 * (share + place / len(targets) / 2)), f"opset {target}")
            attempt = TargetAttempt(target)
            self._attempts.append(attempt)
            candidate = self._convert(attempt)
            if candidate is None:
                continue
            result = self._compare(attempt, candidate)
            if result.proof is not None:
                self._keep(attempt, candidate, result, result.proof, first)
                return True
            if attempt.untouched and self._fallback is None:
                self._fallback = (attempt, candidate)
            else:
                self._discard(target)
            if result.status == TargetStatus.NOT_PROVABLE and self._fallback:
                break
        return self._accept_by_registry(first)

    def _accept_by_registry(self, first: int) -> bool:
        """Accept a candidate without comparison if no operator of the model changed.

        Only if the original has no usable outputs to compare with, and did not crash.
        """
        parity = self._parity
        if self._fallback is None or parity is None or parity.crash_reason:
            return False
        if not parity.has_no_baseline and not parity.uninformative_reason:
            return False
        attempt, candidate = self._fallback
        if attempt.result == TargetStatus.INVALID:
            return False
        attempt.result = TargetStatus.UNCHANGED_OPERATORS
        del self._attempts[self._attempts.index(attempt) + 1 :]
        proof = Proof((BY_SCHEMA,))
        result = CandidateResult(TargetStatus.EQUAL, proof=proof)
        self._keep(attempt, candidate, result, proof, first)
        return True

    def _discard(self, target: int) -> None:
        (self._job.out / self._name(target)).unlink(missing_ok=True)

    def _name(self, target: int) -> str:
        return f"{PurePosixPath(self._job.request.entry).stem}.opset{target}.onnx"

    def _convert(self, attempt: TargetAttempt) -> ModelFile | None:
        """Convert in a child; the candidate's file, or None without one."""
        job, target = self._job, attempt.target
        candidate = job.out / self._name(target)
        ir_version = self._survey.highest_ir
        if target <= PORTABLE.opset:
            ir_version = min(ir_version, PORTABLE.ir_version)
        ending = job.stage(
            f"convert to {target}",
            lambda: candidates.make(job.model, target, ir_version, candidate),
            file_bytes=job.size(job.request.entry) + _GROWTH_BYTES,
        )
        if ending.kind != EndingKind.ANSWERED:
            has_crashed = ending.kind == EndingKind.SIGNALLED
            attempt.result = TargetStatus.CRASHED if has_crashed else TargetStatus.NOT_CONVERTED
            version = job.versions.get("onnx", "")
            attempt.reason = f"the converter of onnx {version} {job.cause(ending)}"
            self._discard(target)
            return None
        converted = answers.read(Converted, ending.answer)
        attempt.rules, attempt.untouched = converted.rules, converted.untouched
        attempt.changed, attempt.blocking = converted.operators_changed, converted.blocking
        if attempt.blocking:
            attempt.result = TargetStatus.BLOCKED
            attempt.reason = attempt.blocking[0].sentence
            return None
        if not converted.changed:
            attempt.result = TargetStatus.NO_CHANGE
            attempt.reason = "the conversion changes nothing"
            self._discard(target)
            return None
        return self._place(candidate, target)

    def _place(self, candidate: Path, target: int) -> ModelFile:
        """Copy a candidate that needs external data into the folder of these files."""
        if not self._external:
            return ModelFile(candidate, candidate.parent)
        job = self._job
        name = f"{target}-{self._name(target)}"
        while name in {PurePosixPath(path).name for path in job.request.files}:
            name = f"0{name}"
        path = str(PurePosixPath(job.request.entry).with_name(name))
        staging.lay_out(job.input, {path: str(candidate)}, [path], job.stop.requested)
        place = job.input.joinpath(*path.split("/"))
        return ModelFile(place, place.parent)

    def _compare(self, attempt: TargetAttempt, candidate: ModelFile) -> CandidateResult:
        """Check a candidate, run it and compare its outputs with those of the original."""
        attempt.checks = self._check_file(candidate)
        if attempt.checks["checker"] and self._accepts_original("checker"):
            attempt.result = TargetStatus.INVALID
            attempt.reason = attempt.checks["checker"]
            return CandidateResult(TargetStatus.INVALID)
        if self._parity is None:
            self._parity = ParityCheck(self._job, self._job.request.options.get("inputs"))
            if self._parity.readable:
                self._parity.gather()
        parity = self._parity
        uncomparable = parity.nondeterministic_reason or parity.uninformative_reason
        if uncomparable or not parity.readable or not parity.expected:
            return self._without_comparison(attempt, candidate, parity, uncomparable)
        # Only the reference runs opsets that are newer than the runtime.
        is_newer = attempt.target > self._survey.highest
        runtime = REFERENCE if is_newer else ONNXRUNTIME
        changed = frozenset(attempt.changed)
        tag = f"opset{attempt.target}"
        result = parity.judge(candidate, runtime, tag, changed)
        is_not_loading = result.status == TargetStatus.NOT_LOADING
        if is_not_loading and parity.has_no_baseline and not is_newer:
            # The runtime runs neither model; the reference may run both.
            again = parity.judge(candidate, REFERENCE, tag, changed)
            result = again if again.proof is not None else result
        attempt.result = result.status
        attempt.reason = result.reason.replace(candidate.path.name, "the new model")
        if result.status == TargetStatus.PARITY_LOST and not is_newer:
            self._localise(attempt, candidate, result)
        return result

    def _without_comparison(
        self, attempt: TargetAttempt, candidate: ModelFile, parity: ParityCheck, reason: str
    ) -> CandidateResult:
        """The result of a candidate if the outputs of the original allow no comparison.

        A candidate without changed operators must at least run where the original runs, since it
        may be accepted by the operator schemas.
        """
        problems = (parity.subject.generation_problem, parity.subject.prepared.problem)
        attempt.result = TargetStatus.NOT_PROVABLE
        attempt.reason = reason or "; ".join([*parity.notes, *problems]).strip("; ")
        if attempt.untouched and reason:
            refusal = parity.refusal(candidate, f"opset{attempt.target}")
            if refusal:
                attempt.result, attempt.reason = TargetStatus.NOT_LOADING, refusal
                attempt.untouched = False
        return CandidateResult(attempt.result, attempt.reason)

    def _check_file(self, candidate: ModelFile) -> dict[str, str]:
        ending = self._job.stage("check", lambda: candidates.examine(candidate.path), writes=False)
        if ending.kind == EndingKind.ANSWERED:
            return {key: str(ending.answer[key]) for key in ("checker", "inference")}
        return {"checker": "", "inference": self._job.cause(ending)}

    def _accepts_original(self, library: str) -> bool:
        """Whether the checker, or strict inference, accepts the original."""
        if self._original_checks is None:
            self._original_checks = self._check_file(
                ModelFile(self._job.model, self._job.model.parent)
            )
        return not self._original_checks[library]

    def _localise(
        self, attempt: TargetAttempt, candidate: ModelFile, result: CandidateResult
    ) -> None:
        assert self._parity is not None  # noqa: S101 - a candidate was compared
        parity, (origin, name) = self._parity, result.worst
        sets, original = parity.subject.sets[origin], parity.subject.original
        ending = self._job.stage(
            "localise",
            lambda: candidates.first_difference(original, candidate, sets, name, parity.tolerance),
        )
        if ending.kind == EndingKind.ANSWERED and ending.answer:
            attempt.node = answers.read(Difference, ending.answer)
            attempt.reason += f" (first at node {attempt.node.name!r}, {attempt.node.op})"

    def _keep(
        self,
        attempt: TargetAttempt,
        candidate: ModelFile,
        result: CandidateResult,
        proof: Proof,
        first: int,
    ) -> None:
        """Describe a candidate and keep it; `first` is the place of the first attempt at its goal.

        Raises JobError if it cannot be described.
        """
        job, name = self._job, self._name(attempt.target)
        sizes = staging.sizes({path: job.request.files[path] for path in self._external})
        entry = str(PurePosixPath(job.request.entry).with_name(name))
        job.tell(95, "describe")
        ending = job.stage(
            "describe",
            lambda: candidates.describe_candidate(candidate.path, entry, sizes),
            writes=False,
        )
        if ending.kind != EndingKind.ANSWERED:
            raise JobError("engine-error", f"The new file was not described: {job.cause(ending)}")
        described = scan_of(ending.answer).facts
        self._upgraded.append(UpgradedModel(attempt, result, proof, name, described))
        self._findings += [*_stepped_down(self._attempts[first:]), *_gaps(proof)]
        if attempt.checks["inference"] and self._accepts_original("inference"):
            words = (
                "Strict shape inference rejects the new file but not the original: "
                f"{attempt.checks['inference']}"
            )
            self._findings.append(Finding("upgrade-inference", "info", words))

    def _facts(self) -> dict[str, Any]:
        steps = [attempt.to_json() for attempt in self._attempts]
        return {"source": self._survey.source, "steps": steps}

    def _variant(self, upgraded: UpgradedModel) -> dict[str, Any]:
        """One new file, as reports have it; the measures of its target belong to it."""
        assert self._parity is not None  # noqa: S101 - a candidate was compared
        return {
            "file": upgraded.name,
            "target": upgraded.attempt.target,
            "rules": upgraded.attempt.rules,
            "described": upgraded.described,
            "parity": self._parity.facts(upgraded.result),
            "proof": upgraded.proof.to_json(),
        }

    def _failed(self) -> Report:
        job = self._job
        for attempt in self._attempts:
            self._discard(attempt.target)
        facts = {**self._facts(), "variants": []}
        if self._parity is not None:
            facts["notes"] = self._parity.notes[:20]
        findings = tuple(_reasons(self._attempts))
        ran = self._parity is not None and bool(self._parity.expected)
        if ran and all(attempt.result == TargetStatus.NOT_PROVABLE for attempt in self._attempts):
            # The original runs, and no check or comparison rejects the new model.
            findings = tuple(replace(finding, severity="warning") for finding in findings)
            return job.report("passed", findings, facts)
        return job.report("failed", findings, facts)


def _stepped_down(attempts: list[TargetAttempt]) -> Iterable[Finding]:
    last = attempts[-1]
    if last.result == TargetStatus.UNCHANGED_OPERATORS:
        yield Finding(
            "parity-by-registry",
            "warning",
            f"No run could be compared ({last.reason}). The variant is kept because no operator "
            "of this model changed between the two operator sets.",
        )
    if last.target != attempts[0].target:
        yield Finding(
            "upgrade-stepped-down",
            "info",
            f"Operator set {attempts[0].target} was not reached ({attempts[0].reason}); "
            f"{last.target} is the highest that passed.",
        )


def _not_portable(goal: Goal, last: TargetAttempt) -> Finding:
    return Finding(
        "upgrade-not-portable",
        "info",
        f"No operator set up to {goal.targets[0]} was reached ({last.reason}), so runtimes that "
        "load no higher one cannot run this model.",
    )


def _gaps(proof: Proof) -> Iterable[Finding]:
    """Finding about what the proof of a new variant leaves open."""
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


def _reasons(attempts: list[TargetAttempt]) -> Iterable[Finding]:
    """Findings on failure: the blocking nodes of the first target, then each other reason once."""
    for blocking in attempts[0].blocking[:_SHOWN_BLOCKING]:
        words = f"Blocked: {blocking.sentence}. Export the model again with a newer operator set."
        yield Finding("upgrade-blocked", "error", words, blocking.node)
    distinct = {(attempt.result, attempt.reason): attempt for attempt in reversed(attempts)}
    for attempt in attempts:
        if (
            attempt.result != TargetStatus.BLOCKED
            and distinct[attempt.result, attempt.reason] is attempt
        ):
            yield _reason(attempt)


def _reason(attempt: TargetAttempt) -> Finding:
    target, reason = attempt.target, attempt.reason
    match attempt.result:
        case TargetStatus.PARITY_LOST:
            words = f"At operator set {target} the model returns different values: {reason}."
            where = "" if attempt.node is None else attempt.node.name
            return Finding("parity-lost", "error", words, where)
        case TargetStatus.NOT_PROVABLE:
            words = (
                f"The new model could not be proven equal, so there is no variant: {reason}. "
                "Upload test data (test_data_set_0/input_0.pb, output_0.pb) beside the model, "
                "declare `inputs:` on its card, or upload a model without randomness."
            )
            return Finding("parity-not-proven", "error", words)
        case TargetStatus.CRASHED:
            return Finding("converter-crashed", "error", f"Operator set {target}: {reason}.")
    words = f"Operator set {target} was not reached ({attempt.result}): {reason}"
    return Finding("upgrade-failed", "error", words)
