"""Comparison of the values inside bodies of `If`, `Loop` and `Scan` of two forms of a model.

A body that the original enters becomes a model of its own (`body_runs`). In each iteration the body
of the converted node runs on the inputs of the original's, and values of equal names are compared,
so a difference does not grow over iterations and is named where it arises. Bodies inside bodies
follow in the same way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from hub.protocol.proofs import HiddenDifference
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import Value
from runners.engine.runs import agreement, body_runs, child_runs, noise
from runners.engine.runs.agreement import Figures, Profile
from runners.engine.runs.answers import Name, name_of
from runners.engine.runtimes import Run
from runners.engine.upgrades.answers import Inside

ComparedValue = tuple[tuple[Name, Name], Figures]

# Processor time for the bodies of one comparison.
SECONDS = 20.0
_MOST_VALUES = 5_000


@dataclass(frozen=True, slots=True)
class Side:
    """A model of the comparison, the folder of its external data, and the values of a run.

    A body is such a model, too.
    """

    model: onnx.ModelProto
    folder: Path
    values: dict[str, Value]

    def body_of(self, node: onnx.NodeProto) -> body_runs.Body | None:
        """The body that a node runs; None if it has none or cannot be taken out."""
        return body_runs.of(
            self.model, node, body_runs.lookup(self.model, self.folder, self.values)
        )


@dataclass(slots=True)
class BodyComparison:
    """Compares bodies in the folder `work`, until the time runs out.

    `largest` is the greatest absolute value of the original so far; infinity if one is not finite.
    """

    profile: Profile
    work: Path
    deadline: float = field(default_factory=lambda: time.process_time() + SECONDS)
    is_complete: bool = True
    largest: float = 0.0
    _count: int = 0

    def compare(self, original: Side, changed: Side) -> Iterator[ComparedValue]:
        """Compare the values in the bodies of all nodes that both models have."""
        self.largest = max(self.largest, *map(noise.largest, original.values.values()), 0.0)
        holders = {_key(node): node for node in original.model.graph.node if bodies.bodies(node)}
        values = changed.values | {
            name: value
            for name, value in original.values.items()
            if _has_type(value, changed.values.get(name, value))
        }
        for node in changed.model.graph.node:
            holder = holders.get(_key(node))
            if holder is None:
                continue
            first = original.body_of(holder)
            second = Side(changed.model, changed.folder, values).body_of(node)
            if first is not None and second is not None:
                yield from self._compare_runs(first, second, original.folder, changed.folder)

    def answer(self, count: int, hidden: HiddenDifference | None) -> Inside:
        """The answer of a comparison of `count` values, with the first difference."""
        largest = self.largest if math.isfinite(self.largest) else None
        return Inside(count, hidden, self.is_complete, largest)

    def _compare_runs(
        self, first: body_runs.Body, second: body_runs.Body, *folders: Path
    ) -> Iterator[ComparedValue]:
        names = common_values(first.model, second.model)
        makers = makers_of(second.model)
        run, other = (
            runtimes.attempt(self._open, body.model, folder, names)
            for body, folder in zip((first, second), folders, strict=True)
        )
        if isinstance(run, Exception) or isinstance(other, Exception):
            self.is_complete = False
            return
        left: dict[str, Value] = {}

        def go(inputs: dict[str, Value]) -> list[Value]:
            left.clear()
            left.update(run(inputs))
            return [left[port.name] for port in first.model.graph.output]

        needed = [port.name for port in second.model.graph.input]
        for body_run in first.runs(go):
            if time.process_time() > self.deadline:
                self.is_complete = False
                return
            inputs = {name: (second.captured | body_run.inputs)[name] for name in needed}
            right = other(inputs)
            yield from compared(names, makers, left, right, self.profile)
            yield from self.compare(
                Side(first.model, folders[0], body_run.inputs | left),
                Side(second.model, folders[1], inputs | right),
            )

    def _open(self, model: onnx.ModelProto, folder: Path, names: list[str]) -> NamedRun:
        self.work.mkdir(parents=True, exist_ok=True)
        place = self.work / f"body-{self._count}.onnx"
        self._count += 1
        onnx.save(model, str(place))
        ports = [port.name for port in model.graph.output]
        return NamedRun.open(
            child_runs.ModelFile(place, folder), [*ports, *names, *read_by_bodies(model)]
        )


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A loaded model whose values are asked for by name, without graph optimisation."""

    run: Run
    outputs: list[str]

    @classmethod
    def open(cls, model_file: child_runs.ModelFile, names: Sequence[str]) -> NamedRun:
        """Load a model with these values as outputs; raises what `Runtime.open` raises."""
        outputs = list(dict.fromkeys(names))
        return cls(model_file.open(ONNXRUNTIME, optimise=False, outputs=outputs), outputs)

    def __call__(self, inputs: dict[str, Value]) -> dict[str, Value]:
        return dict(zip(self.outputs, self.run(inputs), strict=True))


def compared(
    names: list[str],
    makers: dict[str, tuple[Name, Name]],
    left: dict[str, Value],
    right: dict[str, Value],
    profile: Profile,
) -> Iterator[ComparedValue]:
    """Compare values of equal names, without those whose type differs between the opsets."""
    for name in names:
        if _has_type(left[name], right[name]):
            figures = agreement.compare(name, left[name], right[name], profile, brief=True)
            yield makers[name], figures


def common_values(original: onnx.ModelProto, changed: onnx.ModelProto) -> list[str]:
    """Names of values of the main graphs that both models make and read, in the changed order.

    Values that no node reads are left out, such as the mask of Dropout.
    """
    models = (original, changed)
    used = [set(_values(model)) & _read(model) for model in models]
    return [name for name in _values(changed) if name in used[0] & used[1]][:_MOST_VALUES]


def read_by_bodies(model: onnx.ModelProto) -> list[str]:
    """Names of values of the main graph that nodes with bodies read, or their bodies use."""
    values = set(_values(model))
    holders = [node for node in model.graph.node if bodies.bodies(node)]
    return [name for node in holders for name in bodies.reads(node) if name in values]


def makers_of(model: onnx.ModelProto) -> dict[str, tuple[Name, Name]]:
    """The node that makes each value of the main graph, and its operator, by the value's name."""
    return {
        value: (name_of(node.name or value), name_of(node.op_type))
        for node in reversed(model.graph.node)
        for value in node.output
    }


def _values(model: onnx.ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in node.output if name]


def _read(model: onnx.ModelProto) -> set[str]:
    """Names that a node or an inner graph reads, and the outputs of the graph."""
    graphs = [model.graph]
    graphs += [body for node in bodies.nodes(model) for body in bodies.bodies(node)]
    names = {port.name for graph in graphs for port in graph.output}
    return names.union(*(node.input for node in bodies.nodes(model)))


def _key(node: onnx.NodeProto) -> tuple[str, str]:
    return node.op_type, next(filter(None, node.output), "")


def _has_type(left: Value, right: Value) -> bool:
    return bool(getattr(left, "dtype", None) == getattr(right, "dtype", None))
