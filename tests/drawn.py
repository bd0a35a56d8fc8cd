"""Ended jobs that drew a graph or compared two, with what the engine really makes of a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from registry.storage.files import store
from runners.engine.costs import METHOD, functions
from runners.engine.graphs import comparison, skeleton
from runners.engine.onnx_files import nodes
from runners.engine.reports import Report
from runners.graphs import differences, networks
from runners.queue import services
from tests import deliveries, proven


def draw(version, variant=None):
    """The graph of a version's variant, made as a worker makes it, but in this process."""
    variant = variant or version.variants.get(name="default")
    given = {"sha256": variant.entry.blob_id, "method": METHOD}
    job = proven.waiting(version, networks.KIND, entry=variant.entry.path, **given)
    job = services.claim("drawer", [job.queue], uuid=str(job.pk))
    assert job is not None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        facts = skeleton.write(store().path(variant.entry.blob_id), folder / "skeleton.onnx")
        facts |= nodes.write(folder / "skeleton.onnx", folder / "nodes.json", infer=True)
        facts |= functions.write(folder / "skeleton.onnx", folder / "costs.json")
        outputs = [
            proven._output(name, (folder / name).read_bytes())
            for name in (networks.SKELETON, networks.NODES, networks.COSTS)
        ]
    return _finish(job, facts, outputs)


def compare(before, after):
    """The difference between two variants that was asked for, computed in this process."""
    job = differences.of(before, after)
    job = services.claim("drawer", [job.queue], uuid=str(job.pk))
    assert job is not None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, variant in (("before.onnx", before), ("after.onnx", after)):
            (folder / name).write_bytes(Path(store().path(variant.entry.blob_id)).read_bytes())
        facts = comparison.compare(folder, "before.onnx", "after.onnx")
    return _finish(job, facts, [])


def _finish(job, facts, outputs):
    report = Report(
        task=job.kind,
        versions={"onnx": "1.23.2"},
        subject="0" * 64,
        outcome="passed",
        facts=facts,
        outputs=outputs,
    )
    services.finish(job, report)
    deliveries.deliver()
    job.refresh_from_db()
    return job
