"""What benchmarks add to jobs, evidence, lists and hourly cleaning."""

from __future__ import annotations

from typing import Any

from hub.protocol.stored import mapping
from registry.core.periodic import HourlyTask, hourly_tasks
from registry.versions import evidence
from registry.versions import results as version_results
from runners.benchmarks import (
    calibrations,
    contributions,
    records,
    result_kinds,
    scheduling,
    selectors,
    speed_index,
)
from runners.engine.benchmark import record
from runners.engine.benchmark.verdicts import SpeedChange
from runners.models import Job, Measurement
from runners.queue.job_kinds import JobKind, job_kinds


def register(package: str) -> None:
    """Plug into the core."""
    speed_index.connect()
    version_results.result_kinds.register(package, *result_kinds.RESULT_KINDS)
    evidence.register(
        evidence.Evidence(
            "benchmark", "latency", "/benchmarks/{}", "/benchmarks/{}", selectors.describe
        )
    )
    hourly_tasks.register(
        package, HourlyTask("benchmarks", "Missing benchmarks queued", scheduling.catch_up)
    )
    job_kinds.register(
        package,
        JobKind(
            "benchmark",
            records.take,
            method=_method,
            takes_failures=True,
            is_conclusive=_is_accepted,
            schedule_missing=scheduling.schedule_missing,
            forget=records.forget,
        ),
        JobKind("calibrate", calibrations.take),
        JobKind(
            contributions.RECOMPUTATION,
            contributions.decide,
            takes_failures=True,
            forget=contributions.forget,
        ),
        JobKind(
            "compare-speed",
            records.take_comparison,
            method=record.COMPARISON_METHOD_VERSION,
            is_conclusive=_is_decided,
        ),
    )


def _method(job: Job) -> str:
    return record.method_of(str(job.input.get("scenario", record.SINGLE_STREAM)))


def _is_accepted(facts: dict[str, Any]) -> bool:
    """Whether a timing was accepted; a noisy one must be measured again."""
    measured = mapping(facts.get("record")) or facts
    return bool(measured.get("status") == Measurement.Status.ACCEPTED)


def _is_decided(facts: dict[str, Any]) -> bool:
    """Whether a comparison found out which is faster."""
    comparison = mapping(facts.get("comparison")) or facts
    word = mapping(comparison.get("verdict")).get("word")
    return word in list(SpeedChange) and word != SpeedChange.INCONCLUSIVE
