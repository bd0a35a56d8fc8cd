"""Versions that are published and worked on as a worker would, for tests of shared results."""

from __future__ import annotations

from registry.core import outbox
from registry.models import RegisteredModel, Version
from runners.benchmarks import record_checks
from runners.models import Job
from runners.proofs import verification
from runners.queue import services
from runners.worker_features import WorkerFeatures
from tests import factories, proven, samples, timed

HOST = "bench-1"
FEATURES = {
    "versions": {"engine": "1", "onnx": "1.23.2", "onnxruntime": "1.31.1"},
    "runtimes": {"onnxruntime": "1.31.1"},
}
BENCH = FEATURES | {"providers": [timed.CPU]}
OTHER_CARD = factories.CARD.replace("It is small.", "It is small, and better described.")
MODEL = samples.mlp()
OTHER = {"model.onnx": samples.mlp(hidden=9)}


def offer(**changes):
    """A worker that was seen just now."""
    features = FEATURES | changes
    services.see("w1", host=HOST, pool="cpu,light", features=features)
    verification.register()
    return features


def claim(features=FEATURES, worker="w1", host=HOST):
    return services.claim(
        worker, ["cpu", "light"], host=host, features=WorkerFeatures.read(features)
    )


def finish(job, outcome="passed", versions=FEATURES["versions"], **changes):
    """End a job as a worker with these libraries would."""
    measures = [proven.measure("reference")] if job.kind == "conformance" else []
    report = factories.report(job.kind, outcome)
    fields = {"versions": dict(versions), "measures": measures} | changes
    for name, value in fields.items():
        object.__setattr__(report, name, value)
    assert services.finish(job, report)
    outbox.deliver()


def work():
    """Do all waiting jobs; returns the kind and version of each that a worker did."""
    done = []
    outbox.deliver()
    while (job := claim()) is not None:
        done.append((job.kind, job.version.ref))
        finish(job)
    return done


def kinds(done):
    return sorted(kind for kind, _ in done)


def publish(owner, model=None, *, card=factories.CARD, contents=None):
    """Publish a version without doing its jobs."""
    return factories.submitted(owner, model, contents or {"model.onnx": MODEL}, card=card)


def state_of(version):
    return Version.objects.get(pk=version.pk).state


def jobs_of(version):
    return Job.objects.filter(version=version)


def hide(version, **changes):
    RegisteredModel.objects.filter(pk=version.model_id).update(**changes)


def measure(host=HOST, most=None, **record):
    """Time what waits, as a worker of a host would, or some of it; the jobs that it did."""
    done = []
    while len(done) != most and (
        job := services.claim("b1", ["bench-cpu"], host=host, features=WorkerFeatures.read(BENCH))
    ):
        made = timed.record(job.subject, **record)
        report = record_checks.vetted(job, timed.report(made))
        object.__setattr__(report, "versions", dict(BENCH["versions"]))
        assert services.finish(job, report), report.findings
        outbox.deliver()
        done.append(job)
    return done
