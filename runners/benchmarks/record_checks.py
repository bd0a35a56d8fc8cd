"""Whether a record of a benchmark adds up, before anything is written of it.

Every sum is made again, and one field that differs refuses the record. That the samples were ever
measured nobody can check.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from registry.storage.files import store
from runners.benchmarks.record_consistency import UnbelievableError, checked, parts_of
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts
from runners.engine.reports import Finding

if TYPE_CHECKING:
    from runners.engine.reports import Report
    from runners.models import Job

KIND = "benchmark"
RECORD, COMPARISON = "record.json", "comparison.json"
RECORD_BYTES = 64 << 20
_OUTPUTS = {KIND: RECORD, "compare-speed": COMPARISON}
_SLACK_SECONDS = 1.0


def vetted(job: Job, report: Report) -> Report:
    """A report with the record as this side computed it in place of its facts.

    A child may have been taken over by its upload: what does not add up is no result at all.
    """
    wanted = _OUTPUTS.get(job.kind)
    if wanted is None or report.outcome == "errored":
        return report
    output = next((one for one in report.outputs if one.get("name") == wanted), None)
    if output is None:
        return (
            report
            if report.outcome == "failed"
            else _refused(report, "The job produced no record.")
        )
    try:
        told = _read(str(output["sha256"]))
        facts = _vet_record(job, told, report) if job.kind == KIND else _vet_both(job, told, report)
    except (UnbelievableError, OSError, ValueError, RecursionError) as error:
        return _refused(report, f"The record of the run is not valid: {error}.")
    return replace(report, facts=facts, measures=[])


def record_of(job: Job) -> dict[str, Any] | None:
    """The vetted record of an ended job; None once its facts lead to rows instead.

    A job with the result of another one, whose facts may lead to rows already, reads the file.
    """
    report = job.typed_report
    if RECORD not in report.files:
        return None
    if job.is_shared and "record" not in report.facts:
        return form.without_samples(checked(_read(report.files[RECORD])))
    return report.facts.get("record")


def comparison_of(job: Job) -> dict[str, Any] | None:
    """The vetted comparison of an ended job, from where `record_of` reads the record."""
    report = job.typed_report
    if COMPARISON not in report.files:
        return None
    if "verdict" not in report.facts:
        return report.facts.get("comparison")
    if job.is_shared:
        return verdicts.without_samples(verdicts.check(_read(report.files[COMPARISON])))
    return None


def _vet_record(job: Job, told: Any, report: Report) -> dict[str, Any]:
    record = checked(told)
    _of_this(record, job.subject, "model.sha256")
    _in_time(parts_of(record), report)
    return {"record": form.without_samples(record)}


def _vet_both(job: Job, told: Any, report: Report) -> dict[str, Any]:
    """The two records of a comparison, and the verdict that follows from them."""
    try:
        found = verdicts.check(told)
    except form.InvalidRecordError as error:
        raise UnbelievableError("", str(error)) from None
    sides = [checked(found[name]) for name in ("baseline", "candidate")]
    if found["verdict"] != verdicts.judge(sides[0], sides[1]):
        raise UnbelievableError("verdict", "it does not follow from the two records")
    against = str(job.input.get("against", "")).partition("/")[2]
    _of_this(sides[0], job.input.get("against_files", {}).get(against), "baseline.model.sha256")
    _of_this(sides[1], job.subject, "candidate.model.sha256")
    _in_time(sides, report)
    return {"comparison": verdicts.without_samples(found)}


def _of_this(record: dict[str, Any], sha256: Any, where: str) -> None:
    if record["model"]["sha256"] != sha256:
        raise UnbelievableError(where, "it belongs to another file than the job")


def _in_time(records: list[dict[str, Any]], report: Report) -> None:
    spent = sum(float(one["wall_s"]) for record in records for one in record["processes"])
    if spent > report.seconds + _SLACK_SECONDS:
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
