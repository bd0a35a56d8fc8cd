"""The tasks the engine knows, and how each goes from stage to stage."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from hub.protocol.capabilities import CAPABILITIES
from runners.engine.benchmark import pairing, recomputation
from runners.engine.benchmark import task as benchmark_task
from runners.engine.checks import check
from runners.engine.confine.children import EndingKind
from runners.engine.conformance import suite
from runners.engine.conformance import task as conformance_task
from runners.engine.convert import flow as conversion
from runners.engine.evaluation import task as evaluation_task
from runners.engine.graphs import annotate, comparison, skeleton, tensor_figures
from runners.engine.jobs import Job, mapping_of, scan_of
from runners.engine.onnx_files import describe
from runners.engine.reports import Finding, Report, StageStatus, Verdict
from runners.engine.runs import run_once
from runners.engine.upgrades import task as upgrade_task

_PROGRESS = {"describe": 10, check.SCAN: 5, check.CHECKER: 30, check.INFERENCE: 50, check.LOAD: 70}


def describe_model(job: Job) -> Report:
    """Read a model's facts from its bytes."""
    job.tell(_PROGRESS["describe"], "describe")
    ending, limits = job.scan_with(describe.describe)
    if ending.kind != EndingKind.ANSWERED:
        return job.report("failed", (check.judge(check.SCAN, ending, limits).finding(check.SCAN),))
    scan = scan_of(ending.answer)
    return job.report("failed" if scan.is_refused else "passed", scan.findings, scan.facts)


def check_model(job: Job) -> Report:
    """Judge a model by the scan, the checker, strict inference and the runtime."""
    verdicts = {stage: Verdict() for stage in check.STAGES}
    job.tell(_PROGRESS[check.SCAN], check.SCAN)
    ending, limits = job.scan_with(check.scan_model)
    if ending.kind != EndingKind.ANSWERED:
        verdicts[check.SCAN] = check.judge(check.SCAN, ending, limits)
        return _verdict_report(job, verdicts, (), {})
    scan = scan_of(ending.answer)
    if scan.is_refused:
        message = next(finding.message for finding in scan.findings if finding.severity == "error")
        verdicts[check.SCAN] = Verdict(StageStatus.REFUSED, message, ending.seconds)
        return _verdict_report(job, verdicts, scan.findings, scan.facts)
    verdicts[check.SCAN] = Verdict(StageStatus.OK, "", ending.seconds)
    job.lay_out([job.request.entry, *job.external(scan)])
    facts = _judge_by_libraries(job, verdicts, scan.facts)
    return _verdict_report(job, verdicts, scan.findings, facts)


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
        if verdict.status in check.FATAL:
            break
        if stage == check.CHECKER and verdict.status == StageStatus.OK:
            facts = {**facts, **mapping_of(ending.answer)}
    return facts


def _verdict_report(
    job: Job,
    verdicts: dict[str, Verdict],
    scan_findings: tuple[Finding, ...],
    facts: dict[str, Any],
) -> Report:
    runtime = f"onnxruntime {job.versions.get('onnxruntime', '')}".strip()
    findings = check.findings(verdicts, facts, runtime)
    # The load verdict says the same with more weight.
    if any(finding.code == "needs-operator-set" for finding in findings):
        scan_findings = tuple(
            finding for finding in scan_findings if finding.code != "needs-operator-set"
        )
    all_facts = {
        "verdicts": {stage: verdict.to_json() for stage, verdict in verdicts.items()},
        **facts,
    }
    return job.report(check.outcome(verdicts), (*scan_findings, *findings), all_facts)


FLOWS: dict[str, Callable[[Job], Report]] = {
    "annotate": annotate.run,
    "benchmark": benchmark_task.run,
    "calibrate": pairing.calibrate,
    "describe": describe_model,
    "check": check_model,
    "compare-speed": pairing.compare,
    "conformance": conformance_task.run,
    "convert": conversion.run,
    "difference": comparison.run,
    "evaluation": evaluation_task.run,
    "recompute": recomputation.run,
    "run": run_once.run,
    "skeleton": skeleton.run,
    "suite": suite.run,
    "tensors": tensor_figures.run,
    "upgrade": upgrade_task.run,
}
for _capability in CAPABILITIES.values():
    for _module in _capability.engine:
        FLOWS |= import_module(_module).FLOWS
