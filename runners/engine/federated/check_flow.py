"""Task "federated-check": contributions of a round, each judged by itself, none harming another."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from hub.protocol.federated import Part
from runners.engine.federated import judging, mapping
from runners.engine.federated.judging import Wanted
from runners.engine.federated.updates import Weights
from runners.engine.jobs import JobError
from runners.engine.runs.shared_runs import told

if TYPE_CHECKING:
    from runners.engine.jobs import Job
    from runners.engine.reports import Report

# So many contributions share a child: what one costs in time is then taken from few.
_TOGETHER = 64


def run(job: Job) -> Report:
    """Judge every contribution that the options name; the report holds one answer for each."""
    parts, rows = read_options(job)
    answers: list[dict[str, Any]] = []
    for first in range(0, len(rows), _TOGETHER):
        job.tell(5 + 90 * first // len(rows), "contributions")
        answers += _judge(job, parts, rows[first : first + _TOGETHER])
    return job.report("passed", facts={"contributions": answers})


def read_options(job: Job) -> tuple[list[Part], list[dict[str, Any]]]:
    """Read the layout and the contributions that the hub asks about."""
    options = job.request.options
    try:
        parts = [Part.from_json(one) for one in options["tensors"]]
        rows = list(options["contributions"])
    except (KeyError, TypeError):
        raise JobError("engine-error", "The job has no layout or no contributions.") from None
    return parts, rows


def _judge(job: Job, parts: list[Part], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    entry, files = job.request.entry, job.request.files
    wanted = [entry, *(row["path"] for row in rows)]
    with mapping.mapped(files, wanted) as buffers:
        limits = job.request.limits.grown_by(mapping.size_of(buffers))
        ending = job.stage(
            "contributions",
            functools.partial(_answers, buffers, parts, rows, entry),
            wall_seconds=limits.wall_seconds,
            cpu_seconds=limits.cpu_seconds,
            memory_bytes=limits.memory_bytes,
        )
    if ending.kind != "answered" or len(ending.answer) != len(rows):
        raise JobError("engine-error", f"Contributions were not judged: {told(ending, job)}")
    answers: list[dict[str, Any]] = ending.answer
    return answers


def _answers(
    buffers: dict[str, Any], parts: list[Part], rows: list[dict[str, Any]], entry: str
) -> list[dict[str, Any]]:
    base = Weights(buffers[entry])
    return [
        judging.judge(
            Wanted(row["id"], row["encoding"], row["sha256"], row.get("norm_limit")),
            buffers[row["path"]],
            base,
            parts,
        ).to_json()
        for row in rows
    ]
