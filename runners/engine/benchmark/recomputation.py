"""Task "recompute": the outputs of a record's inputs, computed again by a worker of the hub.

The inputs follow from the challenge of a record and from the shapes that it names. The child is not
told what the record says of its outputs: `output_agreement` compares the two, outside.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hub.protocol import stored
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine.benchmark import outputs
from runners.engine.jobs import Job
from runners.engine.onnx_files import datasets
from runners.engine.reports import Finding, Report

_TIMED_SECONDS, _MOST_RUNS = 0.5, 50
_FAILURE = Finding("not-recomputed", "error", "The outputs could not be recomputed")


def run(job: Job) -> Report:
    """Compute the outputs for each of the `parts` in the options, in their order.

    A row of `facts["outputs"]` has `tensors`, `repeats` and `fastest_ms`, on one thread.
    """
    external = job.scan()
    beside = datasets.paths(job.request.files, job.request.entry)
    job.lay_out([job.request.entry, *external, *beside])
    declared = job.request.options.get("inputs")
    rows = [
        job.answer("recompute", partial(_compute, job.model, inputs, declared), _FAILURE)
        for inputs in stored.rows(job.request.options.get("parts"))
    ]
    return job.report("passed", facts={"outputs": rows})


def _compute(path: Path, inputs: Mapping[str, Any], declared: Any) -> dict[str, Any]:
    from runners.engine import runtimes  # noqa: PLC0415 - only children load it
    from runners.engine.benchmark import feeds  # noqa: PLC0415

    values = feeds.of_record(
        path,
        list(stored.rows(inputs.get("ports"))),
        stored.text(inputs.get("source")),
        stored.count(inputs.get("seed")),
        declared,
    )
    infer = runtimes.of(ONNXRUNTIME).open(path)
    first, again = infer(values), infer(values)
    fastest, runs, until = math.inf, 0, time.monotonic() + _TIMED_SECONDS
    while runs < _MOST_RUNS and (not runs or time.monotonic() < until):
        began = time.perf_counter()
        infer(values)
        fastest = min(fastest, time.perf_counter() - began)
        runs += 1
    return {
        "tensors": outputs.tensors(first),
        "repeats": outputs.fingerprint(first).repeats(outputs.fingerprint(again)),
        "fastest_ms": fastest * 1e3,
    }
