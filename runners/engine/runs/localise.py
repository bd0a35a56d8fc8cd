"""Search for the first node at which two runtimes differ, which is cut out as a model.

A node is reported only if it also differs when it is run alone on the same inputs. Unused values
are not compared. For a node with bodies (If, Loop, Scan), the branch that was taken, or the first
iteration that differs on equal inputs, is searched as a graph of its own (`body_runs`).
"""

from __future__ import annotations

import math
import re
import time
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import external_data_helper

from runners.engine import runtimes
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs import agreement, body_runs, child_runs
from runners.engine.runs.agreement import Figures
from runners.engine.runs.answers import Divergence, Evidence, Message, Name, Node, Step, name_of
from runners.engine.runs.child_runs import ModelFile

_CHUNK_BYTES = 512 << 20
_MOST_VALUES = 50_000
_JUMP = 10.0
_NOISE = {"fp32": 1e-6, "fp16": 1e-4, "quantised": 1e-4, "exact": 0.0}
_MOST_SUSPECTS = 25
# Only the largest difference counts, so no other figure is computed of finite values.
_ANY_FINITE = agreement.Profile("any-finite", atol=math.inf)
_EVIDENCE_BYTES = 64 << 20
# Time for the iterations of one loop; if it runs out, the node with the body is reported.
_INSIDE_SECONDS = 20.0
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")
# A constant date, so that equal evidence has equal bytes.
_STAMP = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Parties:
    """The runtimes: the accused, the witness to compare with, and which of them is believed.

    With `optimised`, the accused runs with graph optimisation; others never do.
    """

    accused: str
    witness: str
    believed: str
    profile: str
    optimised: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """Folders: data sets with the inputs, work, and evidence; and a prefix of names of evidence."""

    sets: Path
    work: Path
    out: Path
    prefix: str = ""


def find(
    parties: Parties, model_files: Sequence[ModelFile], places: Places, name: str
) -> Divergence:
    """Compare values on one data set and find the first node that differs; for a child."""
    note = "no form of the model runs in both"
    for model_file in model_files:
        model = model_file.load()
        cases = [dataset for dataset in datasets.read(places.sets, model) if dataset.name == name]
        if not cases:
            continue
        try:
            result = _Search(parties, model_file, model, cases[0].inputs, places).run()
        except runtimes.LoadError as error:
            note = text.message(str(error), str(model_file.folder), str(model_file.path.parent))
            continue
        if result.node is not None:
            return result
        note = result.note
    return _unlocated(note)


class _Search:
    def __init__(
        self,
        parties: Parties,
        model_file: ModelFile,
        model: onnx.ModelProto,
        inputs: dict[str, Value],
        places: Places,
    ) -> None:
        self._parties = parties
        self._profile = child_runs.PROFILES[parties.profile]
        self._model_file = model_file
        self._model = model
        self._inputs = inputs
        self._places = places
        self._names = used_values(model.graph)
        self._values: dict[str, Value] = dict(inputs)
        self._errors: dict[str, float] = {}

    def run(self) -> Divergence:
        if not self._names or len(self._names) > _MOST_VALUES:
            return _unlocated("the graph has too many values, or none, to look at")
        parties = self._parties
        values = self._model_file.open(parties.witness, optimise=False, outputs=self._names)(
            self._inputs
        )
        self._values |= dict(zip(self._names, values, strict=True))
        for names in self._chunks():
            execute = self._model_file.open(
                parties.accused, optimise=parties.optimised, outputs=names
            )
            for name, value in zip(names, execute(self._inputs), strict=True):
                self._errors[name] = _distance(self._values[name], value)
        return self._first_suspect()

    def _chunks(self) -> Iterator[list[str]]:
        chunk: list[str] = []
        size = 0
        for name in self._names:
            chunk.append(name)
            size += getattr(self._values[name], "nbytes", 1 << 10)
            if size > _CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _first_suspect(self) -> Divergence:
        """The first of the suspects that also differs when it is run alone."""
        first: Node | None = None
        suspects = self._suspects()
        agree_alone = len(suspects) < _MOST_SUSPECTS
        for index, node in suspects:
            # The outputs that nothing uses have no value.
            outputs = [name for name in node.output if name in self._values]
            cut = cut_out(self._model, [node], self._values, self._model_file.folder, outputs)
            figures = self._alone(cut)
            if figures is None or figures.agrees:
                agree_alone &= figures is not None
                figures = figures or self._unproven(node)
                first = first or _described(index, node, figures, alone=False)
                continue
            inner = runtimes.attempt(self._inside, index, node)
            if isinstance(inner, Divergence):
                return inner
            evidence = self._pack(cut, index, node)
            note = "" if evidence else "the node's values are too large to offer"
            described = _described(index, node, figures, alone=True)
            return Divergence(described, Evidence(evidence), Message(note))
        if first is None:
            return _unlocated("no value inside the graph differs once it is looked at")
        if agree_alone and self._others_agree_alone({index for index, _ in suspects}):
            note = "every node agrees alone: roundings grow from node to node"
            return Divergence(first, Evidence(""), Message(note), is_rounding=True)
        note = (
            "no node differs alone: the difference grows over several, or the node needs the rest"
        )
        return Divergence(first, Evidence(""), Message(note))

    def _others_agree_alone(self, suspects: Collection[int]) -> bool:
        """Whether all other nodes whose outputs differ agree on equal inputs; False if too many."""
        noise = _NOISE[self._parties.profile]
        until = time.monotonic() + _INSIDE_SECONDS
        for index, node in enumerate(self._model.graph.node):
            outputs = [name for name in node.output if name in self._values]
            error = max((self._errors.get(name, 0.0) for name in outputs), default=0.0)
            if index in suspects or error <= noise:
                continue
            if time.monotonic() > until:
                return False
            cut = cut_out(self._model, [node], self._values, self._model_file.folder, outputs)
            figures = self._alone(cut)
            if figures is None or not figures.agrees:
                return False
        return True

    def _inside(self, index: int, node: onnx.NodeProto) -> Divergence | None:
        """Search the bodies of a node; None if no node there differs alone."""
        value_of = body_runs.lookup(self._model, self._model_file.folder, self._values)
        body = body_runs.of(self._model, node, value_of)
        if body is None:
            return None
        place = self._places.work / f"body-{len(list(self._places.work.glob('body-*')))}.onnx"
        onnx.save(body.model, str(place))
        model_file = child_runs.ModelFile(place, self._model_file.folder)
        run = self._first_that_differs(body, model_file)
        if run is None:
            return None
        result = _Search(self._parties, model_file, body.model, run.inputs, self._places).run()
        if result.node is None or not result.node.alone:
            return None
        step = Step(
            op=Name(_operator(node)),
            name=name_of(node.name),
            index=index,
            body=Name(body.attribute),
            iteration=run.iteration,
        )
        return replace(result, node=replace(result.node, path=[step, *result.node.path]))

    def _first_that_differs(
        self, body: body_runs.Body, model_file: ModelFile
    ) -> body_runs.OneRun | None:
        """The first run of a body in which both differ on equal inputs."""
        parties = self._parties
        witness = model_file.open(parties.witness, optimise=False)
        accused = model_file.open(parties.accused, optimise=parties.optimised)
        noise = _NOISE[parties.profile]
        until = time.monotonic() + _INSIDE_SECONDS
        for run in body.runs(witness):
            pairs = zip(run.outputs, accused(run.inputs), strict=True)
            if max((_distance(first, other) for first, other in pairs), default=0.0) > noise:
                return run
            if time.monotonic() > until:
                return None
        return None

    def _suspects(self) -> list[tuple[int, onnx.NodeProto]]:
        """Nodes whose outputs have much larger errors than their inputs, with their indices."""
        noise = _NOISE[self._parties.profile]
        suspects = []
        for index, node in enumerate(self._model.graph.node):
            after = max((self._errors.get(name, 0.0) for name in node.output if name), default=0.0)
            before = max((self._errors.get(name, 0.0) for name in bodies.reads(node)), default=0.0)
            if after > noise and after >= _JUMP * before:
                suspects.append((index, node))
        return suspects[:_MOST_SUSPECTS]

    def _alone(self, cut: onnx.ModelProto | None) -> Figures | None:
        """Run the cut-out in both; the worst output's figures, None if one does not run it."""
        if cut is None:
            return None
        place = self._places.work / "alone.onnx"
        onnx.save(cut, str(place))
        feeds = {port.name: self._values[port.name] for port in cut.graph.input}
        sides = []
        parties = self._parties
        for runtime, on in ((parties.witness, False), (parties.accused, parties.optimised)):
            execute = runtimes.attempt(runtimes.of(runtime).open, place, optimise=on)
            values = execute if isinstance(execute, Exception) else runtimes.attempt(execute, feeds)
            if isinstance(values, Exception):
                return None
            sides.append(values)
        each = [
            agreement.compare(port.name, left, right, self._profile)
            for port, left, right in zip(cut.graph.output, *sides, strict=True)
        ]
        return max(each, key=lambda figures: (not figures.agrees, figures.outside))

    def _unproven(self, node: onnx.NodeProto) -> Figures:
        """Note on a node that does not run alone: the error of its worst output in the graph."""
        name = max((name for name in node.output if name), key=lambda output: self._errors[output])
        value = self._values[name]
        return agreement.Figures(
            name_of(name),
            str(getattr(value, "dtype", "")),
            list(getattr(value, "shape", ())),
            agrees=False,
            reason=f"{name} differs in the graph; the node does not run alone",
            max_rel=self._errors[name],
            profile=self._profile.name,
        )

    def _pack(self, cut: onnx.ModelProto | None, index: int, node: onnx.NodeProto) -> str:
        if cut is None:
            return ""
        feeds = {port.name: self._values[port.name] for port in cut.graph.input}
        believed = runtimes.of(self._parties.believed)
        place = self._places.work / "alone.onnx"
        values = believed.open(place, optimise=False)(feeds)
        outputs = {port.name: value for port, value in zip(cut.graph.output, values, strict=True)}
        name = f"diverging-{_UNFIT.sub('-', node.op_type)[:60]}"
        if (self._places.out / f"{name}.zip").exists():
            name = f"{name}-{index}"
        dataset = DataSet("test_data_set_0", "generated", feeds, outputs)
        return f"{name}.zip" if pack(cut, dataset, self._places, f"{name}.zip") else ""


def _unlocated(note: str) -> Divergence:
    return Divergence(None, Evidence(""), Message(note))


def _described(index: int, node: onnx.NodeProto, figures: Figures, *, alone: bool) -> Node:
    name, op = node.name or next(iter(node.output), ""), _operator(node)
    return Node(name_of(name), name_of(op), index, [], figures.to_json(), alone)


def _operator(node: onnx.NodeProto) -> str:
    plain = node.domain in bodies.DEFAULT_DOMAINS
    return str(node.op_type) if plain else f"{node.domain}.{node.op_type}"


def used_values(graph: onnx.GraphProto) -> list[str]:
    """Names of values that nodes make and that an output of the graph depends on, in order."""
    used = {port.name for port in graph.output}
    for node in reversed(graph.node):
        if used.intersection(node.output):
            used.update(bodies.reads(node))
    return [name for node in graph.node for name in node.output if name in used]


def _distance(expected: Value, actual: Value) -> float:
    """The largest error relative to the largest value; inf if types or shapes differ."""
    figures = agreement.compare("", expected, actual, _ANY_FINITE, brief=True)
    if not figures.max_abs:
        return 0.0 if figures.agrees else float("inf")
    return figures.max_abs / max(_magnitude(expected), 1e-6)


def _magnitude(value: Value) -> float:
    if isinstance(value, list | dict) or value is None or not value.size:
        return 0.0
    if value.dtype.kind in "OUSTb":
        return 1.0
    sizes = np.abs(value if value.dtype.kind == "f" else agreement.wide(value))
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def cut_out(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    values: Mapping[str, Value],
    folder: Path,
    outputs: Sequence[str],
) -> onnx.ModelProto | None:
    """A model of these nodes alone: weights stay weights, computed values become inputs.

    `outputs` are the names to give out. None if a value that it reads or gives is unknown or no
    tensor.
    """
    cut = body_runs.model_like(model, "cut_out")
    cut.graph.node.extend(nodes)
    inside = {name for node in nodes for name in node.output}
    reads = dict.fromkeys(name for node in nodes for name in bodies.reads(node))
    names = [name for name in reads if name not in inside]
    if body_runs.supply(cut.graph, model, names, values.get, with_shapes=True) is None:
        return None
    external_data_helper.load_external_data_for_model(cut, str(folder))
    for name in outputs:
        port = body_runs.port_of(name, values.get(name), with_shape=True)
        if port is None:
            return None
        cut.graph.output.append(port)
    return cut


def pack(cut: onnx.ModelProto, dataset: DataSet, places: Places, name: str) -> bool:
    """Write model.onnx and its data set as a zip; False if it would be too large."""
    home = places.work / name.removesuffix(".zip")
    datasets.write(home, dataset, cut)
    raws = {"model.onnx": cut.SerializeToString()}
    for file in sorted((home / dataset.name).iterdir()):
        raws[f"{dataset.name}/{file.name}"] = file.read_bytes()
    if sum(map(len, raws.values())) > _EVIDENCE_BYTES:
        return False
    with zipfile.ZipFile(places.out / name, "w") as archive:
        for place, raw in raws.items():
            member = zipfile.ZipInfo(place, _STAMP)
            archive.writestr(member, raw, zipfile.ZIP_DEFLATED)
    return True
