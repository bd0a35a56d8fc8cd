"""Data sets with splits, cards that claim results on them, and how workers end evaluations."""

from __future__ import annotations

from hub.protocol import pairs
from runners.engine.reports import Report
from runners.models import Job
from runners.queue import services
from runners.worker_features import WorkerFeatures
from tests import deliveries, factories

SPLIT = {
    "name": "test",
    "task": "classification",
    "reader": "csv",
    "files": ["test.csv"],
    "inputs": [{"name": "x", "columns": ["weight"]}],
    "target": {"column": "kind", "labels": ["0", "1"]},
}
DIGEST = "a" * 64
FEATURES = {
    "runtimes": {"onnxruntime": "1.31.1"},
    "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
}


def card(*claims, split="test", dataset="stones", extra=""):
    """A card that claims (metric, value) pairs on a split of a data set."""
    rows = "".join(f"\n          - {{type: {name}, value: {value}}}" for name, value in claims)
    return f"""---
license: mit
{extra}
model-index:
  - name: net
    results:
      - task: {{type: tabular-classification}}
        dataset: {{type: {dataset}, name: {dataset.title()}, split: {split}}}
        metrics:{rows}
---
# A model
"""


def stones(owner, **split):
    """The data set `stones` with one split."""
    version = factories.dataset_version(owner, splits=[SPLIT | split])
    deliveries.deliver()
    return version


def waiting(**of):
    return list(Job.objects.filter(kind="evaluation", state=Job.State.QUEUED, **of))


def report(
    figures=(("accuracy", 0.8, 0.7, 0.9),),
    *,
    skipped=None,
    findings=(),
    outcome="passed",
    right=(),
):
    """What a worker answers; figures are (metric, value, low, high), ``right`` numbers of rows."""
    bits = sum(1 << (55 - row) for row in right).to_bytes(7)
    facts = {
        "method": "2",
        "runtime": "onnxruntime",
        "runtime_version": "1.31.1",
        "split": "test",
        "rows": 50,
        "seed": 7,
        "predictions_sha256": DIGEST,
        "right_rows": pairs.write(bits) if right else "",
        "skipped": skipped or {},
    }
    names = ("metric", "value", "low", "high")
    return Report(
        task="evaluation",
        versions={"onnx": "1.23.2", "onnxruntime": "1.31.1"},
        subject="0" * 64,
        outcome=outcome,
        findings=tuple(findings),
        facts=facts if outcome == "passed" else {},
        measures=[
            dict(zip(names, figure, strict=True))
            | {"interval_method": "Clopper-Pearson" if figure[0] == "accuracy" else ""}
            for figure in figures
        ]
        if outcome == "passed"
        else [],
        seconds=0.2,
    )


def end(job, of=None):
    """Claim and finish an evaluation as a worker would."""
    taken = services.claim("w1", ["cpu"], uuid=job.pk, features=WorkerFeatures.read(FEATURES))
    assert taken is not None
    assert services.finish(taken, of or report())
    deliveries.deliver()
