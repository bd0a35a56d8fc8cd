"""Task "difference": what one graph has that another has not, node by node.

The later model is the job's entry; the earlier one lies under `options["against"]`, beside its
external data.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runners.engine.jobs import Job, JobError, mapping_of
from runners.engine.reports import Finding
from runners.engine.runs.shared_runs import told

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.reports import Report


def run(job: Job) -> Report:
    """Compare the entry with the model that it is held against."""
    before = str(job.request.options.get("against", ""))
    if before not in job.request.files:
        raise JobError("engine-error", "A comparison needs a second model.")
    after = job.request.entry
    earlier = Job(replace(job.request, entry=before), job.layers, job.versions, job.stop, job.tell)
    needed = [after, *job.scan(), before, *earlier.scan()]
    folder = job.lay_out(needed)
    job.tell(30, "difference")
    # Inference is native code over what strangers wrote: where it dies, shapes are not compared.
    for infer in (True, False):
        task = functools.partial(_compare, folder, before, after, infer=infer)
        ending = job.stage("difference", task, writes=False)
        if ending.kind == "answered":
            return job.report("passed", (), mapping_of({"facts": ending.answer}, "facts"))
        job.tell(60, "difference")
    words = f"The graphs cannot be compared: {told(ending, job)}"
    return job.report("failed", (Finding("difference-failed", "error", words),))


def _compare(folder: Path, before: str, after: str, *, infer: bool) -> dict[str, Any]:
    # Only a child may hold uploads and the libraries together.
    from runners.engine.graphs import comparison  # noqa: PLC0415

    return comparison.compare(folder, before, after, infer=infer)
