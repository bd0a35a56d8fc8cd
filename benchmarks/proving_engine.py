"""The engine's part of `benchmarks/proving.py`: upgrade and conformance, without a hub.

The flows of both jobs run in this process as they do in a fork server, each stage in a confined
child. The processor time of a job is that of this process and of all its children.
"""

from __future__ import annotations

import gc
import json
import resource
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

# What the two jobs may use in a hub with default settings: seconds and bytes.
JOB_SECONDS, STAGE_SECONDS, CHILD_BYTES, WRITTEN_BYTES = 600.0, 120, 4 << 30, 20 << 30


class EngineJob(NamedTuple):
    """A job: its processor seconds, those of each kind of stage, and the strengths it proved."""

    seconds: float
    stages: dict[str, float]
    strength: str


def read(text: str) -> dict[str, EngineJob]:
    """The answer of `work`."""
    return {task: EngineJob(*row) for task, row in json.loads(text.splitlines()[-1]).items()}


def work(model: str, made: str, store: str) -> None:
    """Do both jobs on a folder and print them; upgraded files go to the folder `made`."""
    import onnxruntime

    from hub.protocol.runtime_builds import PORTABLE
    from hub.protocol.vocabularies import ONNXRUNTIME
    from runners.engine.certificates import certificate
    from runners.engine.confine import probe
    from runners.engine.conformance.checks import CHECKS
    from runners.engine.server import server

    onnxruntime.disable_telemetry_events()
    layers = probe.probe().layers
    server.use_libraries()
    if store == "empty":
        certificate.shipped = lambda _: None
    # The comparison with the reference is a job that comes after the first evidence.
    quick = [check for check in CHECKS if check != "reference"]
    jobs = {
        "upgrade": {"portable": PORTABLE.opset},
        "conformance": {"runtime": ONNXRUNTIME, "checks": quick},
    }
    gc.collect()
    gc.freeze()
    rows = {task: _job(task, options, Path(model), Path(made), layers)
            for task, options in jobs.items()}  # fmt: skip
    print(json.dumps(rows))


def _job(
    task: str, options: dict[str, Any], model: Path, made: Path, layers: frozenset[str]
) -> EngineJob:
    from hub.protocol.proofs import Proof
    from runners.engine.confine import children
    from runners.engine.confine.isolation import Limits
    from runners.engine.jobs import Job, Request
    from runners.engine.server.tasks import FLOWS

    stages: Counter[str] = Counter()

    class TimedJob(Job):
        """A job that adds up the time of its children by the first word of their stages."""

        def stage(self, name: str, *arguments: Any, **limits: Any) -> children.Ending:
            ending = super().stage(name, *arguments, **limits)
            stages[name.split(maxsplit=1)[0]] += ending.cpu_seconds
            return ending

    limits = Limits(
        JOB_SECONDS, STAGE_SECONDS, CHILD_BYTES, 4 << 20, WRITTEN_BYTES, WRITTEN_BYTES,
        job_seconds=JOB_SECONDS,
    )  # fmt: skip
    paths = [path for path in model.rglob("*") if path.is_file()]
    files = {path.relative_to(model).as_posix(): str(path) for path in paths}
    with tempfile.TemporaryDirectory(dir=made) as place:
        scratch = Path(place)
        request = Request(task, "model.onnx", files, "0" * 64, limits, scratch, options)
        job = TimedJob(request, layers, {}, children.Stop(), lambda *_: None)
        began = _spent()
        report = job.run(FLOWS[task])
        seconds = _spent() - began
        for output in report.outputs if task == "upgrade" else ():
            (scratch / "out" / output.name).rename(made / f"{model.name}.{output.name}")
    proofs = [Proof.from_json(row["proof"]) for row in report.facts.get("variants", ())]
    return EngineJob(seconds, stages, " ".join(proof.strength for proof in proofs))


def _spent() -> float:
    """Processor seconds of this process and of its children so far."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
