"""Tasks "federated-schema", "federated-check" and "federated-aggregate" of a training.

A model is split into what a training exchanges and what not; contributions of a round are judged,
none harming another; the accepted ones become the next weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx

from hub.protocol import federated
from hub.protocol.federated import Part
from hub.protocol.problems import InvalidRequest
from hub.protocol.training_rules import Rules
from runners.engine.confine.children import Ending, EndingKind
from runners.engine.federated import aggregation, judging, mapping, splitting
from runners.engine.federated.aggregation import Member, Round
from runners.engine.federated.judging import Contribution
from runners.engine.federated.updates import Update, Weights
from runners.engine.jobs import Job, JobError, mapping_of, scan_of
from runners.engine.reports import Finding, Report, Scan

_SCHEMA_ROOM_BYTES = 16 << 20
_MEMORY_COPIES = 4
# So many contributions share a child: what one costs in time is then taken from few.
_TOGETHER = 64
_ROOM_BYTES = 1 << 20
_SEED_BYTES = 32

Buffers = dict[str, mapping.Buffer]


def schema(job: Job) -> Report:
    """Split a model into a skeleton and its exchangeable weights, or refuse it with findings."""
    patterns = _patterns(job)
    job.tell(5, "scan")
    paths = [job.request.entry, *job.scan()]
    job.lay_out(paths)
    size = job.size(*paths)
    job.tell(40, "schema")
    model, out = job.model, job.out
    failure = "The model cannot be split into graph and weights"
    answer = job.answer(
        "schema",
        lambda: _split(model, out, patterns),
        Finding("training-schema-failed", "error", failure),
        memory_bytes=job.limits().memory_bytes + _MEMORY_COPIES * size,
        file_bytes=size + _SCHEMA_ROOM_BYTES,
    )
    scan = scan_of(answer)
    if scan.is_refused:
        return job.report("failed", scan.findings, scan.facts)
    outputs = [federated.MODEL, federated.WEIGHTS]
    return job.report("passed", scan.findings, scan.facts, outputs=outputs)


def _patterns(job: Job) -> dict[str, list[str]]:
    """The patterns of tensor names that the maintainer gave for each role."""
    patterns = job.request.options.get("roles", {})
    if not isinstance(patterns, dict) or not all(
        role in federated.ROLES
        and isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        for role, names in patterns.items()
    ):
        raise JobError("engine-error", "The job's roles are not lists of patterns.")
    return patterns


def _split(path: Path, target: Path, patterns: dict[str, list[str]]) -> Scan:
    split = splitting.split(onnx.load(path, load_external_data=False), patterns)
    scan = Scan(split.findings, {})
    if scan.is_refused:
        return scan
    return replace(scan, facts=splitting.write(split, path.parent, target))


def check(job: Job) -> Report:
    """Judge every contribution that the options name; the report holds one answer for each."""
    parts, contributions = _read_options(job, is_counted=False)
    entry, count = job.request.entry, len(contributions)
    answers: list[dict[str, Any]] = []
    for first in range(0, count, _TOGETHER):
        job.tell(5 + 90 * first // count, "contributions")
        some = contributions[first : first + _TOGETHER]
        task = functools.partial(_judge, entry, parts, some)
        ending = _with_files(
            job, "contributions", [entry, *(contribution.path for contribution in some)], task
        )
        if ending.kind != EndingKind.ANSWERED or len(ending.answer) != len(some):
            raise JobError("engine-error", f"Contributions were not judged: {job.cause(ending)}")
        answers += ending.answer
    return job.report("passed", facts={"contributions": answers})


def _judge(
    entry: str, parts: list[Part], contributions: list[Contribution], buffers: Buffers
) -> list[dict[str, Any]]:
    base = Weights(buffers[entry])
    return [
        judging.judge(contribution, buffers[contribution.path], base, parts).to_json()
        for contribution in contributions
    ]


def aggregate(job: Job) -> Report:
    """Make the next weights out of a round; one that its own rules do not allow fails."""
    parts, contributions = _read_options(job, is_counted=True)
    try:
        rules = Rules.from_json(job.request.options.get("rules"))
    except InvalidRequest as error:
        raise JobError("engine-error", f"The job's rules cannot be read: {error}") from None
    seed = _seed(job, rules)
    entry, files, out = job.request.entry, job.request.files, job.out
    memory = [aggregation.OPTIMISER] if aggregation.OPTIMISER in files else []

    def work(buffers: Buffers) -> dict[str, Any]:
        base = Weights(buffers[entry])
        members = [_member(contribution, buffers, base, parts) for contribution in contributions]
        history = job.request.options.get("norm_history", ())
        optimiser = Weights(buffers[aggregation.OPTIMISER]) if memory else None
        return aggregation.aggregate(
            Round(parts, rules, base, members, history, seed, optimiser), out
        )

    job.tell(10, "aggregate")
    paths = [entry, *memory, *(contribution.path for contribution in contributions)]
    ending = _with_files(job, "aggregate", paths, work, file_copies=3)
    if ending.kind == EndingKind.RAISED and ending.answer[0] == "UnfitError":
        finding = Finding("training-round-unfit", "error", str(ending.answer[1]))
        return job.report("failed", (finding,))
    if ending.kind != EndingKind.ANSWERED:
        raise JobError("engine-error", f"The round was not aggregated: {job.cause(ending)}")
    names = [federated.WEIGHTS, aggregation.OPTIMISER]
    outputs = [name for name in names if (out / name).exists()]
    return job.report("passed", facts=mapping_of(ending.answer), outputs=outputs)


def _seed(job: Job, rules: Rules) -> bytes:
    try:
        seed = bytes.fromhex(job.request.options.get("seed", ""))
    except (TypeError, ValueError):
        seed = b""
    if rules.noise_multiplier and len(seed) < _SEED_BYTES:
        raise JobError("engine-error", "Noise needs a seed of 32 bytes.")
    return seed


def _member(
    contribution: Contribution, buffers: Buffers, base: Weights, parts: list[Part]
) -> Member:
    weights = Weights(buffers[contribution.path])
    federated.expect(weights.header, parts, contribution.encoding)
    update = Update(weights, contribution.encoding, base)
    norm, statistic = contribution.norm, contribution.statistic_norm
    if norm is None:
        norm, statistic = judging.norms(update, parts)
    norms = {federated.TRAINABLE: norm, federated.STATISTIC: statistic}
    return Member(contribution.id, update, contribution.examples, norms, contribution.staleness)


def _read_options(job: Job, *, is_counted: bool) -> tuple[list[Part], list[Contribution]]:
    """Read the layout and the contributions that the hub asks about."""
    options = job.request.options
    try:
        parts = [Part.from_json(row) for row in options["tensors"]]
        rows = options["contributions"]
        return parts, [Contribution.from_json(row, is_counted=is_counted) for row in rows]
    except (KeyError, TypeError, AttributeError):
        raise JobError("engine-error", "The job has no layout or no contributions.") from None
    except ValueError as error:
        raise JobError("engine-error", str(error)) from None


def _with_files(
    job: Job, name: str, paths: list[str], task: Callable[[Buffers], Any], *, file_copies: int = 0
) -> Ending:
    """Run a stage on mapped files; `file_copies` limits writes in multiples of the first file."""
    with mapping.mapped(job.request.files, paths) as buffers:
        limits = job.request.limits.grown_by(mapping.size_of(buffers))
        file_bytes = file_copies * len(buffers[paths[0]]) + _ROOM_BYTES
        return job.stage(
            name,
            functools.partial(task, buffers),
            wall_seconds=limits.wall_seconds,
            cpu_seconds=limits.cpu_seconds,
            memory_bytes=limits.memory_bytes,
            file_bytes=file_bytes if file_copies else limits.file_bytes,
        )


FLOWS = {"federated-aggregate": aggregate, "federated-check": check, "federated-schema": schema}
