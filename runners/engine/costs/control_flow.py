"""Costs of branches, loops and scans: which bodies run, how often, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import onnx

from hub.protocol.costs import Exactness
from runners.engine.costs.amounts import Amount
from runners.engine.costs.values import (
    Value,
    content_value,
    largest,
    scan_slices,
    stacked,
    without_shape,
)
from runners.engine.costs.walks import Step, Walk

OPERATORS = frozenset({"If", "Loop", "Scan"})

Arguments = list[Value | None]


class _Runs(NamedTuple):
    """How often a body runs; ``times`` is None where nothing bounds it."""

    times: int | None
    exactness: Exactness


def enter(
    node: onnx.NodeProto,
    arguments: Sequence[Value | None],
    step: Step,
    walk: Callable[[str, Arguments | None], Walk | None],
) -> list[Value]:
    """The outputs of a node with bodies, whose costs are added to its step.

    ``walk`` walks the body in an attribute with these inputs; it gives None if they are too few or
    too many.
    """
    if step.operator == "If":
        return _branches(node, arguments, step, walk)
    states: Arguments = [
        replace(value, content=None, parameters=0) if value else None for value in arguments
    ]
    if step.operator == "Loop":
        leading: Arguments = [_scalar(onnx.TensorProto.INT64), content_value(np.array(True))]
        carried, first, axes = states[2:], 1, None
        body = _steady(leading, carried, [], walk)
        runs = _iterations(arguments, body) if body else _Runs(None, "per-iteration")
    else:
        options: dict[str, Any] = {each.name: list(each.ints) or each.i for each in node.attribute}
        scanned = int(options.get("num_scan_inputs", 0))
        carried, first, axes = states[: len(states) - scanned], 0, options.get("scan_output_axes")
        rows = arguments[len(states) - scanned :]
        slices, count = scan_slices(rows, options.get("scan_input_axes") or [0] * scanned)
        body = _steady([], carried, slices, walk)
        runs = _Runs(count, "per-iteration" if count is None else "exact")
    if body is None:
        step.lose_macs()
        step.lose_bytes()
        step.inner = [None]
        return [Value(onnx.TypeProto()) for _ in node.output]
    _count(step, body, runs)
    parts = body.outputs[first + len(carried) :]
    collected = (
        stacked(part, runs.times, axis)
        for part, axis in zip(parts, axes or [0] * len(parts), strict=False)
    )
    outputs = [*body.outputs[first : first + len(carried)], *collected]
    is_bound = runs.exactness != "exact"
    return [
        replace(value, content=None, parameters=0, is_bound=value.is_bound or is_bound)
        if value
        else Value(onnx.TypeProto())
        for value in outputs
    ]


def _scalar(kind: int) -> Value:
    return Value(onnx.helper.make_tensor_type_proto(kind, []))


def _steady(
    leading: Arguments,
    carried: Arguments,
    slices: Arguments,
    walk: Callable[[str, Arguments | None], Walk | None],
) -> Walk | None:
    """One iteration of a body; a state whose shape it changes has an unknown one in it."""
    body = walk("body", [*leading, *carried, *slices])
    if body is None:
        return None
    after = body.outputs[1 if leading else 0 :]
    changes = [
        value is not None and value.shape is not None and (not new or new.shape != value.shape)
        for value, new in zip(carried, after, strict=False)
    ]
    if not any(changes):
        return body
    states = [
        without_shape(value) if changed else value
        for value, changed in zip(carried, changes, strict=False)
    ]
    return walk("body", [*leading, *states, *slices])


def _iterations(arguments: Sequence[Value | None], body: Walk) -> _Runs:
    """How often the body of a Loop runs, from its trip count and its conditions.

    While a body runs, the condition that it gets is true, so one that it passes on is, too.
    """
    trips, start = (*arguments, None, None)[:2]
    limit = None if trips is None or trips.content is None else max(trips.content.item(), 0)
    starts = True if start is None else start.content
    ends = body.outputs[0].content if body.outputs and body.outputs[0] else None
    if starts is not None and not np.all(starts):
        return _Runs(0, "exact")
    leaves = ends is not None and not np.all(ends)
    count = min(1, limit) if leaves and limit is not None else 1 if leaves else limit
    if count is None:
        return _Runs(None, "per-iteration")
    is_sure = starts is not None and ends is not None and (limit is not None or trips is None)
    return _Runs(count, "exact" if is_sure else "at-most")


def _count(step: Step, body: Walk, runs: _Runs) -> None:
    """Add the costs of a body that runs so often; once where nothing tells how often."""
    step.parameters += sum(inner.parameters for inner in body.steps)
    step.inner = body.live() if runs.times != 0 else []
    if runs.times == 0:
        return
    step.macs = body.macs.times(1 if runs.times is None else runs.times)
    step.unknown += body.unknown
    if runs.times is None:
        step.lose_bytes()
    else:
        step.bytes, step.bytes_unknown = body.bytes.times(runs.times), body.bytes_unknown
    if body.macs.value:
        step.bound(body.exactness)
        step.bound(runs.exactness)


def _branches(
    node: onnx.NodeProto,
    arguments: Sequence[Value | None],
    step: Step,
    walk: Callable[[str, Arguments | None], Walk | None],
) -> list[Value]:
    """The branch that a constant condition selects, else one of both."""
    condition = arguments[0].content if arguments and arguments[0] else None
    names = ["then_branch", "else_branch"]
    if condition is not None:
        names = names[:1] if condition.reshape(-1)[0] else names[1:]
    walks = [branch for name in names if (branch := walk(name, None))]
    if not walks:
        step.lose_macs()
        return [Value(onnx.TypeProto()) for _ in node.output]
    step.macs = Amount.one_of([branch.macs for branch in walks])
    step.bytes = Amount.one_of([branch.bytes for branch in walks])
    for branch in walks:
        step.unknown |= branch.unknown
        step.bytes_unknown = max(step.bytes_unknown, branch.bytes_unknown)
        step.parameters += sum(inner.parameters for inner in branch.steps)
        step.inner += branch.live()
        step.bound(branch.exactness)
    if len({branch.macs.value for branch in walks}) > 1:
        step.bound("at-most")
    outputs = zip(*(branch.outputs for branch in walks), strict=False)
    return [largest(values) for values in outputs]
