"""Whether a record of a benchmark adds up, before anything is written of it.

Every sum is made again, and one field that differs refuses the record. That the samples were ever
measured nobody can check.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from registry.blobs import store
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts, verification
from runners.models import Measurement
from runners.reports import Finding

if TYPE_CHECKING:
    from runners.models import Job
    from runners.reports import Report

KIND = "benchmark"
RECORD, COMPARISON = "record.json", "comparison.json"
RECORD_BYTES = 64 << 20
_OUTPUTS = {KIND: RECORD, "compare-speed": COMPARISON}
_SLACK_SECONDS = 1.0
_ENVIRONMENT_BYTES = 64 << 10
_ROW_BYTES = 2 << 20
_MOST_COUNT = 1_000_000


class UnbelievableError(ValueError):
    """A record whose sums do not follow from its samples, or that is none."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


def checked(data: Any) -> dict[str, Any]:
    """Give a record back whose every sum was made again and is right; raises UnbelievableError."""
    if not isinstance(data, dict) or data.get("format") != form.FORMAT:
        raise UnbelievableError("format", f"it must be {form.FORMAT}")
    try:
        wrong = verification.problems(data)
    except form.InvalidRecordError as error:
        where, _, words = str(error).partition(": ")
        raise UnbelievableError(where.removeprefix("record").lstrip("."), words) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UnbelievableError("", f"its sums cannot be made ({type(error).__name__})") from None
    if wrong:
        field = str(wrong[0]["field"])
        raise UnbelievableError(field, "it does not follow from what was measured")
    found: dict[str, Any] = data
    for part in parts_of(found):
        _fits(part)
    return found


def vetted(job: Job, report: Report) -> Report:
    """A report with the record as this side computed it in place of its facts.

    A child may have been taken over by its upload: what does not add up is no result at all.
    """
    wanted = _OUTPUTS.get(job.kind)
    if wanted is None or report.outcome == "errored":
        return report
    output = next((one for one in report.outputs if one.get("name") == wanted), None)
    if output is None:
        return report if report.outcome == "failed" else _refused(report, "There is no record.")
    try:
        told = _read(str(output["sha256"]))
        facts = _vet_record(job, told, report) if job.kind == KIND else _vet_both(job, told, report)
    except (UnbelievableError, OSError, ValueError, RecursionError) as error:
        return _refused(report, f"The record of the run is not sound: {error}.")
    return replace(report, facts=facts, measures=[])


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
        raise UnbelievableError(where, "it is of another file than the job")


def _in_time(records: list[dict[str, Any]], report: Report) -> None:
    spent = sum(float(one["wall_s"]) for record in records for one in record["processes"])
    if spent > report.seconds + _SLACK_SECONDS:
        raise UnbelievableError("processes", "they tell of more time than the run took")


def parts_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The record itself and those of its sweeps, each a result of its own."""
    return [record, *(one["record"] for one in record["sweeps"])]


def median_of(record: dict[str, Any]) -> float:
    """The p50 that is shown and ranked: the middle of the processes' medians, as its interval is.

    Records of the first version keep theirs, the median of all samples, as all of their keys have.
    """
    stats = record["stats"]
    pooled = stats["latency_ms"]["p50"] if form.is_first(record) else None
    return float((stats["p50_of_processes_ms"] if pooled is None else pooled) or 0.0)


def _fits(record: dict[str, Any]) -> None:
    """Whether a record that adds up is one that the tables can hold; raises UnbelievableError."""
    config, stats = record["config"], record["stats"]
    for name, value, least in (
        ("batch", config["batch"], 1),
        ("intra_op_threads", config["intra_op_threads"], 0),
    ):
        if not least <= value <= _MOST_COUNT:
            raise UnbelievableError(f"config.{name}", "it is out of its limits")
    if record["status"] in Measurement.SHOWN and not (stats and median_of(record) > 0):
        raise UnbelievableError("stats.p50_of_processes_ms", "a run takes some time")
    if len(form.canonical(record["environment"])) > _ENVIRONMENT_BYTES:
        raise UnbelievableError("environment", "it is too large")
    slim = form.without_samples(record)
    if len(form.canonical(slim)) > _ROW_BYTES:
        raise UnbelievableError("", "without its samples it is too large")
    if not _is_clean(slim):
        raise UnbelievableError("", "it holds characters that no text has")


def _is_clean(data: Any) -> bool:
    """Whether every text can be stored: no NUL, no half of a surrogate pair."""
    if isinstance(data, str):
        return "\x00" not in data and not any("\ud800" <= one <= "\udfff" for one in data)
    if isinstance(data, dict):
        return all(_is_clean(key) and _is_clean(value) for key, value in data.items())
    return all(map(_is_clean, data)) if isinstance(data, list) else True


def _read(sha256: str) -> Any:
    path = store().path(sha256)
    if path.stat().st_size > RECORD_BYTES:
        raise UnbelievableError("", "it is too large")
    with store().open(sha256) as file:
        return json.load(file)


def _refused(report: Report, message: str) -> Report:
    return replace(
        report,
        outcome="errored",
        findings=(*report.findings, Finding("record-invalid", "error", message)),
        facts={},
        measures=[],
        outputs=[],
    )
