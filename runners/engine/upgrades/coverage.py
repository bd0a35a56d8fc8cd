"""Branch coverage: which inner graphs a run enters, the branches of `If` and bodies of loops.

Nodes of the main graph always run, so only inner graphs can remain untested. A marker node is added
to each inner graph, and a profiling session lists the nodes that it ran, in order. Branches whose
condition no input can change are reported as unreachable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnx.inliner
from onnx import numpy_helper

from runners.engine import runtimes
from runners.engine.onnx_files import bodies, datasets
from runners.engine.runs.answers import MOST_ROWS, name_of
from runners.engine.upgrades.answers import Branch, Trace

if TYPE_CHECKING:
    from runners.engine.runs.child_runs import ModelFile

_MARK, _HOLDER = "hub.body.", "hub.node."
_DEPTH, _SMALL = 12, 64
# TensorProto.DataType: int32 and int64 hold every size.
_BOOL, _WIDE = 9, frozenset({6, 7})
_LOOPS = frozenset({"Loop", "Scan"})


@dataclass(frozen=True, slots=True)
class _Body:
    """An inner graph, and the index of the node that holds it among all nodes with inner graphs."""

    holder: int
    branch: Branch


def trace(runtime: str, model_file: ModelFile, folders: Sequence[Path], work: Path) -> Trace:
    """Run all data sets of the folders and report which inner graphs they entered; for a child."""
    model = model_file.load()
    existing = [folder for folder in folders if folder.is_dir()]
    sets = [dataset for folder in existing for dataset in datasets.read(folder, model)]
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    count = sum(1 for _ in bodies.nodes(model))
    inner = list(_marked(model))
    work.mkdir(parents=True, exist_ok=True)
    place = work / "traced.onnx"
    onnx.save(model, str(place))
    run, names = runtimes.of(runtime).trace(place, folder=model_file.folder)
    for dataset in sets:
        # Failures are ignored here: the comparison of outputs reports them.
        runtimes.attempt(run, dataset.inputs)
    entered, without = _entered(names(), inner)
    unseen = sum(body.branch.nodes for place, body in enumerate(inner) if place not in entered)
    branches = [
        replace(
            body.branch,
            taken=place in entered,
            zero=body.holder in without if body.branch.op in _LOOPS else None,
        )
        for place, body in enumerate(inner[:MOST_ROWS])
    ]
    return Trace(count, count - unseen, branches)


def _marked(model: onnx.ModelProto) -> Iterator[_Body]:
    """Add a marker to each inner graph and rename the nodes that hold them; changes the model.

    A marker is an `Identity` of a stored constant, since a graph may have no input.
    """
    fixed = _ConstantFolder(model)
    holders = [node for node in bodies.nodes(model) if bodies.bodies(node)]
    names = [node.name or next(iter(node.output), "") for node in holders]
    for node in bodies.nodes(model):
        # No name of the model may look like a marker.
        node.name = ""
    count = 0
    unreachable: set[int] = set()
    for holder, node in enumerate(holders):
        condition = fixed.truth(node.input[0]) if node.op_type == "If" else None
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                inner = list(bodies.nodes_of(body))
                reachable = condition is None or condition == (attribute.name == "then_branch")
                if id(node) in unreachable or not reachable:
                    # All holders stay alive in the list, so that no id is reused.
                    reachable = False
                    unreachable.update(id(node_inside) for node_inside in inner)
                operators = {
                    node_inside.op_type
                    for node_inside in inner
                    if node_inside.domain in bodies.DEFAULT_DOMAINS
                }
                branch = Branch(
                    node=name_of(names[holder]),
                    op=name_of(node.op_type),
                    name=name_of(attribute.name),
                    # Without nodes of nested graphs, which are counted there.
                    nodes=len(body.node),
                    taken=False,
                    zero=None,
                    operators=sorted(operators),
                    reachable=reachable,
                )
                yield _Body(holder, branch)
                mark = f"{_MARK}{count}"
                zero = onnx.helper.make_tensor("", onnx.TensorProto.FLOAT, [], [0.0])
                body.node.extend(
                    [
                        onnx.helper.make_node("Constant", [], [f"{mark}.value"], value=zero),
                        onnx.helper.make_node(
                            "Identity", [f"{mark}.value"], [f"{mark}.seen"], name=mark
                        ),
                    ]
                )
                count += 1
        node.name = f"{_HOLDER}{holder}"


class _ConstantFolder:
    """Evaluates small integer tensors that no input can change.

    These come from initializers, constants and fixed sizes of inputs.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        nodes = list(bodies.nodes(model))
        counts = Counter(name for node in nodes for name in node.output)
        # A name that is made in two graphs is ambiguous, so it is left out.
        self._makers = {name: node for node in nodes for name in node.output if counts[name] == 1}
        inner = [body for node in nodes for body in bodies.bodies(node)]
        counts.update(value.name for body in inner for value in (*body.input, *body.initializer))
        ports = {port.name: port for port in model.graph.input}
        self._stored = {
            tensor.name: tensor
            for tensor in model.graph.initializer
            if tensor.name not in ports and not counts[tensor.name]
        }
        self._ports = {name: port for name, port in ports.items() if not counts[name]}

    def truth(self, name: str) -> bool | None:
        """The value of a condition; None if an input may change it."""
        values = self._values(name, _DEPTH)
        is_fixed = values is not None and len(values) == 1 and values[0] is not None
        return bool(values[0]) if values and is_fixed else None

    def _values(self, name: str, depth: int) -> list[int | None] | None:
        """The elements of a small integer tensor, each None if an input may change it."""
        if name in self._stored:
            return _integers(self._stored[name])
        node = self._makers.get(name)
        if node is None or not depth or node.domain not in bodies.DEFAULT_DOMAINS:
            return None
        if node.op_type == "Constant":
            values = (attribute.t for attribute in node.attribute if attribute.name == "value")
            return next(map(_integers, values), None)
        if node.op_type == "Shape" and not node.attribute:
            return self._sizes(node.input[0])
        return self._computed(node, depth)

    def _computed(self, node: onnx.NodeProto, depth: int) -> list[int | None] | None:
        inputs = [self._values(name, depth - 1) for name in node.input[:2] if name]
        if not inputs or inputs[0] is None:
            return None
        if node.op_type == "Cast":
            return _cast(inputs[0], next((attribute.i for attribute in node.attribute), 0))
        return _computed(node.op_type, inputs[0], inputs[1] if len(inputs) > 1 else None)

    def _sizes(self, name: str) -> list[int | None] | None:
        port = self._ports.get(name)
        if port is None or not port.type.tensor_type.HasField("shape"):
            return None
        return [dim.dim_value or None for dim in port.type.tensor_type.shape.dim]


def _computed(
    operator: str, first: list[int | None], second: list[int | None] | None
) -> list[int | None] | None:
    """The elements of an operator's output; None for operators that are not evaluated."""
    if operator in {"Squeeze", "Unsqueeze", "Identity", "Reshape"}:
        return first
    if operator == "Size":
        return [len(first)]
    if operator == "Not":
        return [None if element is None else int(not element) for element in first]
    if operator == "Gather" and second is not None:
        size = len(first)
        valid = [index for index in second if index is not None and -size <= index < size]
        return [first[index] for index in valid] if len(valid) == len(second) else None
    if operator == "Equal" and second is not None and len(first) == len(second):
        pairs = zip(first, second, strict=True)
        return [None if None in pair else int(pair[0] == pair[1]) for pair in pairs]
    return None


def _cast(values: list[int | None], to: int) -> list[int | None] | None:
    """Integers cast to a type that holds them all (0 and 1 for bool); None for other types."""
    if to == _BOOL:
        return [None if element is None else int(bool(element)) for element in values]
    return values if to in _WIDE else None


def _integers(tensor: onnx.TensorProto) -> list[int | None] | None:
    if tensor.external_data or math.prod(tensor.dims) > _SMALL:
        return None
    values = numpy_helper.to_array(tensor).reshape(-1)
    return [int(value) for value in values] if values.dtype.kind in "biu" else None


def _entered(names: Sequence[str], inner: Sequence[_Body]) -> tuple[set[int], set[int]]:
    """Indices of the bodies that were entered, and of holders that ran without entering a body.

    The trace is in order of completion: nodes of a body precede the node that holds it.
    """
    entered: set[int] = set()
    without: set[int] = set()
    since: set[int] = set()
    for name in names:
        if name.startswith(_MARK):
            place = int(name.removeprefix(_MARK))
            entered.add(place)
            since.add(inner[place].holder)
        elif name.startswith(_HOLDER):
            holder = int(name.removeprefix(_HOLDER))
            if holder not in since:
                without.add(holder)
            since.discard(holder)
    return entered, without
