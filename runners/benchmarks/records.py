"""Records of benchmarks as rows: what a worker measured, and what people measured elsewhere.

Only vetted records come here (`vetting`); one of a person carries that person's name.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from hub.protocol.devices import DeviceClass, device_class
from hub.protocol.stored import whole
from registry.core import events
from registry.models import File, Variant, Version
from registry.versions.services import derivatives
from runners.benchmarks import noise, record_checks
from runners.benchmarks.record_checks import COMPARISON, KIND, RECORD
from runners.benchmarks.record_consistency import median_of, parts_of
from runners.engine.benchmark import record as form
from runners.engine.benchmark import verdicts
from runners.models import Comparison, Environment, Host, Job, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator


FOLDER = "benchmarks"
SAMPLES = "samples.csv"
_CALIBRATION_BYTES = 20_000


@transaction.atomic
def take(job: Job) -> int:
    """Write the results of an ended benchmark, once; returns how many."""
    if job.measurements.exists() or not _is_kept(job):
        return 0
    record = record_checks.record_of(job)
    if record is None:
        return 0
    assert job.version is not None  # noqa: S101 - told the type checker what was seen just now
    variant = _variant(job.version, job.entry)
    if variant is None or variant.entry.blob_id != record["model"]["sha256"]:
        return 0
    outputs = job.typed_report.files
    file = {name: _keep(job, name, outputs[name]) for name in (RECORD, SAMPLES) if name in outputs}
    rows = list(
        _rows(
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
    )
    made = Measurement.objects.bulk_create(rows)
    _slim(job, {"benchmarks": [row.pk for row in made], "status": record["status"]})
    events.record("benchmark.added", job.version, actor=None, model=job.version.model)
    if record["status"] == Measurement.Status.NOISY:
        noise.repeat_later(job)
        noise.give_way(job)
    return len(made)


@transaction.atomic
def take_comparison(job: Job) -> Comparison | None:
    """Write the verdict of an ended comparison, once; None where a side is not there any more."""
    if hasattr(job, "comparison") or not _is_kept(job):
        return None
    told = record_checks.comparison_of(job)
    if told is None:
        return None
    assert job.version is not None  # noqa: S101 - told the type checker what was seen just now
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
    gone = baseline is None or baseline.version.state == Version.State.WITHDRAWN
    if candidate is None or baseline is None or gone:
        return None
    row = Comparison.objects.create(
        job=job,
        baseline=baseline,
        candidate=candidate,
        record=told,
        record_file=_keep(job, COMPARISON, job.typed_report.files[COMPARISON]),
        at=job.finished_at or timezone.now(),
        **_verdict(told),
    )
    _slim(job, {"comparison": row.pk, "verdict": told["verdict"]})
    told_of = {"verdict": str(row.verdict), "against": baseline.version_id}
    verb = "benchmark.slower" if row.verdict == verdicts.SLOWER else "benchmark.compared"
    events.record(verb, job.version, actor=None, model=job.version.model, **told_of)
    return row


@transaction.atomic
def take_calibration(job: Job) -> None:
    """Keep on a host's row what running one file against itself told of it."""
    found = job.typed_report.facts
    limits = found.get("limits")
    if isinstance(limits, dict) and len(json.dumps(found)) <= _CALIBRATION_BYTES:
        Host.objects.filter(name=job.requires.get("host", "")).update(
            calibration=found, calibrated_at=job.finished_at or timezone.now()
        )


@transaction.atomic
def forget(version: Version) -> int:
    """Drop what was measured of a withdrawn version: records tell of its graph's nodes."""
    mine = Job.objects.filter(kind__in=(KIND, "compare-speed"), version=version)
    against = Job.objects.filter(
        kind="compare-speed",
        version__model=version.model_id,
        input__against_version=version.number,
    )
    deleted = 0
    for found in (mine, against):
        deleted += found.exclude(state=Job.State.RUNNING).delete()[0]
    return deleted + Measurement.objects.filter(variant__version=version).delete()[0]


def rows_of(record: dict[str, Any], variant: Variant, **whose: Any) -> list[Measurement]:
    """The rows of a checked record without its samples, unsaved; environments are made."""
    return list(_rows(record, variant, **whose))


def device_of(record: dict[str, Any]) -> DeviceClass:
    """The device class of a result: the hardware of its comparability, and how many cores."""
    told = record["comparability"]
    kind = "gpu" if told.get("device") == "gpu" else "cpu"
    return device_class(kind, str(told.get("hardware", "")), whole(told.get("usable_cpus")))


def environment_of(record: dict[str, Any]) -> Environment:
    """The row of a checked record's environment."""
    return Environment.objects.get_or_create(
        digest=record["environment_digest"], defaults={"parts": record["environment"]}
    )[0]


def _rows(record: dict[str, Any], variant: Variant, **whose: Any) -> Iterator[Measurement]:
    for ordinal, part in enumerate(parts_of(record)):
        yield _row(part, variant, ordinal=ordinal, **whose)


def _row(record: dict[str, Any], variant: Variant, **whose: Any) -> Measurement:
    config, provider, comparability = (
        record["config"],
        record["provider"],
        record["comparability"],
    )
    device = device_of(record)
    return Measurement(
        variant=variant,
        entry_sha256=record["model"]["sha256"],
        status=record["status"],
        reasons=record["reasons"],
        comparability_key=record["comparability_key"],
        environment=environment_of(record),
        device=device.name,
        device_title=device.title,
        device_kind=device.kind,
        runtime=str(provider["runtime"])[:32],
        runtime_version=str(comparability.get("runtime_version", form.NOT_EXPOSED))[:64],
        provider=str(provider["claimed"])[:64],
        partial=provider["partial"],
        scenario=config["scenario"],
        call_style=config["call_style"],
        batch=max(1, config["batch"]),
        threads=config["intra_op_threads"],
        concurrency=config.get("concurrency", 1),
        latency_bound_ms=config.get("bound", {}).get("latency_ms"),
        record=record,
        started_at=_moment(record["started_at"]),
        at=_moment(record["ended_at"]),
        **_figures(record),
        **whose,
    )


def _verdict(told: dict[str, Any]) -> dict[str, Any]:
    """The columns of a comparison whose sums were made again."""
    candidate, verdict = told["candidate"], told["verdict"]
    wall, device = verdict["wall_ratio"] or (None, None, None), device_of(candidate)
    return {
        "baseline_sha256": told["baseline"]["model"]["sha256"],
        "candidate_sha256": candidate["model"]["sha256"],
        "environment": environment_of(candidate),
        "device": device.name,
        "device_title": device.title,
        "runtime": str(candidate["provider"]["runtime"])[:32],
        "runtime_version": str(candidate["comparability"].get("runtime_version", ""))[:64],
        "provider": str(candidate["provider"]["claimed"])[:64],
        "verdict": verdict["word"],
        "reason": ", ".join(verdict["reasons"])[:300],
        "ratio": wall[0],
        "ratio_low": wall[1],
        "ratio_high": wall[2],
        "cpu_ratio": verdict["cpu_ratio"][0] if verdict["cpu_ratio"] else None,
    }


def _figures(record: dict[str, Any]) -> dict[str, Any]:
    stats, energy, carbon = record["stats"], record["energy"], record["carbon"]
    found: dict[str, Any] = {
        "energy_j": _number(energy.get("j_per_inference")),
        "carbon_g": _number(carbon.get("g_co2e_per_inference")),
    }
    found["energy_provenance"] = "none" if found["energy_j"] is None else energy["provenance"]
    found["carbon_provenance"] = "none" if found["carbon_g"] is None else carbon["provenance"]
    if stats is None:
        return found
    latency, interval = stats["latency_ms"], stats["p50_ci95_ms"] or (None, None)
    median = median_of(record)
    tail = {name: _number(latency[name]) for name in ("p90", "p95", "p99")}
    return found | {
        "samples": stats["n_samples"],
        "processes": stats["n_processes"],
        "p50_ms": median,
        # Of all samples; where processes differ so much that one lies below, it says nothing here.
        **{f"{name}_ms": one for name, one in tail.items() if one is not None and one >= median},
        "p50_low_ms": _number(interval[0]),
        "p50_high_ms": _number(interval[1]),
        "between_process_cv": _number(stats["between_process_cv"]),
        "throughput_per_s": _number(stats["throughput_per_s"]),
        "cpu_ms": _number(stats["cpu_ms_per_inference"]),
        "peak_rss_bytes": whole(stats["peak_rss_bytes"]),
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
    assert job.version is not None  # noqa: S101 - told the type checker what its caller saw
    return derivatives.attach_evidence(
        version=job.version,
        manifest_sha256=job.input["manifest_sha256"],
        folder=FOLDER,
        output=derivatives.Output(name, sha256),
    )


def _moment(text: str) -> datetime:
    """A time that a record tells; never a later one than now."""
    now = timezone.now()
    try:
        return min(now, datetime.fromisoformat(text).astimezone(UTC))
    except (ValueError, OverflowError):
        return now


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
