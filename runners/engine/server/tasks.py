"""The tasks the engine knows, and how each goes from stage to stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.engine import convert, federated
from runners.engine.benchmark import pairing
from runners.engine.benchmark import task as benchmark_task
from runners.engine.checks import check
from runners.engine.checks.check import Verdict
from runners.engine.conformance import suite
from runners.engine.conformance import task as conformance_task
from runners.engine.graphs import annotate, difference, skeleton, tensor_figures
from runners.engine.jobs import findings_of, is_refused, mapping_of
from runners.engine.onnx_files import describe
from runners.engine.reports import Finding
from runners.engine.runs import run_once
from runners.engine.upgrades import task as upgrade_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from runners.engine.jobs import Job
    from runners.engine.reports import Report

_PROGRESS = {
    "describe": 10,
    check.SCAN: 5,
    check.CHECKER: 30,
    check.INFERENCE: 50,
    check.LOAD: 70,
}


def describe_model(job: Job) -> Report:
    """Read a model's facts from its bytes."""
    job.tell(_PROGRESS["describe"], "describe")
    ending, limits = job.scan_with(describe.describe)
    if ending.kind != "answered":
        verdict = check.judge(check.SCAN, ending, limits)
        finding = Finding(verdict.word, "error", f"{verdict.message}.", check.SCAN)
        return job.report("failed", (finding,))
    findings = findings_of(ending.answer)
    facts = mapping_of(ending.answer, "facts")
    return job.report("failed" if is_refused(findings) else "passed", findings, facts)


def check_model(job: Job) -> Report:
    """Judge a model by the scan, the checker, strict inference and the runtime."""
    verdicts = {stage: Verdict("not-run") for stage in check.STAGES}
    job.tell(_PROGRESS[check.SCAN], check.SCAN)
    ending, limits = job.scan_with(check.look)
    if ending.kind != "answered":
        verdicts[check.SCAN] = check.judge(check.SCAN, ending, limits)
        return _verdict_report(job, verdicts, (), {})
    seen = findings_of(ending.answer)
    facts = mapping_of(ending.answer, "facts")
    if is_refused(seen):
        message = next(one.message for one in seen if one.severity == "error")
        verdicts[check.SCAN] = Verdict("refused", message, ending.seconds)
        return _verdict_report(job, verdicts, seen, facts)
    verdicts[check.SCAN] = Verdict("ok", "", ending.seconds)
    job.lay_out([job.request.entry, *job.external(ending.answer)])
    facts = _judge_by_libraries(job, verdicts, facts)
    return _verdict_report(job, verdicts, seen, facts)


def _judge_by_libraries(
    job: Job, verdicts: dict[str, Verdict], facts: dict[str, Any]
) -> dict[str, Any]:
    model, limits = job.model, job.limits()
    stages: tuple[tuple[str, Callable[[], Any]], ...] = (
        (check.CHECKER, lambda: check.run_checker(model, facts)),
        (check.INFERENCE, lambda: check.run_inference(model)),
        (check.LOAD, lambda: check.run_load(model)),
    )
    for stage, task in stages:
        job.tell(_PROGRESS[stage], stage)
        ending = job.stage(stage, task, writes=False)
        verdict = check.judge(stage, ending, limits, str(model.parent), str(job.input))
        verdicts[stage] = verdict
        if verdict.word in check.FATAL:
            break
        if stage == check.CHECKER and verdict.word == "ok":
            facts = {**facts, **mapping_of({"facts": ending.answer}, "facts")}
    return facts


def _verdict_report(
    job: Job, verdicts: dict[str, Verdict], seen: tuple[Finding, ...], facts: dict[str, Any]
) -> Report:
    runtime = f"onnxruntime {job.versions.get('onnxruntime', '')}".strip()
    told = check.findings(verdicts, facts, runtime)
    # The load verdict says the same with more weight.
    if any(one.code == "needs-operator-set" for one in told):
        seen = tuple(one for one in seen if one.code != "needs-operator-set")
    said = {
        "verdicts": {stage: verdict.to_json() for stage, verdict in verdicts.items()},
        **facts,
    }
    return job.report(check.outcome(verdicts), (*seen, *told), said)


FLOWS: dict[str, Callable[[Job], Report]] = {
    "annotate": annotate.run,
    "benchmark": benchmark_task.run,
    "calibrate": pairing.calibrate,
    "describe": describe_model,
    "check": check_model,
    "compare-speed": pairing.compare,
    "conformance": conformance_task.run,
    "convert": convert.run,
    "difference": difference.run,
    "federated-aggregate": federated.aggregate,
    "federated-check": federated.check,
    "federated-schema": federated.schema,
    "run": run_once.run,
    "skeleton": skeleton.run,
    "suite": suite.run,
    "tensors": tensor_figures.run,
    "upgrade": upgrade_task.run,
}
