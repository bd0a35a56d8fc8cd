"""Whether a record of a benchmark adds up, before anything is written of it.

Every sum is made again, and one field that differs refuses the record. That the samples were ever
measured nobody can check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from registry.storage.files import store
from runners.benchmarks import timing_jobs
from runners.benchmarks.record_consistency import UnbelievableError, checked
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts
from runners.engine.benchmark.typed_record import Comparison, Record
from runners.engine.reports import Finding, Report
from runners.models import Job

RECORD, COMPARISON = "record.json", "comparison.json"
RECORD_BYTES = 64 << 20
_OUTPUTS = {timing_jobs.BENCHMARK: RECORD, timing_jobs.COMPARISON: COMPARISON}
_SLACK_SECONDS = 1.0


def vetted(job: Job, report: Report) -> Report:
    """A report with the record as this side computed it in place of its facts.

    A child may have been taken over by its upload: what does not add up is no result at all.
    """
    name = _OUTPUTS.get(job.kind)
    if name is None or report.outcome == "errored":
        return report
    if name not in report.files:
        return (
            report
            if report.outcome == "failed"
            else _refused(report, "The job produced no record.")
        )
    try:
        data = _read(report.files[name])
        vet = _vet_record if job.kind == timing_jobs.BENCHMARK else _vet_comparison
        facts = vet(job, data, report)
    except (UnbelievableError, OSError, ValueError, RecursionError) as error:
        return _refused(report, f"The record of the run is not valid: {error}.")
    return replace(report, facts=facts, measures=[])


def record_of(job: Job) -> Record | None:
    """The vetted record of an ended job; None once its facts lead to rows instead.

    A job with the result of another one, whose facts may lead to rows already, reads the file.
    """
    report = job.typed_report
    if RECORD not in report.files:
        return None
    if "record" in report.facts:
        return Record.read(report.facts["record"])
    if job.is_shared:
        record = checked(_read(report.files[RECORD]))
        return Record.read(form.without_samples(record.data))
    return None


def comparison_of(job: Job) -> Comparison | None:
    """The vetted comparison of an ended job, from where `record_of` reads the record."""
    report = job.typed_report
    if COMPARISON not in report.files:
        return None
    if "verdict" not in report.facts:
        return Comparison.read(report.facts["comparison"])
    if job.is_shared:
        data = verdicts.check(_read(report.files[COMPARISON]))
        return Comparison.read(verdicts.without_samples(data))
    return None


def _vet_record(job: Job, data: Any, report: Report) -> dict[str, Any]:
    record = checked(data)
    _expect_entry(record, job.subject, "model.sha256")
    _expect_in_time(record.parts, report)
    return {"record": form.without_samples(record.data)}


def _vet_comparison(job: Job, data: Any, report: Report) -> dict[str, Any]:
    """The two records of a comparison, and the verdict that follows from them."""
    try:
        comparison = verdicts.check(data)
    except form.InvalidRecordError as error:
        raise UnbelievableError("", str(error)) from None
    baseline, candidate = (checked(comparison[name]) for name in ("baseline", "candidate"))
    if comparison["verdict"] != verdicts.judge(comparison["baseline"], comparison["candidate"]):
        raise UnbelievableError("verdict", "it does not follow from the two records")
    against = str(job.input.get("against", "")).partition("/")[2]
    earlier = job.input.get("against_files", {}).get(against)
    _expect_entry(baseline, earlier, "baseline.model.sha256")
    _expect_entry(candidate, job.subject, "candidate.model.sha256")
    _expect_in_time((baseline, candidate), report)
    return {"comparison": verdicts.without_samples(comparison)}


def _expect_entry(record: Record, sha256: Any, where: str) -> None:
    if record.entry_sha256 != sha256:
        raise UnbelievableError(where, "it belongs to another file than the job")


def _expect_in_time(records: Iterable[Record], report: Report) -> None:
    seconds = sum(process.wall_s or 0 for record in records for process in record.processes)
    if seconds > report.seconds + _SLACK_SECONDS:
        raise UnbelievableError("processes", "they add up to more time than the run took")


def _read(sha256: str) -> Any:
    content = store().read(sha256, RECORD_BYTES + 1)
    if len(content) > RECORD_BYTES:
        raise UnbelievableError("", "it is too large")
    return json.loads(content)


def _refused(report: Report, message: str) -> Report:
    return replace(
        report,
        outcome="errored",
        findings=(*report.findings, Finding("record-invalid", "error", message)),
        facts={},
        measures=[],
        outputs=[],
    )
