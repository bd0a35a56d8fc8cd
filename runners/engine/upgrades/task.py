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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from hub.protocol.node_certificates import NodeCertificate
from hub.protocol.proofs import BY_SCHEMA, Proof
from hub.protocol.runtime_builds import PORTABLE
from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine.certificates.citations import Citations
from runners.engine.confine.children import EndingKind
from runners.engine.jobs import Job, JobError, scan_of
from runners.engine.onnx_files import datasets, staging
from runners.engine.reports import Finding, Report, Scan
from runners.engine.runs import answers
from runners.engine.runs.child_runs import ModelFile
from runners.engine.upgrades import attempts, candidates, goals
from runners.engine.upgrades.answers import Converted, Difference, Survey
from runners.engine.upgrades.attempts import TargetAttempt
from runners.engine.upgrades.goals import Goal
from runners.engine.upgrades.parity import ParityCheck
from runners.engine.upgrades.results import CandidateResult, TargetStatus

# A new file may be larger by nodes and constants, but not by weights, which stay as they are.
_GROWTH_BYTES = 64 << 20


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
    return _UpgradeAttempts(job, survey, external).run(goals.of(survey, target, portable))


def _opset(job: Job, name: str) -> int | None:
    value = job.request.options.get(name)
    if value is not None and type(value) is not int:
        raise JobError("engine-error", f"The option {name} of an upgrade must be a number.")
    return value


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
        self._citations = Citations(job)
        self._fallback: tuple[TargetAttempt, ModelFile] | None = None

    def run(self, goal_list: list[Goal]) -> Report:
        unreached: list[Goal] = []
        for place, goal in enumerate(goal_list):
            if not self._reach(goal, place / len(goal_list), 1 / len(goal_list)):
                unreached.append(goal)
        if any(goal.is_needed for goal in unreached):
            return self._failed()
        for goal in unreached:
            if self._survey.source > goal.targets[0]:
                self._findings.append(attempts.not_portable(goal, self._attempts[-1]))
        rows = [
            {**row, "target": upgraded.attempt.target}
            for upgraded in self._upgraded
            for row in upgraded.result.rows
        ]
        facts = {**self._facts(), "variants": [self._variant(row) for row in self._upgraded]}
        names = [upgraded.name for upgraded in self._upgraded]
        return self._job.report("passed", tuple(self._findings), facts, rows, names)

    def _reach(self, goal: Goal, start: float, span: float) -> bool:
        """Try the targets of a goal until one is kept; False if none is.

        `start` and `span` are shares of the progress of all attempts.
        """
        if any(upgraded.attempt.target <= goal.targets[0] for upgraded in self._upgraded):
            return True
        self._fallback = None
        first = len(self._attempts)
        tried = {attempt.target for attempt in self._attempts}
        targets = [target for target in goal.targets if target not in tried]
        for place, target in enumerate(targets):
            progress = start + span * place / len(targets)
            self._job.tell(20 + int(70 * progress), f"opset {target}")
            attempt = TargetAttempt(target)
            self._attempts.append(attempt)
            candidate = self._convert(attempt)
            if candidate is None:
                continue
            result = self._compare(attempt, candidate)
            if result.proof is not None:
                self._keep(attempt, candidate, result, self._cited(result.proof, attempt), first)
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
        last = self._upgraded[-1] if self._upgraded else None
        twin = (job.out / last.name, last.attempt.target) if last else None
        name = f"convert to {target}"
        task = partial(candidates.make, job.model, target, ir_version, candidate, twin)
        tasks: dict[str, Callable[[], Any]] = {name: task}
        if not self._external:
            tasks |= self._examination(candidate) | self._description(candidate, target)
        file_bytes = job.size(job.request.entry) + _GROWTH_BYTES
        job.ahead(tasks, file_bytes=file_bytes)
        ending = job.stage(name, task, file_bytes=file_bytes)
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
        attempt.twin = last.proof if last and converted.is_twin else None
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
        attempt.checks = self._check_file(candidate.path)
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
        later = self._citations.task(attempt.target)
        result = parity.judge(candidate, runtime, tag, changed, attempt.twin, later)
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

    def _examination(self, path: Path) -> dict[str, Callable[[], dict[str, str]]]:
        """The task of `_check_file`, by the name of its stage."""
        return {f"check {path.name}": partial(candidates.examine, path)}

    def _check_file(self, path: Path) -> dict[str, str]:
        [(name, task)] = self._examination(path).items()
        ending = self._job.stage(name, task, writes=False)
        if ending.kind == EndingKind.ANSWERED:
            return {key: str(ending.answer[key]) for key in ("checker", "inference")}
        return {"checker": "", "inference": self._job.cause(ending)}

    def _accepts_original(self, library: str) -> bool:
        """Whether the checker, or strict inference, accepts the original."""
        if self._original_checks is None:
            self._original_checks = self._check_file(self._job.model)
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

    def _cited(self, proof: Proof, attempt: TargetAttempt) -> Proof:
        """The proof with the certificates of the nodes that the conversion changes."""
        assert self._parity is not None  # noqa: S101 - a candidate was compared
        parity = self._parity
        if attempt.twin is not None:
            rows: tuple[NodeCertificate, ...] | str | None = attempt.twin.certificates
        else:
            self._job.tell(92, "certificates")
            rows = self._citations.of(attempt.target, parity.largest)
        if isinstance(rows, str):
            parity.notes.append(rows)
            return proof
        if parity.is_fused_otherwise and rows:
            # What is optimised is no longer the node that the certificate is about.
            rows = tuple(replace(row, exact=False) for row in rows)
        return replace(proof, certificates=rows)

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
        job.tell(95, "describe")
        [(stage, task)] = self._description(candidate.path, attempt.target).items()
        ending = job.stage(stage, task, writes=False)
        if ending.kind != EndingKind.ANSWERED:
            raise JobError("engine-error", f"The new file was not described: {job.cause(ending)}")
        described = scan_of(ending.answer).facts
        self._upgraded.append(UpgradedModel(attempt, result, proof, name, described))
        self._findings += [*attempts.stepped_down(self._attempts[first:]), *attempts.gaps(proof)]
        if attempt.checks["inference"] and self._accepts_original("inference"):
            words = (
                "Strict shape inference rejects the new file but not the original: "
                f"{attempt.checks['inference']}"
            )
            self._findings.append(Finding("upgrade-inference", "info", words))

    def _description(self, path: Path, target: int) -> dict[str, Callable[[], Scan]]:
        """The task that describes a candidate, by the name of its stage."""
        files, entry = self._job.request.files, PurePosixPath(self._job.request.entry)
        sizes = staging.sizes({name: files[name] for name in self._external})
        own = str(entry.with_name(self._name(target)))
        return {f"describe {path.name}": partial(candidates.describe_candidate, path, own, sizes)}

    def _facts(self) -> dict[str, Any]:
        steps = [attempt.to_json() for attempt in self._attempts]
        facts = {"source": self._survey.source, "steps": steps}
        certificates = [row.to_json() for row in self._citations.searched.values()]
        return {**facts, **({"certificates": certificates} if certificates else {})}

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
        findings = tuple(attempts.reasons(self._attempts))
        ran = self._parity is not None and bool(self._parity.expected)
        if ran and all(attempt.result == TargetStatus.NOT_PROVABLE for attempt in self._attempts):
            # The original runs, and no check or comparison rejects the new model.
            findings = tuple(replace(finding, severity="warning") for finding in findings)
            return job.report("passed", findings, facts)
        return job.report("failed", findings, facts)
