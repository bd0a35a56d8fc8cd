"""Task "federated-aggregate": accepted contributions of a round become the next weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hub.protocol import federated
from hub.protocol.problems import InvalidRequest
from hub.protocol.training_rules import Rules
from runners.engine.federated import aggregation, judging, mapping
from runners.engine.federated.aggregation import Member, Round
from runners.engine.federated.check_flow import read_options
from runners.engine.federated.updates import Update, Weights
from runners.engine.jobs import JobError, mapping_of
from runners.engine.reports import Finding
from runners.engine.runs.shared_runs import told

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hub.protocol.federated import Part
    from runners.engine.jobs import Job
    from runners.engine.reports import Report

_ROOM_BYTES = 1 << 20
_SEED_BYTES = 32


def run(job: Job) -> Report:
    """Aggregate a round; a round that its own rules do not allow fails."""
    parts, rows = read_options(job)
    rules = _rules(job)
    seed = _seed(job, rules)
    entry, files, out = job.request.entry, job.request.files, job.out
    keeps = [aggregation.OPTIMISER] if aggregation.OPTIMISER in files else []
    wanted = [entry, *keeps, *(row["path"] for row in rows)]
    job.tell(10, "aggregate")
    with mapping.mapped(files, wanted) as buffers:
        size = mapping.size_of(buffers)
        limits = job.request.limits.grown_by(size)

        def work() -> dict[str, Any]:
            return _aggregate(job, buffers, parts, rules, seed, out)

        ending = job.stage(
            "aggregate",
            work,
            wall_seconds=limits.wall_seconds,
            cpu_seconds=limits.cpu_seconds,
            memory_bytes=limits.memory_bytes,
            file_bytes=3 * len(buffers[entry]) + _ROOM_BYTES,
        )
    if ending.kind == "raised" and ending.answer[0] == "UnfitError":
        finding = Finding("training-round-unfit", "error", str(ending.answer[1]))
        return job.report("failed", (finding,))
    if ending.kind != "answered":
        raise JobError("engine-error", f"The round was not aggregated: {told(ending, job)}")
    facts = mapping_of({"facts": ending.answer}, "facts")
    names = [federated.WEIGHTS, aggregation.OPTIMISER]
    outputs = [{"name": name} for name in names if (out / name).exists()]
    return job.report("passed", facts=facts, outputs=outputs)


def _rules(job: Job) -> Rules:
    try:
        return Rules.from_json(job.request.options.get("rules"))
    except InvalidRequest as error:
        raise JobError("engine-error", f"The job's rules cannot be read: {error}") from None


def _seed(job: Job, rules: Rules) -> bytes:
    try:
        seed = bytes.fromhex(job.request.options.get("seed", ""))
    except (TypeError, ValueError):
        seed = b""
    if rules.noise_multiplier and len(seed) < _SEED_BYTES:
        raise JobError("engine-error", "Noise needs a seed of 32 bytes.")
    return seed


def _aggregate(
    job: Job,
    buffers: dict[str, Any],
    parts: Sequence[Part],
    rules: Rules,
    seed: bytes,
    out: Path,
) -> dict[str, Any]:
    entry, options = job.request.entry, job.request.options
    rows = options["contributions"]
    base = Weights(buffers[entry])
    members = [_member(row, buffers, base, parts) for row in rows]
    kept = buffers.get(aggregation.OPTIMISER)
    return aggregation.aggregate(
        Round(
            parts,
            rules,
            base,
            members,
            options.get("norm_history", ()),
            seed,
            None if kept is None else Weights(kept),
        ),
        out,
    )


def _member(
    row: dict[str, Any], buffers: dict[str, Any], base: Weights, parts: Sequence[Part]
) -> Member:
    weights = Weights(buffers[row["path"]])
    federated.expect(weights.header, parts, row["encoding"])
    update = Update(weights, row["encoding"], base)
    if row.get("norm") is None:
        norm, statistic = judging.norms(update, parts)
    else:
        norm, statistic = row["norm"], row.get("statistic_norm", 0.0)
    norms = {federated.TRAINABLE: norm, federated.STATISTIC: statistic}
    return Member(row["id"], update, row["n"], norms, row.get("staleness", 0))
