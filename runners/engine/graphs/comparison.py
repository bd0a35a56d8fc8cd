"""Task "difference": two graphs compared node by node: added, removed, changed, and distances.

The later model is the job's entry; the earlier one lies under `options["against"]`, beside its
external data. Both are read as skeletons; of the weights only one pair is in memory at a time.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.engine.confine.children import EndingKind
from runners.engine.graphs import matching, sides
from runners.engine.graphs.changes import Change
from runners.engine.graphs.sides import Placed, Side
from runners.engine.jobs import Job, JobError, mapping_of
from runners.engine.onnx_files import describe, nodes, text
from runners.engine.onnx_files.vocabulary import DEFAULT_DOMAIN
from runners.engine.reports import Finding, Report

if TYPE_CHECKING:
    import onnx


FORMAT = 1
LISTED_NODES = 500
LISTED_OUTPUTS = 2000
LISTED_CHANGES = 16
CHANGED, ALONE = 1, 2


@dataclass(frozen=True, slots=True)
class Recognised:
    """A node of both graphs, how it was matched, and what changed."""

    earlier: Placed
    later: Placed
    how: str
    changes: list[Change]


def run(job: Job) -> Report:
    """Compare the entry with the earlier model."""
    before = str(job.request.options.get("against", ""))
    if before not in job.request.files:
        raise JobError("engine-error", "A comparison needs a second model.")
    after = job.request.entry
    folder = job.lay_out([after, *job.scan(), before, *job.on(before).scan()])
    job.tell(30, "difference")
    # Shape inference is native code on untrusted data: if it crashes, shapes are not compared.
    for infer in (True, False):
        task = functools.partial(compare, folder, before, after, infer=infer)
        ending = job.stage("difference", task, writes=False)
        if ending.kind == EndingKind.ANSWERED:
            return job.report("passed", (), mapping_of(ending.answer))
        job.tell(60, "difference")
    words = f"The graphs cannot be compared: {job.cause(ending)}"
    return job.report("failed", (Finding("difference-failed", "error", words),))


def compare(folder: Path, before: str, after: str, *, infer: bool = True) -> dict[str, Any]:
    """The difference between two models under ``folder``, as facts (see `_facts`)."""
    with (
        sides.opened(folder, before, infer=infer) as old,
        sides.opened(folder, after, infer=infer) as new,
    ):
        pairs = matching.match(old, new)
        weights = sides.Weights(old, new)
        rows = []
        for later in new.nodes:
            if pair := pairs.get(later.index):
                earlier = old.nodes[pair.earlier]
                changes = _changes(earlier, later, pairs, weights)
                rows.append(Recognised(earlier, later, pair.how, changes))
        return _facts(old, new, rows, weights)


def _facts(old: Side, new: Side, rows: list[Recognised], weights: sides.Weights) -> dict[str, Any]:
    """Counts are of all nodes; lists have at most `LISTED_NODES` entries."""
    earlier, later = {row.earlier.index for row in rows}, {row.later.index for row in rows}
    removed = [node for node in old.nodes if node.index not in earlier]
    added = [node for node in new.nodes if node.index not in later]
    changed = [row for row in rows if row.changes]
    marks = dict.fromkeys((row.earlier.index for row in changed), CHANGED)
    marks |= dict.fromkeys((node.index for node in removed), ALONE)
    later_marks = dict.fromkeys((row.later.index for row in changed), CHANGED)
    later_marks |= dict.fromkeys((node.index for node in added), ALONE)
    return {
        "format": FORMAT,
        "counts": {
            "before": len(old.nodes),
            "after": len(new.nodes),
            "added": len(added),
            "removed": len(removed),
            "changed": len(changed),
            "renamed": sum(row.earlier.proto.name != row.later.proto.name for row in rows),
            **{f"by_{how}": n for how, n in Counter(row.how for row in rows).items()},
        },
        "inferred": old.inferred and new.inferred,
        "added": [_row(node) for node in added[:LISTED_NODES]],
        "removed": [_row(node) for node in removed[:LISTED_NODES]],
        "changed": [
            _row(row.later)
            | ({"was": _name(row.earlier)} if _name(row.earlier) != _name(row.later) else {})
            | {"by": row.how, "changes": _json(row.changes)}
            | ({"more": more} if (more := len(row.changes) - LISTED_CHANGES) > 0 else {})
            for row in changed[:LISTED_NODES]
        ],
        "model": _json(_of_models(old.model, new.model)),
        "weights": weights.summary(),
        "outputs": _outputs(rows),
        "before": _barcode(old, marks),
        "after": _barcode(new, later_marks),
    }


def _outputs(rows: list[Recognised]) -> list[tuple[str, str]]:
    """First outputs of matched nodes that were renamed, which identify nodes in a drawing.

    Those of changed nodes come first; only of the main graphs, since names in functions and
    branches may repeat.
    """
    ordered = sorted(rows, key=lambda row: not row.changes)
    nodes_of = [(row.earlier, row.later) for row in ordered]
    named = [
        (earlier.outputs[0][0], later.outputs[0][0])
        for earlier, later in nodes_of
        if earlier.outputs and later.outputs and not earlier.path and not later.path
    ]
    return [(was, now) for was, now in named if was != now][:LISTED_OUTPUTS]


def _row(node: Placed) -> dict[str, Any]:
    outputs = [[name, kind] for name, kind in node.outputs[:1]]
    return {"name": _name(node), "op": text.clip(node.proto.op_type, nodes.NAME_CHARACTERS)} | {
        key: value
        for key, value in (("path", node.path), ("domain", node.domain), ("out", outputs))
        if value
    }


def _name(node: Placed) -> str:
    return text.clip(node.proto.name, nodes.NAME_CHARACTERS)


def _barcode(side: Side, marks: dict[int, int]) -> dict[str, Any]:
    """The barcode of a graph, without functions, and the strongest mark inside each cell."""
    sequence = [node for node in side.nodes if not node.path.startswith("function ")]
    band = describe.barcode(bytes(nodes.category(node.proto) for node in sequence))
    cells = len(band["cells"])
    # Cells divide the sequence of nodes evenly, as `describe.barcode` does; one changed node in a
    # cell marks it, and a node without a counterpart outweighs a changed one.
    edges = [cell * len(sequence) // cells for cell in range(cells + 1)] if cells else [0]
    strongest = [
        max(marks.get(node.index, 0) for node in sequence[edges[cell] : edges[cell + 1]])
        for cell in range(cells)
    ]
    return band | {"marks": strongest}


def _changes(
    earlier: Placed, later: Placed, pairs: dict[int, matching.Pair], weights: sides.Weights
) -> list[Change]:
    """The changes of a node: its operator, attributes, inputs, weights, shapes."""
    changes: list[Change] = []
    if earlier.kind != later.kind:
        changes.append(Change("operator", "", earlier.kind, later.kind))
    changes += _attributes(earlier, later, weights)
    changes += _inputs(earlier, later, pairs, weights)
    changes += [
        Change("shape", name, was, now)
        for (_, was), (name, now) in zip(earlier.outputs, later.outputs, strict=False)
        if was and now and was != now
    ]
    if len(earlier.outputs) != len(later.outputs):
        counts = str(len(earlier.outputs)), str(len(later.outputs))
        changes.append(Change("outputs", "", *counts))
    return changes


def _attributes(earlier: Placed, later: Placed, weights: sides.Weights) -> list[Change]:
    was = {attribute.name: attribute for attribute in earlier.proto.attribute}
    now = {attribute.name: attribute for attribute in later.proto.attribute}
    changes = []
    for name in sorted(was.keys() | now.keys()):
        before, other = was.get(name), now.get(name)
        pairs = [nodes.words_of(side) if side is not None else ("", "") for side in (before, other)]
        kinds, words = (tuple(pair[place] for pair in pairs) for place in (0, 1))
        label = text.clip(name, nodes.NAME_CHARACTERS)
        # With the types, since readers without access to the weights see only these.
        change = Change("attribute", label, words[0], words[1], kinds)
        if before is None or other is None:
            changes.append(change)
        elif sides.stored_in(before) is not None or sides.stored_in(other) is not None:
            distance = weights.distance(before, other)
            if not distance.equal:
                changes.append(replace(change, has_norm=True, norm=distance.norm))
        elif words[0] != words[1] or sides.plain(before) != sides.plain(other):
            changes.append(change)
    return changes


def _inputs(
    earlier: Placed, later: Placed, pairs: dict[int, matching.Pair], weights: sides.Weights
) -> list[Change]:
    changes = []
    for place in range(max(len(earlier.inputs), len(later.inputs))):
        was = earlier.inputs[place] if place < len(earlier.inputs) else sides.NOTHING
        now = later.inputs[place] if place < len(later.inputs) else sides.NOTHING
        # Weights are compared by their values: a weight that was renamed alone is no change.
        if was.stored is not None and now.stored is not None:
            distance = weights.distance(was.stored, now.stored)
            change = Change("weight", now.name, was.type, now.type)
            if was.type != now.type:
                changes.append(change)
            elif not distance.equal:
                changes.append(replace(change, has_norm=True, norm=distance.norm))
        elif not _same_source(was, now, pairs):
            changes.append(Change("input", str(place), was.label, now.label))
    return changes


def _same_source(was: sides.Input, now: sides.Input, pairs: dict[int, matching.Pair]) -> bool:
    # Values of nodes have one source if the nodes were matched with each other, whatever the names
    # are; inputs of the graph if they stand in the same place.
    if was.maker is not None and now.maker is not None:
        pair = pairs.get(now.maker)
        return pair is not None and pair.earlier == was.maker and was.output == now.output
    origins = (was.maker, now.maker, was.stored, now.stored)
    return all(origin is None for origin in origins) and was.place == now.place


def _of_models(old: onnx.ModelProto, new: onnx.ModelProto) -> list[Change]:
    """The changes of the models as a whole: opsets, inputs and outputs."""
    changes = []
    sets = [
        {opset.domain or DEFAULT_DOMAIN: str(opset.version) for opset in model.opset_import}
        for model in (old, new)
    ]
    ports = [
        {
            f"{what} {text.clip(value.name, nodes.NAME_CHARACTERS)}": nodes.typed(value.type)
            for what, values in (("input", model.graph.input), ("output", model.graph.output))
            for value in values
            if value.name not in {tensor.name for tensor in model.graph.initializer}
        }
        for model in (old, new)
    ]
    versions = [{"IR version": str(model.ir_version)} for model in (old, new)]
    for what, (was, now) in (("model", versions), ("opset", sets), ("port", ports)):
        for name in sorted(was.keys() | now.keys()):
            if was.get(name, "") != now.get(name, ""):
                label = text.clip(name, nodes.NAME_CHARACTERS)
                changes.append(Change(what, label, was.get(name, ""), now.get(name, "")))
    return changes


def _json(changes: list[Change]) -> list[dict[str, Any]]:
    return [change.to_json() for change in changes[:LISTED_CHANGES]]
