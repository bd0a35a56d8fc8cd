"""Two graphs compared node by node: what was added, removed, changed, and by how much.

Both are read as skeletons; of the weights only one pair is in memory at a time.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from runners.engine.graphs import matching, sides
from runners.engine.onnx_files import describe, nodes, text
from runners.engine.onnx_files.vocabulary import DEFAULT_DOMAIN

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

    from runners.engine.graphs.sides import Placed, Side

FORMAT = 1
LISTED_NODES = 500
LISTED_OUTPUTS = 2000
LISTED_CHANGES = 16
CHANGED, ALONE = 1, 2


def compare(folder: Path, before: str, after: str, *, infer: bool = True) -> dict[str, Any]:
    """The difference between two models under ``folder``, as facts: see `_facts`."""
    with (
        sides.opened(folder, before, infer=infer) as old,
        sides.opened(folder, after, infer=infer) as new,
    ):
        pairs = matching.match(old, new)
        weights = sides.Weights(old, new)
        rows = []
        for later in new.nodes:
            pair = pairs.get(later.index)
            if pair is None:
                continue
            earlier = old.nodes[pair.earlier]
            changes = _changes(earlier, later, pairs, weights)
            rows.append((earlier, later, pair.how, changes))
        return _facts(old, new, rows, weights)


def _facts(
    old: Side,
    new: Side,
    rows: list[tuple[Placed, Placed, str, list[dict[str, Any]]]],
    weights: sides.Weights,
) -> dict[str, Any]:
    """Counts are of all nodes; lists hold at most `LISTED_NODES` and say by counts what is cut."""
    known = {earlier.index for earlier, *_ in rows}, {later.index for _, later, *_ in rows}
    removed = [one for one in old.nodes if one.index not in known[0]]
    added = [one for one in new.nodes if one.index not in known[1]]
    changed = [row for row in rows if row[3]]
    marks = {earlier.index: CHANGED for earlier, _, _, changes in rows if changes}
    marks |= {one.index: ALONE for one in removed}
    later_marks = {later.index: CHANGED for _, later, _, changes in rows if changes}
    later_marks |= {one.index: ALONE for one in added}
    return {
        "format": FORMAT,
        "counts": {
            "before": len(old.nodes),
            "after": len(new.nodes),
            "added": len(added),
            "removed": len(removed),
            "changed": len(changed),
            "renamed": sum(earlier.proto.name != later.proto.name for earlier, later, *_ in rows),
            **{f"by_{how}": n for how, n in Counter(how for *_, how, _ in rows).items()},
        },
        "inferred": old.inferred and new.inferred,
        "added": [_row(one) for one in added[:LISTED_NODES]],
        "removed": [_row(one) for one in removed[:LISTED_NODES]],
        "changed": [
            _row(later)
            | ({"was": _name(earlier)} if _name(earlier) != _name(later) else {})
            | {"by": how, "changes": changes[:LISTED_CHANGES]}
            | ({"more": len(changes) - LISTED_CHANGES} if len(changes) > LISTED_CHANGES else {})
            for earlier, later, how, changes in changed[:LISTED_NODES]
        ],
        "model": _of_models(old.model, new.model)[:LISTED_CHANGES],
        "weights": weights.summary(),
        "outputs": _outputs(rows),
        "before": _barcode(old, marks),
        "after": _barcode(new, later_marks),
    }


def _outputs(
    rows: list[tuple[Placed, Placed, str, list[dict[str, Any]]]],
) -> list[tuple[str, str]]:
    """First outputs of recognised nodes that are called otherwise: what tells them in a drawing.

    Those of changed nodes come first; of the graphs themselves alone, since names of functions and
    branches may repeat.
    """
    ordered = sorted(rows, key=lambda row: not row[3])
    named = [
        (earlier.outputs[0][0], later.outputs[0][0])
        for earlier, later, *_ in ordered
        if earlier.outputs and later.outputs and not earlier.path and not later.path
    ]
    return [(was, now) for was, now in named if was != now][:LISTED_OUTPUTS]


def _row(one: Placed) -> dict[str, Any]:
    outputs = [[name, kind] for name, kind in one.outputs[:1]]
    return {"name": _name(one), "op": text.clip(one.proto.op_type, nodes.NAME_CHARACTERS)} | {
        key: value
        for key, value in (("path", one.path), ("domain", one.domain), ("out", outputs))
        if value
    }


def _name(one: Placed) -> str:
    return text.clip(one.proto.name, nodes.NAME_CHARACTERS)


def _barcode(side: Side, marks: dict[int, int]) -> dict[str, Any]:
    """The band of a graph, without functions, and for each cell the strongest mark inside it."""
    shown = [one for one in side.nodes if not one.path.startswith("function ")]
    band = describe.barcode(bytes(nodes.category(one.proto) for one in shown))
    cells = len(band["cells"])
    edges = [cell * len(shown) // cells for cell in range(cells + 1)] if cells else [0]
    told_marks = [
        max(marks.get(one.index, 0) for one in shown[edges[cell] : edges[cell + 1]])
        for cell in range(cells)
    ]
    return band | {"marks": told_marks}


def _changes(
    earlier: Placed, later: Placed, pairs: dict[int, matching.Pair], weights: sides.Weights
) -> list[dict[str, Any]]:
    """What is other about a node: its operator, attributes, inputs, weights, shapes."""
    found: list[dict[str, Any]] = []
    if earlier.kind != later.kind:
        found.append(_change("operator", "", earlier.kind, later.kind))
    found += _attributes(earlier, later, weights)
    found += _inputs(earlier, later, pairs, weights)
    for (_, was), (name, now) in zip(earlier.outputs, later.outputs, strict=False):
        if was and now and was != now:
            found.append(_change("shape", name, was, now))
    if len(earlier.outputs) != len(later.outputs):
        counts = str(len(earlier.outputs)), str(len(later.outputs))
        found.append(_change("outputs", "", *counts))
    return found


def _attributes(earlier: Placed, later: Placed, weights: sides.Weights) -> list[dict[str, Any]]:
    was = {one.name: one for one in earlier.proto.attribute}
    now = {one.name: one for one in later.proto.attribute}
    found = []
    for name in sorted(was.keys() | now.keys()):
        one, other = was.get(name), now.get(name)
        told = [nodes.words_of(side) if side is not None else ("", "") for side in (one, other)]
        kinds, words = ([pair[place] for pair in told] for place in (0, 1))
        shown = text.clip(name, nodes.NAME_CHARACTERS)
        # What they are is told too: whoever may not have the weights is shown that alone.
        change = _change("attribute", shown, *words) | {"kinds": kinds}
        if one is None or other is None:
            found.append(change)
            continue
        stored = sides.stored_in(one) is not None or sides.stored_in(other) is not None
        if not stored:
            if words != [words[0], words[0]] or sides.plain(one) != sides.plain(other):
                found.append(change)
            continue
        distance = weights.distance(one, other)
        if not distance.equal:
            found.append(change | distance.to_json())
    return found


def _inputs(
    earlier: Placed, later: Placed, pairs: dict[int, matching.Pair], weights: sides.Weights
) -> list[dict[str, Any]]:
    found = []
    for place in range(max(len(earlier.inputs), len(later.inputs))):
        was = earlier.inputs[place] if place < len(earlier.inputs) else sides.NOTHING
        now = later.inputs[place] if place < len(later.inputs) else sides.NOTHING
        if was.stored is not None and now.stored is not None:
            distance = weights.distance(was.stored, now.stored)
            if was.type != now.type:
                found.append(_change("weight", now.name, was.type, now.type))
            elif not distance.equal:
                found.append(_change("weight", now.name, was.type, now.type) | distance.to_json())
        elif not _same_source(was, now, pairs):
            found.append(_change("input", str(place), was.shown, now.shown))
    return found


def _same_source(was: sides.Input, now: sides.Input, pairs: dict[int, matching.Pair]) -> bool:
    if was.maker is not None and now.maker is not None:
        pair = pairs.get(now.maker)
        return pair is not None and pair.earlier == was.maker and was.output == now.output
    return (
        was.maker is None
        and now.maker is None
        and was.stored is None
        and now.stored is None
        and was.place == now.place
    )


def _of_models(old: onnx.ModelProto, new: onnx.ModelProto) -> list[dict[str, Any]]:
    """What is other about the models as wholes: operator sets, inputs and outputs."""
    found = []
    sets = [
        {one.domain or DEFAULT_DOMAIN: str(one.version) for one in model.opset_import}
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
                shown = text.clip(name, nodes.NAME_CHARACTERS)
                found.append(_change(what, shown, was.get(name, ""), now.get(name, "")))
    return found


def _change(what: str, name: str, before: str, after: str) -> dict[str, Any]:
    return {"what": what, "name": name, "before": before, "after": after}
