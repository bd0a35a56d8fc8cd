"""Why a variant has no benchmark: the one answer that scheduling, pages and API give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet

from hub.protocol.figures import Kind, Status
from hub.protocol.vocabularies import ONNXRUNTIME
from registry.core.prepared_queries import Prepared
from registry.models import Variant
from runners.benchmarks.timing_jobs import BENCHMARK
from runners.engine.reports import StageStatus, stored_verdicts
from runners.models import Job, Measurement
from runners.queue import selectors as queue

MEASURED = str(Kind.MEASURED)
NOT_MEASURED = str(Status.UNMEASURED)
STATES = (MEASURED, *map(str, Job.LIVE), NOT_MEASURED)
# The stage of a check in which ONNX Runtime loads the model.
_LOAD = "load"
_DOES_NOT_LOAD = frozenset({StageStatus.INVALID, StageStatus.UNSUPPORTED})
_TITLE = "ONNX Runtime"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the benchmark of a variant is.

    ``state`` is one of `STATES`; ``reason`` says why it is not measured. ``job`` is the newest one.
    """

    state: str
    reason: str = ""
    job: Job | None = None


def of(variant: Variant) -> Standing:
    """Whether a variant was timed by this hub, is about to be, or why not.

    What others contributed without a signature does not count.
    """
    jobs: list[Job] = _jobs.instances(variant.version_id, variant.entry.path)
    job = next(iter(jobs), None)
    if _timed.rows(variant.pk):
        return Standing(MEASURED, "", job)
    if job is not None and job.state in Job.LIVE:
        return Standing(str(job.state), "", job)
    return Standing(NOT_MEASURED, _reason(variant, job), job)


def obstacle(variant: Variant) -> str:
    """Why ONNX Runtime does not load an uploaded file on a CPU; empty where it does.

    It is the verdict of the newest check, which is made again with each new release of it. Derived
    files were run when they were made.
    """
    if variant.origin != Variant.Origin.UPLOADED:
        return ""
    checks: list[Job] = _checks.instances(variant.version_id, variant.entry.path)
    if not checks:
        return ""
    [newest] = checks
    load = stored_verdicts(newest.typed_report.facts.get("verdicts")).get(_LOAD)
    if load is None or load.status not in _DOES_NOT_LOAD:
        return ""
    release = newest.typed_report.versions.get(ONNXRUNTIME, "")
    return f"{f'{_TITLE} {release}'.strip()} does not load the model: {load.message}"


@Prepared
def _jobs(version_id: int, entry: str) -> QuerySet[Job]:
    rows = Job.objects.filter(version=version_id, kind=BENCHMARK, entry=entry).defer("report")
    return rows.order_by("-queued_at", "-pk")[:1]


@Prepared
def _timed(variant_id: int) -> QuerySet[Measurement, Any]:
    rows = Measurement.objects.filter(
        variant=variant_id,
        entry_sha256=F("variant__entry__blob"),
        status__in=Measurement.PUBLIC,
    )
    return rows.filter(Measurement.TRUSTED).order_by().values_list("pk")[:1]


@Prepared
def _checks(version_id: int, entry: str) -> QuerySet[Job]:
    rows = Job.objects.filter(version=version_id, kind="check", entry=entry).with_verdict()
    return rows.order_by("-finished_at", "-pk")[:1]


def _reason(variant: Variant, job: Job | None) -> str:
    if job is not None and job.state == Job.State.FAILED:
        return job.error_detail or "The benchmark failed."
    if not variant.version.is_served:
        return "Benchmarks run after publication."
    return obstacle(variant) or _not_queued(variant)


def _not_queued(variant: Variant) -> str:
    """Why a published variant that loads has no queued benchmark."""
    if settings.HUB_BENCH == "off":
        return "Benchmarks are switched off on this hub (HUB_BENCH)."
    if not queue.live_workers(Job.Pool.BENCH_CPU):
        return "Benchmarks need a worker of the pool bench-cpu."
    if variant.origin == Variant.Origin.UPGRADED:
        return "Upgraded variants are benchmarked on request only."
    return "No benchmark was queued yet."
