"""Records of benchmarks as the engine writes them, of made-up samples, and rows made from them.

The sums are the engine's own; only the readings are invented, and no test calls them a measurement.
"""

from __future__ import annotations

import hashlib
import io
import random
from datetime import timedelta

from django.db.models import F

from registry.models import Variant
from registry.versions.services import derivatives
from runners.benchmarks import challenges, record_checks
from runners.benchmarks import records as benchmark_records
from runners.engine.benchmark import power, summary, verdicts
from runners.engine.benchmark import record as form
from runners.engine.reports import OutputFile, Report
from runners.graphs import differences
from runners.models import Challenge, Measurement
from runners.queue import services
from runners.worker_features import WorkerFeatures
from tests import deliveries
from tests.proven import POOL

CPU = "CPUExecutionProvider"
STATED = {
    "provenance": "estimated",
    "method": power.BY_CPU_TIME,
    "source": "the operator",
    "watts_per_core": 10.0,
}
DECLARED = {
    "provenance": "declared",
    "method": power.DECLARED,
    "source": "its maker",
    "j_per_inference": 0.25,
}
DIGEST = hashlib.sha256(b"outputs").hexdigest()
# What a made-up model gives for the made-up inputs.
TENSOR = {
    "dtype": "float32",
    "shape": [1, 2],
    "elements": [0.25, -0.5],
    "finite": 2,
    "mean": -0.125,
    "std": 0.375,
    "min": -0.5,
    "max": 0.25,
}
INTERFERENCE = {
    "psi_cpu_some": 0.01,
    "foreign_cpu": 0.01,
    "steal": 0.0,
    "throttled": 0,
    "foreign_gpu_pids": form.NOT_APPLICABLE,
}


def process(ordinal, samples_ns, **more):
    """What one quiet process tells of these samples."""
    spent = sum(samples_ns) / 1e9
    return {
        "ordinal": ordinal,
        "samples_ns": list(samples_ns),
        "kept_every": 1,
        "queries": len(samples_ns),
        "inferences": len(samples_ns),
        "unserved": 0,
        "wall_s": spent,
        "cpu_time_s": spent,
        "warmup_count": 10,
        "warmup_s": 0.01,
        "steady": True,
        "session_load_ms": 4.0,
        "first_inference_ms": 2.0,
        "peak_rss_bytes": 80_000_000,
        "floor_rss_bytes": 60_000_000,
        "peak_device_bytes": form.NOT_APPLICABLE,
        "involuntary_switches": 0,
        "timer_ns": 50.0,
        "clock_khz": form.NOT_EXPOSED,
        "meter_j": {},
        "interference": dict(INTERFERENCE),
        "failure": None,
        "outputs": {"sha256": DIGEST, "repeat": "yes", "tensors": [dict(TENSOR)]},
    } | more


def processes(median_ms=1.0, *, count=5, each=20, spread=0.0):
    """Processes whose samples lie around a median; ``spread`` sets their medians apart."""
    made = []
    for ordinal in range(count):
        middle = median_ms * (1 + spread * (ordinal - count // 2))
        made.append(process(ordinal, scattered(middle, each, ordinal)))
    return made


def scattered(middle_ms, count, seed):
    """Samples a thousandth apart and a little aside, in an order that is the process's own.

    The two in the middle stay where they are, so that the median is what was asked for.
    """
    draw = random.Random(seed)
    steps = [place - count // 2 for place in range(count)]
    aside = [0 if step in (-1, 0) else draw.uniform(-0.3, 0.3) for step in steps]
    samples = [
        int(middle_ms * 1e6 * (1 + 0.001 * (step + extra)))
        for step, extra in zip(steps, aside, strict=True)
    ]
    draw.shuffle(samples)
    return samples


def measured(sha256, median_ms=1.0, *, spread=0.0, config=(), environment=(), **more):
    """The measured part of a record of a model's file."""
    return {
        "format": form.FORMAT,
        "format_version": form.FORMAT_VERSION,
        "challenge": form.NOT_APPLICABLE,
        "method": form.METHOD_VERSION,
        "engine": "test",
        "started_at": "2026-11-20T10:00:00Z",
        "ended_at": "2026-11-20T10:01:00Z",
        "model": {"entry": "model.onnx", "sha256": sha256, "size": 12, "files": []},
        "config": {
            "scenario": "single_stream",
            "inputs": [
                {"name": "x", "dtype": "float32", "shape": [dict(config).get("batch", 1), 4]}
            ],
            "input_source": "seeded",
            "seed": 0,
            "batch": 1,
            "samples_per_query": 1,
            "call_style": "run",
            "intra_op_threads": 1,
        }
        | dict(config),
        "provider": {
            "runtime": "onnxruntime",
            "requested": [CPU],
            "claimed": CPU,
            "partial": False,
            "nodes_by_provider": {CPU: 2},
            "kernels_by_provider": {CPU: {"count": 2, "time_ms": 0.1}},
        },
        "environment": {
            "cpu_model": "Example CPU",
            "usable_cpus": 2,
            "isa": ["avx2"],
            "memory_total_bytes": 8 << 30,
            "runtime": "onnxruntime",
            "runtime_version": "1.31.1",
            "os": "Linux",
        }
        | dict(environment),
        "gate": dict(summary.PROVISIONAL),
        "quiet": {"is_quiet": True, "waited_s": 0.0},
        "processes": processes(median_ms, spread=spread),
        "per_operator": {
            "status": "profiled",
            "operators": [{"operator": "Gemm", "time_ms": 0.1, "nodes": 1}],
        },
        "power": {"provenance": "none"},
        "grid": None,
        "failure": None,
        "sweeps": [],
    } | more


def record(sha256, median_ms=1.0, **more):
    """A whole record, its sums made by the engine."""
    return summary.complete(measured(sha256, median_ms, **more))


def contributed(version, user, median_ms=1.0, *, variant="default", sweeps=(), **more):
    """A record that somebody may send of a variant: with a challenge, and inputs seeded by it."""
    row = Variant.objects.select_related("entry").get(version=version, name=variant)
    nonce = challenges.issue(user, version=version).nonce
    # The measurement took a minute, so its challenge must be older than that.
    Challenge.objects.filter(pk=nonce).update(issued_at=F("issued_at") - timedelta(minutes=5))
    config = dict(more.pop("config", ())) | {"seed": form.seed_of(nonce)}
    told = {"challenge": nonce, "config": config} | more
    return record(more.pop("sha256", row.entry.blob_id), median_ms, **told)


def recomputed(contribution, *, tensors=(TENSOR,), repeats=True, fastest_ms=1.0, outcome="passed"):
    """A worker's answer about the outputs of a contributed record; gives the record's new row."""
    contribution.refresh_from_db()
    features = WorkerFeatures(runtimes={"onnxruntime": "1.31.1"})
    job = services.claim("proving", ["cpu"], uuid=contribution.job_id, features=features)
    facts = {"tensors": list(tensors), "repeats": repeats, "fastest_ms": fastest_ms}
    outputs = [facts for _ in job.input["parts"]]
    told = Report("recompute", {}, "0" * 64, outcome, facts={"outputs": outputs}, seconds=1.0)
    assert services.finish(job, told)
    deliveries.deliver()
    contribution.refresh_from_db()
    return contribution


def report(told, *, seconds=600.0, outcome="passed", table=True):
    """The report of a benchmark job that wrote this record."""
    files = {record_checks.RECORD: form.canonical(told)}
    if table:
        files[benchmark_records.SAMPLES] = b"process,sample,nanoseconds\n0,0,1\n"
    outputs = []
    for name, content in files.items():
        sha256, size = derivatives.store_bytes(io.BytesIO(content))
        outputs.append(OutputFile(name, sha256, size))
    return Report(
        task="benchmark",
        versions={"onnxruntime": "1.31.1"},
        subject="0" * 64,
        outcome=outcome,
        outputs=outputs,
        seconds=seconds,
    )


def running(version, *, entry="model.onnx", **job_input):
    """A benchmark job that somebody is at, in a pool of no real worker."""
    job = services.enqueue(
        kind="benchmark",
        version=version,
        entry=entry,
        job_input=job_input,
        pool=POOL,
        max_attempts=1,
    )
    return services.claim("proving", [POOL], uuid=job.pk, features=WorkerFeatures())


def benchmark(version, median_ms=1.0, *, variant="default", deliver=True, **more):
    """A result of a variant, by way of a job, its record and its report; gives the first row.

    Without deliveries nothing but the row is made: no graph, no document of a search.
    """
    row = Variant.objects.select_related("entry").get(version=version, name=variant)
    job = running(version, entry=row.entry.path)
    told = record(row.entry.blob_id, median_ms, **more)
    found = record_checks.vetted(job, report(told))
    assert found.outcome == "passed", found.findings
    assert services.finish(job, found)
    if deliver:
        deliveries.deliver()
    else:
        job.refresh_from_db()
        benchmark_records.take(job)
    return Measurement.objects.filter(job=job).order_by("ordinal").first()


def comparison(candidate, baseline, *, slower=1.0, spread=0.0, tampered=False, deliver=True):
    """What came of comparing the main variants of two versions of a model; gives the job."""
    sides = [
        Variant.objects.select_related("entry", "version").filter(version=version).first()
        for version in (baseline, candidate)
    ]
    job_input = differences.sides(*sides) | {"runtime": "onnxruntime"}
    job = services.enqueue(
        kind="compare-speed",
        version=candidate,
        entry=sides[1].entry.path,
        job_input=job_input,
        pool=POOL,
    )
    job = services.claim("proving", [POOL], uuid=job.pk, features=WorkerFeatures())
    medians = (1.0, slower)
    records = [
        record(
            side.entry.blob_id,
            median,
            method=form.COMPARISON_METHOD_VERSION,
            processes=processes(median, count=verdicts.LEAST_PAIRS, spread=spread),
        )
        for side, median in zip(sides, medians, strict=True)
    ]
    made = verdicts.complete(*records, "ABABABAB")
    if tampered:
        made["verdict"]["word"] = "same" if made["verdict"]["word"] != "same" else "faster"
    sha256, size = derivatives.store_bytes(io.BytesIO(form.canonical(made)))
    outputs = [OutputFile(record_checks.COMPARISON, sha256, size)]
    told = Report("compare-speed", {}, "0" * 64, "passed", outputs=outputs, seconds=600.0)
    found = record_checks.vetted(job, told)
    if found.outcome == "passed":
        assert services.finish(job, found)
    if deliver:
        deliveries.deliver()
    else:
        job.refresh_from_db()
        benchmark_records.take_comparison(job)
    return job
