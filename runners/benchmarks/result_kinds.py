"""What signed statements say of benchmark results and of comparisons."""

from __future__ import annotations

from collections.abc import Iterator

from hub.protocol import benchmark_metrics
from registry.models import Version
from registry.versions.results import Result, ResultKind
from runners.models import Comparison, Measurement

_COLUMNS = (
    "status",
    "trust",
    "device",
    "runtime",
    "runtime_version",
    "provider",
    "scenario",
    "call_style",
    "batch",
    "threads",
    "concurrency",
    "samples",
    "processes",
    "comparability_key",
)
_BOUNDS = ("p50_low_ms", "p50_high_ms", "latency_bound_ms", "between_process_cv")


def benchmarks(version: Version) -> Iterator[Result]:
    """Every result, also noisy and contributed ones; the facts say which they are."""
    columns = (*_COLUMNS, *(metric.column for metric in benchmark_metrics.ALL), *_BOUNDS)
    rows = Measurement.objects.filter(variant__version=version)
    for row in rows.select_related("variant").order_by("pk"):
        yield Result(
            f"benchmark/{row.pk}",
            str(row.job_id or row.record_sha256),
            {
                "variant": row.variant.name,
                **{name: getattr(row, name) for name in dict.fromkeys(columns)},
                "record": f"sha256:{row.record_sha256}",
            },
            {
                "record": row.record,
                "reasons": row.reasons,
                "environment": row.environment_id,
                "partial": row.partial,
                "energy_provenance": row.energy_provenance,
                "carbon_provenance": row.carbon_provenance,
                "signature": row.signature,
                "at": row.at.isoformat(),
            },
            {row.variant.name: row.entry_sha256},
        )


def comparisons(version: Version) -> Iterator[Result]:
    """Every comparison of a variant with that of an earlier version."""
    rows = Comparison.objects.filter(candidate__version=version)
    for row in rows.select_related("candidate", "baseline__version").order_by("pk"):
        yield Result(
            f"comparison/{row.pk}",
            str(row.job_id),
            {
                "variant": row.candidate.name,
                "against": f"{row.baseline.version.number}:{row.baseline.name}",
                "verdict": row.verdict,
                "ratio": row.ratio,
                "ratio_low": row.ratio_low,
                "ratio_high": row.ratio_high,
                "cpu_ratio": row.cpu_ratio,
                "device": row.device,
                "runtime": row.runtime,
                "runtime_version": row.runtime_version,
                "provider": row.provider,
            },
            {
                "record": row.record,
                "reason": row.reason,
                "environment": row.environment_id,
                "at": row.at.isoformat(),
            },
            {row.candidate.name: row.candidate_sha256, "against": row.baseline_sha256},
        )


RESULT_KINDS = (
    ResultKind(
        "benchmark",
        ("benchmark.added", "benchmark.removed"),
        benchmarks,
        removals=("benchmark.removed",),
    ),
    ResultKind("comparison", ("benchmark.compared", "benchmark.slower"), comparisons),
)
