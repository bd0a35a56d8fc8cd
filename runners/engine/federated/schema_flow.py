"""Task "federated-schema": what of a model travels in a training, and its two files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from hub.protocol import federated
from runners.engine.federated import splitting
from runners.engine.jobs import JobError, findings_of, is_refused, mapping_of
from runners.engine.onnx_files import staging
from runners.engine.reports import Finding
from runners.engine.runs.shared_runs import told

if TYPE_CHECKING:
    from pathlib import Path

    from runners.engine.jobs import Job
    from runners.engine.reports import Report

_ROOM_BYTES = 16 << 20
_MEMORY_COPIES = 4


def run(job: Job) -> Report:
    """Split a model, or refuse it with findings."""
    asked = _asked(job)
    job.tell(5, "scan")
    needed = [job.request.entry, *job.scan()]
    job.lay_out(needed)
    size = sum(staging.sizes({path: job.request.files[path] for path in needed}).values())
    job.tell(40, "schema")
    model, out = job.model, job.out
    ending = job.stage(
        "schema",
        lambda: _work(model, out, asked),
        memory_bytes=job.limits().memory_bytes + _MEMORY_COPIES * size,
        file_bytes=size + _ROOM_BYTES,
    )
    if ending.kind != "answered":
        words = f"The model cannot be split into graph and weights: {told(ending, job)}"
        return job.report("failed", (Finding("training-schema-failed", "error", words),))
    findings = findings_of(ending.answer)
    facts = mapping_of(ending.answer, "facts")
    if is_refused(findings):
        return job.report("failed", findings, facts)
    outputs = [{"name": federated.MODEL}, {"name": federated.WEIGHTS}]
    return job.report("passed", findings, facts, outputs=outputs)


def _asked(job: Job) -> dict[str, list[str]]:
    asked = job.request.options.get("roles", {})
    if not isinstance(asked, dict) or not all(
        role in federated.ROLES
        and isinstance(patterns, list)
        and all(isinstance(pattern, str) for pattern in patterns)
        for role, patterns in asked.items()
    ):
        raise JobError("engine-error", "The job's roles are not lists of patterns.")
    return asked


def _work(path: Path, target: Path, asked: dict[str, list[str]]) -> dict[str, Any]:
    divided = splitting.split(onnx.load(path, load_external_data=False), asked)
    refused = any(finding.severity == "error" for finding in divided.findings)
    facts = {} if refused else splitting.write(divided, path.parent, target)
    return {"findings": [finding.to_json() for finding in divided.findings], "facts": facts}
