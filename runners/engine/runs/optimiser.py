"""Search for the pass of a runtime's graph optimiser that breaks a model, and for a small model.

The model runs without optimisation. Its levels are tried in their order until one fails: it refuses
to load or to run, or gives other outputs. Passes that changed the graph at this level are then
disabled one by one, the last one first; the one without which the model is sound is the cause.
Where no pass is the cause alone, the smallest set of passes is.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs import agreement, child_runs, localise
from runners.engine.runs.answers import Evidence, Message, Name, OptimisedRun, ReducedModel
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runs.localise import Places
from runners.engine.runtimes import graph_passes, onnxruntime_cpu
from runners.engine.runtimes.graph_passes import GraphPasses, Level

# A search ends after this many runs of a model.
_MOST_RUNS = 60
_REDUCING_SECONDS = 30.0
_MOST_VALUES_BYTES = 512 << 20
# Models of at most this many nodes are reduced node by node.
_FEW_NODES = 32
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")
_STANDARD_ERROR = 2


@dataclass(frozen=True, slots=True)
class OptimiserFault:
    """The lowest level that fails, the passes that are the cause, and how the model fails."""

    level: Level
    passes: tuple[str, ...]
    problem: str

    @property
    def sentence(self) -> str:
        where = f"from the level {self.level} of graph optimisation on"
        if not self.passes:
            return f"{where}, by no pass that could be named"
        kind = "pass" if len(self.passes) == 1 else "passes"
        return f"{where}, by the {kind} {', '.join(self.passes)}"


def search(run_with: Callable[[GraphPasses], OptimisedRun]) -> OptimiserFault | None:
    """Find level and passes; None if the model is sound at every level.

    `run_with` runs the model with some passes and says how it fails.
    """
    for level in Level:
        first = run_with(GraphPasses(level))
        if first.problem:
            passes = _cause(run_with, level, list(map(str, first.suspects))[:_MOST_RUNS])
            return OptimiserFault(level, passes, first.problem)
    return None


def _cause(
    run_with: Callable[[GraphPasses], OptimisedRun], level: Level, suspects: list[str]
) -> tuple[str, ...]:
    for name in suspects:
        if not run_with(GraphPasses(level, (name,))).problem:
            return (name,)
    if len(suspects) < 2 or run_with(GraphPasses(level, tuple(suspects))).problem:
        return ()
    rest = list(suspects)
    for name in suspects:
        fewer = tuple(other for other in rest if other != name)
        if not run_with(GraphPasses(level, fewer)).problem:
            rest.remove(name)
    return tuple(rest)


def run(
    model_file: ModelFile, case: Case, passes: GraphPasses, profile: str, log: Path
) -> OptimisedRun:
    """Run one data set with some passes, and compare with the outputs without optimisation.

    The runtime's log is written to `log`, where it lies even if this process dies. For a child.
    """
    model = model_file.load()
    inputs = case.inputs(model)
    expected = case.outputs(model)
    with _standard_error_in(log):
        outputs = runtimes.attempt(
            _open_and_run, model_file.path, model_file.folder, passes, inputs
        )
    problem = _problem(model.graph, outputs, expected, profile)
    private = (str(model_file.folder), str(model_file.path.parent))
    return OptimisedRun(Message(text.message(problem, *private)), suspects_in(log))


@dataclass(frozen=True, slots=True)
class Case:
    """A data set by its name, the folder that it lies in, and that of the expected outputs."""

    sets: Path
    expected: Path
    name: str

    def inputs(self, model: onnx.ModelProto) -> dict[str, Value]:
        [dataset] = [data for data in datasets.read(self.sets, model) if data.name == self.name]
        return dataset.inputs

    def outputs(self, model: onnx.ModelProto) -> dict[str, Value]:
        """The expected outputs; empty if there are none."""
        results = child_runs.outputs_in(self.expected, model)
        return next((data.outputs for data in results if data.name == self.name), {})


def suspects_in(log: Path) -> list[Name]:
    """The passes to suspect, from the log of a run. For a child."""
    words = log.read_text("utf-8", "replace") if log.is_file() else ""
    return [Name(name) for name in graph_passes.suspects(words)]


@contextmanager
def _standard_error_in(log: Path) -> Iterator[None]:
    """Write the standard error of this process, also that of libraries in C++, to a file."""
    sys.stderr.flush()
    before = os.dup(_STANDARD_ERROR)
    with log.open("wb") as file:
        os.dup2(file.fileno(), _STANDARD_ERROR)
    try:
        yield
    finally:
        os.dup2(before, _STANDARD_ERROR)
        os.close(before)


def _open_and_run(
    path: Path, folder: Path, passes: GraphPasses, inputs: dict[str, Value]
) -> list[Value]:
    return onnxruntime_cpu.RUNTIME.open_at(path, passes, folder=folder)(inputs)


def _problem(
    graph: onnx.GraphProto,
    outputs: list[Value] | Exception,
    expected: dict[str, Value],
    profile: str,
) -> str:
    if isinstance(outputs, Exception):
        return str(outputs) or type(outputs).__name__
    tolerance = child_runs.PROFILES[profile]
    for port, value in zip(graph.output, outputs, strict=True):
        figures = agreement.compare(port.name, expected.get(port.name), value, tolerance)
        if not figures.agrees:
            return figures.reason
    return ""


def reduce(
    model_file: ModelFile, case: Case, fault: OptimiserFault, profile: str, places: Places
) -> ReducedModel:
    """Cut the smallest model out that fails at the level and is sound unoptimised; for a child.

    First nodes behind and before the fault are left out, half of them at a time; of few nodes, each
    is tried. The evidence expects the outputs without optimisation.
    """
    model = model_file.load()
    inputs = case.inputs(model)
    return _Reduction(model_file, model, inputs, fault, profile, places).run()


class _Reduction:
    def __init__(
        self,
        model_file: ModelFile,
        model: onnx.ModelProto,
        inputs: dict[str, Value],
        fault: OptimiserFault,
        profile: str,
        places: Places,
    ) -> None:
        self._folder = model_file.folder
        self._model = model
        self._fault = fault
        self._profile = profile
        self._places = places
        names = localise.used_values(model.graph)
        values = model_file.open(ONNXRUNTIME, optimise=False, outputs=names)(inputs)
        self._values = {**inputs, **dict(zip(names, values, strict=True))}
        used = set(names)
        self._nodes = [node for node in model.graph.node if used.intersection(node.output)]
        self._until = time.monotonic() + _REDUCING_SECONDS

    def run(self) -> ReducedModel:
        size = sum(getattr(value, "nbytes", 0) for value in self._values.values())
        if size > _MOST_VALUES_BYTES or not self._fails(self._nodes):
            return ReducedModel([], Evidence(""))
        rest = self._nodes
        rest = self._halved(rest, lambda nodes, count: nodes[:count])
        rest = self._halved(rest, lambda nodes, count: nodes[len(nodes) - count :])
        if len(rest) <= _FEW_NODES:
            for node in list(rest):
                fewer = [other for other in rest if other is not node]
                if fewer and self._fails(fewer):
                    rest = fewer
        return ReducedModel([Name(node.op_type) for node in rest], Evidence(self._pack(rest)))

    def _halved(
        self,
        nodes: list[onnx.NodeProto],
        part: Callable[[list[onnx.NodeProto], int], list[onnx.NodeProto]],
    ) -> list[onnx.NodeProto]:
        """The shortest part of the nodes that fails, by bisection of its length."""
        sound, failing = 0, len(nodes)
        while failing - sound > 1:
            middle = (sound + failing) // 2
            if self._fails(part(nodes, middle)):
                failing = middle
            else:
                sound = middle
        return part(nodes, failing)

    def _fails(self, nodes: Sequence[onnx.NodeProto]) -> bool:
        """Whether these nodes alone fail with the passes, and run without optimisation."""
        if time.monotonic() > self._until:
            return False
        cut = self._cut(nodes)
        expected = None if cut is None else self._expected(cut)
        if cut is None or expected is None:
            return False
        outputs = runtimes.attempt(
            _open_and_run,
            self._place,
            self._place.parent,
            GraphPasses(self._fault.level),
            self._feeds(cut),
        )
        return bool(_problem(cut.graph, outputs, expected, self._profile))

    def _cut(self, nodes: Sequence[onnx.NodeProto]) -> onnx.ModelProto | None:
        """The nodes as a model, which is also written; its outputs are what others read."""
        own = {id(node) for node in nodes}
        read = {port.name for port in self._model.graph.output}
        for node in self._nodes:
            if id(node) not in own:
                read.update(bodies.reads(node))
        outputs = [name for node in nodes for name in node.output if name in read and name]
        cut = localise.cut_out(self._model, nodes, self._values, self._folder, outputs)
        if cut is not None:
            onnx.save(cut, str(self._place))
        return cut if outputs else None

    @property
    def _place(self) -> Path:
        return self._places.work / "reduced.onnx"

    def _feeds(self, cut: onnx.ModelProto) -> dict[str, Value]:
        return {port.name: self._values[port.name] for port in cut.graph.input}

    def _expected(self, cut: onnx.ModelProto) -> dict[str, Value] | None:
        """The outputs without optimisation; None if it does not run."""
        run = runtimes.attempt(onnxruntime_cpu.RUNTIME.open, self._place, optimise=False)
        if isinstance(run, Exception):
            return None
        values = runtimes.attempt(run, self._feeds(cut))
        if isinstance(values, Exception):
            return None
        return {port.name: value for port, value in zip(cut.graph.output, values, strict=True)}

    def _pack(self, nodes: Sequence[onnx.NodeProto]) -> str:
        """Write the evidence; its file name, or empty if it would be too large."""
        cut = self._cut(nodes)
        expected = None if cut is None else self._expected(cut)
        if cut is None or expected is None:
            return ""
        label = "-".join(self._fault.passes) or f"optimisation-{self._fault.level}"
        prefix = self._places.prefix
        label = f"{prefix[-40:]}-{label}" if prefix else label
        name = f"diverging-{_UNFIT.sub('-', label)[:80]}.zip"
        dataset = DataSet("test_data_set_0", "generated", self._feeds(cut), expected)
        return name if localise.pack(cut, dataset, self._places, name) else ""
