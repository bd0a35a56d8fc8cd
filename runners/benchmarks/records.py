"""Records of benchmarks as rows: what a worker measured, and what people measured elsewhere.

Only checked records come here (`record_checks`); one of a person carries that person's name.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from hub.protocol import benchmark_metrics
from registry.core import events
from registry.models import File, Variant, Version
from registry.versions.services import derivatives
from runners.benchmarks import noise, record_checks, timing_jobs
from runners.benchmarks.record_checks import COMPARISON, RECORD
from runners.engine.benchmark import typed_record
from runners.engine.benchmark.typed_record import Record
from runners.engine.benchmark.verdicts import SpeedChange
from runners.models import Comparison, Environment, Job, Measurement

FOLDER = "benchmarks"
SAMPLES = "samples.csv"


@transaction.atomic
def take(job: Job) -> int:
    """Write the results of an ended benchmark, once; returns how many."""
    if job.measurements.exists() or not _is_kept(job):
        return 0
    record = record_checks.record_of(job)
    if record is None:
        return 0
    assert job.version is not None  # noqa: S101 - for the type checker: `_is_kept` asks for it
    variant = _variant(job.version, job.entry)
    if variant is None or variant.entry.blob_id != record.entry_sha256:
        return 0
    outputs = job.typed_report.files
    file = {name: _keep(job, name, outputs[name]) for name in (RECORD, SAMPLES) if name in outputs}
    rows = rows_of(
        record,
        variant,
        origin=Measurement.Origin.MEASURED,
        trust=Measurement.Trust.HUB,
        job=job,
        attempt=job.attempt,
        record_sha256=outputs[RECORD],
        record_file=file.get(RECORD),
        samples_file=file.get(SAMPLES),
    )
    Measurement.objects.bulk_create(rows)
    _slim(job, {"benchmarks": [row.pk for row in rows], "status": record.status})
    events.record("benchmark.added", job.version, actor=None, model=job.version.model)
    if record.status == Measurement.Status.NOISY:
        noise.repeat_later(job)
        noise.give_way(job)
    return len(rows)


@transaction.atomic
def take_comparison(job: Job) -> Comparison | None:
    """Write the verdict of an ended comparison, once; None where a side is not there any more."""
    if hasattr(job, "comparison") or not _is_kept(job):
        return None
    comparison = record_checks.comparison_of(job)
    if comparison is None:
        return None
    assert job.version is not None  # noqa: S101 - for the type checker: `_is_kept` asks for it
    candidate = _variant(job.version, job.entry)
    baseline = (
        Variant.objects.filter(
            version__model=job.version.model_id,
            version__number=job.input.get("against_version"),
            name=job.input.get("against_variant"),
        )
        .select_related("entry", "version")
        .first()
    )
    is_gone = baseline is None or baseline.version.state == Version.State.WITHDRAWN
    if candidate is None or baseline is None or is_gone:
        return None
    row = Comparison.objects.create(
        job=job,
        baseline=baseline,
        candidate=candidate,
        record=comparison.data,
        record_file=_keep(job, COMPARISON, job.typed_report.files[COMPARISON]),
        at=job.finished_at or timezone.now(),
        **_columns(comparison),
    )
    _slim(job, {"comparison": row.pk, "verdict": comparison.data["verdict"]})
    outcome = {"verdict": str(row.verdict), "against": baseline.version_id}
    verb = "benchmark.slower" if row.verdict == SpeedChange.SLOWER else "benchmark.compared"
    events.record(verb, job.version, actor=None, model=job.version.model, **outcome)
    return row


@transaction.atomic
def forget(version: Version) -> int:
    """Drop what was measured of a withdrawn version: records tell of its graph's nodes."""
    ended = Job.objects.exclude(state=Job.State.RUNNING)
    mine = ended.filter(kind__in=(timing_jobs.BENCHMARK, timing_jobs.COMPARISON), version=version)
    against = ended.filter(
        kind=timing_jobs.COMPARISON,
        version__model=version.model_id,
        input__against_version=version.number,
    )
    deleted = mine.delete()[0] + against.delete()[0]
    return deleted + Measurement.objects.filter(variant__version=version).delete()[0]


def rows_of(record: Record, variant: Variant, **origin: Any) -> list[Measurement]:
    """The rows of a checked record without its samples, unsaved; environments are made."""
    return [
        _row(part, variant, ordinal=ordinal, **origin) for ordinal, part in enumerate(record.parts)
    ]


def environment_of(record: Record) -> Environment:
    """The row of a checked record's environment."""
    return Environment.objects.get_or_create(
        digest=record.environment_digest, defaults={"parts": record.environment}
    )[0]


def _row(record: Record, variant: Variant, **origin: Any) -> Measurement:
    now = timezone.now()
    return Measurement(
        variant=variant,
        entry_sha256=record.entry_sha256,
        status=record.status,
        reasons=list(record.reasons),
        comparability_key=record.comparability_key,
        environment=environment_of(record),
        device=record.device.name,
        device_title=record.device.title,
        device_kind=record.device.kind,
        runtime=record.provider.runtime[:32],
        runtime_version=record.runtime_version[:64],
        provider=record.provider.claimed[:64],
        partial=record.provider.partial,
        scenario=record.config.scenario,
        call_style=record.config.call_style,
        batch=max(1, record.config.batch),
        threads=record.config.intra_op_threads,
        concurrency=record.config.concurrency,
        latency_bound_ms=record.load.latency_bound_ms,
        record=record.data,
        # A machine's clock may be ahead of this one's.
        started_at=min(now, record.started_at),
        at=min(now, record.ended_at),
        **_figures(record),
        **origin,
    )


def _columns(comparison: typed_record.Comparison) -> dict[str, Any]:
    """The columns of a comparison whose sums were made again."""
    candidate, wall = comparison.candidate, comparison.wall_ratio or (None, None, None)
    return {
        "baseline_sha256": comparison.baseline.entry_sha256,
        "candidate_sha256": candidate.entry_sha256,
        "environment": environment_of(candidate),
        "device": candidate.device.name,
        "device_title": candidate.device.title,
        "runtime": candidate.provider.runtime[:32],
        "runtime_version": candidate.runtime_version[:64],
        "provider": candidate.provider.claimed[:64],
        "verdict": comparison.change,
        "reason": ", ".join(comparison.reasons)[:300],
        "ratio": wall[0],
        "ratio_low": wall[1],
        "ratio_high": wall[2],
        "cpu_ratio": comparison.cpu_ratio[0] if comparison.cpu_ratio else None,
    }


def _figures(record: Record) -> dict[str, Any]:
    stats = record.stats
    with_source = [metric for metric in benchmark_metrics.ALL if metric.source]
    columns: dict[str, Any] = {metric.column: record.value(metric) for metric in with_source}
    columns |= {
        metric.provenance: record.provenance(metric) for metric in with_source if metric.provenance
    }
    if not stats.n_samples:
        return columns
    low, high = stats.p50_ci95_ms or (None, None)
    return columns | {
        "samples": stats.n_samples,
        "processes": stats.n_processes,
        "p50_ms": record.median_ms,
        # Of all samples; where processes differ so much that one lies below, it says nothing here.
        **{
            metric.column: stats.latency_ms[name]
            for name, metric in benchmark_metrics.PERCENTILES.items()
            if stats.latency_ms.get(name, 0) >= record.median_ms
        },
        "p50_low_ms": low,
        "p50_high_ms": high,
        "between_process_cv": stats.between_process_cv,
    }


def _is_kept(job: Job) -> bool:
    """Whether the version of a job is there, and was not withdrawn while it ran."""
    return job.version is not None and job.version.state != Version.State.WITHDRAWN


def _slim(job: Job, facts: dict[str, Any]) -> None:
    """Leave in an ended job's report what leads to its rows: the record is there, and in a file."""
    report = (job.report or {}) | {"facts": facts}
    Job.objects.filter(pk=job.pk).update(report=report)


def _variant(version: Version, entry: str) -> Variant | None:
    rows = Variant.objects.filter(version=version, entry__path=entry)
    return rows.select_related("entry").first()


def _keep(job: Job, name: str, sha256: str) -> File | None:
    assert job.version is not None  # noqa: S101 - for the type checker: callers ask for it
    return derivatives.attach_evidence(
        version=job.version,
        manifest_sha256=job.input["manifest_sha256"],
        folder=FOLDER,
        output=derivatives.Output(name, sha256),
    )
