"""Judgement of variants in half precision, which the CPU provider computes in float32.

Two methods, each for a child: the ranges of all values in runs of the original, against the largest
and smallest magnitude of float16; and runs of the variant by the ONNX reference, which computes in
half precision node by node. Nodes that overflow stay in float32.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from hub.protocol.vocabularies import ONNXRUNTIME, REFERENCE
from runners.engine import runtimes
from runners.engine.convert import makers, parity
from runners.engine.convert.answers import Baseline, HalfRun, RangedNode, Ranges
from runners.engine.onnx_files import bodies, text
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs import agreement, localise
from runners.engine.runs.answers import Name, name_of

LARGEST = float(np.finfo(np.float16).max)
# Smaller magnitudes become 0.
SMALLEST = float(np.finfo(np.float16).smallest_subnormal)
# Processor seconds after which no further data set is begun.
_SECONDS = 20.0
# Values of the graph that one run gives out.
_AT_ONCE = 64


class UnknownNodeError(ValueError):
    """The model has no node of a name that should stay in float32; the message names some."""


def check_names(prepared: Path, names: Sequence[str]) -> None:
    """Raise UnknownNodeError unless each name is one of a node of the model."""
    nodes = list(bodies.nodes(onnx.load(str(prepared), load_external_data=False)))
    own = {node.name for node in nodes}
    for name in names:
        if name not in own:
            some = ", ".join(text.clip(node.name, 60) for node in nodes[:5])
            raise UnknownNodeError(
                f"The model has no node {text.clip(name, 100)!r} that could stay in float32. Its "
                f"first nodes are {some}."
            )


def ranges(prepared: Path, source: Path, work: Path) -> Ranges:
    """Measure the magnitude of every value of the main graph, input and weight.

    Runs the prepared original without optimisation on the data sets that it ran on before.
    """
    model = onnx.load(str(prepared))
    measured = _Magnitudes()
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            measured.add(tensor.name, numpy_helper.to_array(tensor))
    sets = _by_size(parity.expected(source, work))
    names = localise.used_values(model.graph)
    parts = [names[place : place + _AT_ONCE] for place in range(0, len(names), _AT_ONCE)]
    began = time.process_time()
    count = 0
    for dataset in sets:
        if count and time.process_time() - began > _SECONDS:
            break
        for name, value in dataset.inputs.items():
            measured.add(name, value)
        for part in parts:
            run = runtimes.of(ONNXRUNTIME).open(prepared, optimise=False, outputs=part)
            for name, value in zip(part, run(dataset.inputs), strict=True):
                measured.add(name, value)
        count += 1
    return Ranges(
        count,
        len(sets),
        max(measured.largest.values(), default=None),
        min(filter(None, measured.smallest.values()), default=None),
        list(measured.out_of_range(model.graph)),
        list(map(name_of, measured.infinite)),
        sum(1 for _ in bodies.nodes(model)) - len(model.graph.node),
    )


class _Magnitudes:
    """Largest and smallest finite magnitude of float32 values, by name; 0 counts as none."""

    def __init__(self) -> None:
        self.largest: dict[str, float] = {}
        self.smallest: dict[str, float] = {}
        self.infinite: set[str] = set()

    def add(self, name: str, value: Value) -> None:
        if not isinstance(value, np.ndarray) or value.dtype != np.float32:
            return
        sizes = np.abs(value)
        if not np.isfinite(sizes).all():
            self.infinite.add(name)
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if sizes.size:
            self.largest[name] = max(self.largest.get(name, 0.0), float(sizes.max()))
            self.smallest[name] = min(self.smallest.get(name, np.inf), float(sizes.min()))

    def out_of_range(self, graph: onnx.GraphProto) -> Iterator[RangedNode]:
        """Nodes that read or write a value that overflows, or of which nothing is left."""
        for node in graph.node:
            for name in (*node.output, *bodies.reads(node)):
                largest = self.largest.get(name)
                if largest is not None and not SMALLEST <= largest <= LARGEST:
                    yield RangedNode(Name(node.name), Name(node.op_type), name_of(name), largest)
                    break


def _by_size(sets: Sequence[DataSet]) -> list[DataSet]:
    def size(dataset: DataSet) -> int:
        return sum(getattr(value, "size", 0) for value in dataset.inputs.values())

    return sorted(sets, key=size)


def run(source: Path, variant: Path, work: Path, ran: Baseline, infinite: Sequence[str]) -> HalfRun:
    """Run the variant by the reference on the data sets of the original, smallest first.

    `infinite` are names of values that are not finite in the original.
    """
    model = onnx.load(str(variant), load_external_data=False)
    outputs = [port.name for port in model.graph.output]
    names = [*outputs, *(name for name in localise.used_values(model.graph) if name not in outputs)]
    execute = runtimes.of(REFERENCE).open(variant, outputs=names)
    real = parity.like_real(ran.sets)
    trials = dict(
        zip([dataset.name for dataset in parity.expected(source, work)], ran.sets, strict=True)
    )
    sets = _by_size(parity.expected(source, work))
    began = time.process_time()
    count = 0
    rows: list[agreement.Figures] = []
    broken: list[str] = []
    overflowing: dict[str, None] = {}
    for dataset in sets:
        if count and time.process_time() - began > _SECONDS:
            break
        values = dict(zip(names, execute(dataset.inputs), strict=True))
        overflowing.update(
            dict.fromkeys(_overflowing(model.graph, {**dataset.inputs, **values}, infinite))
        )
        count += 1
        trial = trials[dataset.name].name
        for name in outputs:
            if trial not in real or name in ran.nondeterministic:
                continue
            expected = dataset.outputs.get(name)
            figures = agreement.compare(name, expected, values[name], agreement.FP16)
            rows.append(figures)
            broken += parity.broken(expected, values[name], figures, trial)
    own = [Name(name) for name in overflowing if not makers.CASTS_OF_THE_TOOL.fullmatch(name)]
    return HalfRun(count, len(sets), parity.worst(rows), own, broken[:5])


def _overflowing(
    graph: onnx.GraphProto, values: dict[str, Value], infinite: Sequence[str]
) -> Iterator[str]:
    """Names of nodes that make finite inputs infinite or NaN, and of the readers of their outputs.

    Of a cast, the node before it is named too.
    """
    wild = {name for name, value in values.items() if not _is_finite(value)} - set(infinite)
    for node in graph.node:
        reads = bodies.reads(node)
        beyond = wild.intersection(node.output)
        if beyond and not wild.intersection(reads):
            yield node.name
            yield from (other.name for other in graph.node if beyond.intersection(other.input))
            if node.op_type == "Cast":
                yield from (other.name for other in graph.node if set(reads) & set(other.output))


def _is_finite(value: Value) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return True
    return bool(np.isfinite(value).all())
