"""Finds the first node at which two runtimes part, and cuts it out as a model of its own.

A node is only called guilty when it also differs alone, on the very inputs it had. Values that
nothing uses are not compared. A node that holds bodies (If, Loop, Scan) is looked into: the branch
that was taken, or the first iteration that differs on equal inputs, is searched as a graph of its
own (runners.engine.runs.body_runs).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.engine import runtimes
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.onnx_files.datasets import DataSet
from runners.engine.runs import agreement, body_runs, child_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import onnx

    from runners.engine.onnx_files.datasets import Value
    from runners.engine.runs.agreement import Figures
    from runners.engine.runs.child_runs import Form

_CHUNK_BYTES = 512 << 20
_MOST_VALUES = 50_000
_JUMP = 10.0
_NOISE = {"fp32": 1e-6, "fp16": 1e-4, "quantised": 1e-4, "exact": 0.0}
_MOST_SUSPECTS = 25
_EVIDENCE_BYTES = 64 << 20
# For the iterations of one loop: what holds the body is named where it takes longer.
_INSIDE_SECONDS = 20.0
_UNFIT = re.compile(r"[^A-Za-z0-9_]+")
# A date of no meaning, so that equal evidence has equal bytes.
_STAMP = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who is compared: the runtime on trial, the one it is held against, who is believed.

    `optimised` is the one on trial with its optimisation on; the others always have it off.
    """

    accused: str
    witness: str
    believed: str
    profile: str
    optimised: bool = False


@dataclass(frozen=True, slots=True)
class _Suspect:
    index: int
    node: onnx.NodeProto


@dataclass(frozen=True, slots=True)
class Places:
    """The data sets to take the inputs from, a folder to work in, and one for the evidence."""

    sets: Path
    work: Path
    out: Path


def find(parties: Parties, forms: Sequence[Form], places: Places, name: str) -> dict[str, Any]:
    """Compare value by value on one data set; for a child.

    Answers {"node": None or {"name", "op", "index", "path", "figures", "alone"}, "evidence": file
    name in the folder for it or "", "note": why there is none}. `path` leads to the body that the
    node stands in, from outside: [{"op", "name", "index", "body", "iteration"}], the last None
    outside of loops.
    """
    note = "no form of the model runs in both"
    for form in forms:
        model = child_runs.load(form.path)
        chosen = [one for one in datasets.read(places.sets, model) if one.name == name]
        if not chosen:
            continue
        try:
            found = _Search(parties, form, model, chosen[0].inputs, places).run()
        except runtimes.LoadError as error:
            note = text.message(str(error), str(form.folder), str(form.path.parent))
            continue
        if found["node"] is not None:
            return found
        note = found["note"]
    return {"node": None, "evidence": "", "note": note}


class _Search:
    def __init__(
        self,
        parties: Parties,
        form: Form,
        model: onnx.ModelProto,
        inputs: dict[str, Value],
        places: Places,
    ) -> None:
        self._parties = parties
        self._profile = child_runs.PROFILES[parties.profile]
        self._form = form
        self._model = model
        self._inputs = inputs
        self._places = places
        self._wanted = used_values(model.graph)
        self._values: dict[str, Value] = dict(inputs)
        self._errors: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        if not self._wanted or len(self._wanted) > _MOST_VALUES:
            return _nothing("the graph has too many values, or none, to look at")
        held = self._open(self._parties.witness, self._wanted)(self._inputs)
        self._values |= dict(zip(self._wanted, held, strict=True))
        on = self._parties.optimised
        for names in self._chunks():
            said = self._open(self._parties.accused, names, optimise=on)(self._inputs)
            for name, value in zip(names, said, strict=True):
                self._errors[name] = _distance(self._values[name], value)
        return self._try()

    def _open(self, runtime: str, names: Sequence[str], *, optimise: bool = False) -> runtimes.Run:
        form = self._form
        elsewhere = form.folder if form.folder != form.path.parent else None
        return runtimes.of(runtime).open(
            form.path, optimise=optimise, outputs=names, folder=elsewhere
        )

    def _chunks(self) -> Iterator[list[str]]:
        chunk: list[str] = []
        size = 0
        for name in self._wanted:
            chunk.append(name)
            size += getattr(self._values[name], "nbytes", 1 << 10)
            if size > _CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _try(self) -> dict[str, Any]:
        first: dict[str, Any] | None = None
        for suspect in self._suspects():
            cut = cut_out(self._model, suspect.node, self._values, self._form.folder)
            figures = self._alone(cut)
            if figures is None or figures.agrees:
                figures = figures or self._unproven(suspect)
                first = first or self._told(suspect, figures, alone=False)
                continue
            inner = self._inside(suspect)
            if inner is not None:
                return inner
            named = self._told(suspect, figures, alone=True)
            evidence = self._pack(cut, suspect)
            note = "" if evidence else "the node's values are too large to offer"
            return {"node": named, "evidence": evidence, "note": note}
        if first is None:
            return _nothing("no value inside the graph differs once it is looked at")
        note = (
            "no node differs alone: the difference grows over several, or the node needs the rest"
        )
        return {"node": first, "evidence": "", "note": note}

    def _inside(self, suspect: _Suspect) -> dict[str, Any] | None:
        """Look for the node inside the body of one; None where none there differs alone."""
        try:
            return self._search_body(suspect)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a library may raise anything here
            return None

    def _search_body(self, suspect: _Suspect) -> dict[str, Any] | None:
        body = body_runs.of(self._model, suspect.node, self._value_of)
        if body is None:
            return None
        place = self._places.work / f"body-{len(list(self._places.work.glob('body-*')))}.onnx"
        body.save(place)
        form = child_runs.Form(place, self._form.folder)
        run = self._first_that_differs(body, form)
        if run is None:
            return None
        found = _Search(self._parties, form, body.model, run.inputs, self._places).run()
        node = found["node"]
        if node is None or not node["alone"]:
            return None
        step = {
            "op": _spelt(suspect.node),
            "name": text.clip(suspect.node.name, 200),
            "index": suspect.index,
            "body": body.attribute,
            "iteration": run.iteration,
        }
        return {**found, "node": {**node, "path": [step, *node["path"]]}}

    def _first_that_differs(self, body: body_runs.Body, form: Form) -> body_runs.OneRun | None:
        """The first run of a body in which both differ on equal inputs."""
        parties = self._parties
        elsewhere = form.folder if form.folder != form.path.parent else None
        witness, accused = (
            runtimes.of(runtime).open(form.path, optimise=on, folder=elsewhere)
            for runtime, on in (
                (parties.witness, False),
                (parties.accused, parties.optimised),
            )
        )
        noise = _NOISE[parties.profile]
        until = time.monotonic() + _INSIDE_SECONDS
        for run in body.runs(witness):
            pairs = zip(run.outputs, accused(run.inputs), strict=True)
            if max((_distance(one, other) for one, other in pairs), default=0.0) > noise:
                return run
            if time.monotonic() > until:
                return None
        return None

    def _value_of(self, name: str) -> Value:
        """The value of a name of the graph: computed by the witness, given, or stored."""
        from onnx import numpy_helper  # noqa: PLC0415

        if name in self._values:
            return self._values[name]
        stored = next((one for one in self._model.graph.initializer if one.name == name), None)
        if stored is None:
            return None
        return numpy_helper.to_array(stored, base_dir=str(self._form.folder))

    def _suspects(self) -> list[_Suspect]:
        noise = _NOISE[self._parties.profile]
        found = []
        for index, node in enumerate(self._model.graph.node):
            made = max((self._errors.get(name, 0.0) for name in node.output if name), default=0.0)
            given = max((self._errors.get(name, 0.0) for name in _reads(node)), default=0.0)
            if made > noise and made >= _JUMP * given:
                found.append(_Suspect(index, node))
        return found[:_MOST_SUSPECTS]

    def _alone(self, cut: onnx.ModelProto | None) -> Figures | None:
        """Run the cut-out in both; the worst output's figures, None where one does not run it."""
        import onnx  # noqa: PLC0415

        if cut is None:
            return None
        place = self._places.work / "alone.onnx"
        onnx.save(cut, str(place))
        names = [port.name for port in cut.graph.input]
        feeds = {name: self._values[name] for name in names}
        sides = []
        parties = self._parties
        for runtime, on in ((parties.witness, False), (parties.accused, parties.optimised)):
            try:
                sides.append(runtimes.of(runtime).open(place, optimise=on)(feeds))
            except MemoryError:
                raise
            except Exception:  # noqa: BLE001 - a library may raise anything here
                return None
        each = [
            agreement.compare(port.name, left, right, self._profile)
            for port, left, right in zip(cut.graph.output, *sides, strict=True)
        ]
        return max(each, key=lambda one: (not one.agrees, one.outside))

    def _unproven(self, suspect: _Suspect) -> Figures:
        """Say of a node that does not run alone how far its worst output was off in the graph."""
        name = max(
            (name for name in suspect.node.output if name), key=lambda one: self._errors[one]
        )
        value = self._values[name]
        words = f"{name} differs in the graph; the node does not run alone"
        return agreement.Figures(
            text.clip(name, 200),
            str(getattr(value, "dtype", "")),
            list(getattr(value, "shape", ())),
            agrees=False,
            reason=words,
            max_rel=self._errors[name],
            profile=self._profile.name,
        )

    def _told(self, suspect: _Suspect, figures: Figures, *, alone: bool) -> dict[str, Any]:
        node = suspect.node
        return {
            "name": text.clip(node.name or next(iter(node.output), ""), 200),
            "op": text.clip(_spelt(node), 200),
            "index": suspect.index,
            "path": [],
            "figures": figures.to_json(),
            "alone": alone,
        }

    def _pack(self, cut: onnx.ModelProto | None, suspect: _Suspect) -> str:
        if cut is None:
            return ""
        feeds = {port.name: self._values[port.name] for port in cut.graph.input}
        believed = runtimes.of(self._parties.believed)
        place = self._places.work / "alone.onnx"
        values = believed.open(place, optimise=False)(feeds)
        outputs = {port.name: value for port, value in zip(cut.graph.output, values, strict=True)}
        stem = f"diverging-{_UNFIT.sub('-', suspect.node.op_type)[:60]}"
        known = (self._places.out / f"{stem}.zip").exists()
        name = f"{stem}-{suspect.index}.zip" if known else f"{stem}.zip"
        dataset = DataSet("test_data_set_0", "generated", feeds, outputs)
        return name if pack(cut, dataset, self._places, name) else ""


def _nothing(note: str) -> dict[str, Any]:
    return {"node": None, "evidence": "", "note": note}


def _spelt(node: onnx.NodeProto) -> str:
    plain = node.domain in {"", "ai.onnx"}
    return str(node.op_type) if plain else f"{node.domain}.{node.op_type}"


def used_values(graph: onnx.GraphProto) -> list[str]:
    """Name the values that nodes make and that an output of the graph depends on, in order."""
    used = {port.name for port in graph.output}
    for node in reversed(graph.node):
        if used.intersection(node.output):
            used.update(_reads(node))
    return [name for node in graph.node for name in node.output if name in used]


def _reads(node: onnx.NodeProto) -> list[str]:
    """Name what a node reads, values of the outer scope that its bodies use included."""
    names = [name for name in node.input if name]
    for body in bodies.bodies(node):
        names += bodies.captured(body)
    return list(dict.fromkeys(names))


def _distance(expected: Value, actual: Value) -> float:
    """Give the largest error in units of the largest value; inf where the values are unlike."""
    figures = agreement.compare("", expected, actual, agreement.FP32)
    if figures.max_abs is None:
        return 0.0 if figures.agrees else float("inf")
    if not figures.max_abs:
        return 0.0 if figures.agrees else float("inf")
    return figures.max_abs / max(_magnitude(expected), 1e-6)


def _magnitude(value: Value) -> float:
    import numpy as np  # noqa: PLC0415

    if isinstance(value, list | dict) or value is None or not value.size:
        return 0.0
    if value.dtype.kind in "OUSTb":
        return 1.0
    kind = np.complex128 if value.dtype.kind == "c" else np.float64
    wide = np.abs(value.astype(kind))
    finite = wide[np.isfinite(wide)]
    return float(finite.max()) if finite.size else 0.0


def cut_out(
    model: onnx.ModelProto, node: onnx.NodeProto, values: dict[str, Value], folder: Path
) -> onnx.ModelProto | None:
    """Make a model of this node alone: weights stay weights, computed values become inputs.

    None where something it reads is not known, or is no tensor.
    """
    import onnx  # noqa: PLC0415
    from onnx import external_data_helper  # noqa: PLC0415

    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    cut = onnx.ModelProto(ir_version=model.ir_version, producer_name="onnx-hub")
    cut.opset_import.extend(model.opset_import)
    cut.functions.extend(model.functions)
    cut.graph.name = "cut_out"
    cut.graph.node.append(node)
    sparse = {tensor.values.name: tensor for tensor in model.graph.sparse_initializer}
    for name in _reads(node):
        if name in sparse:
            cut.graph.sparse_initializer.append(sparse[name])
        elif name in tensors:
            cut.graph.initializer.append(tensors[name])
        elif (port := _port(name, values.get(name))) is not None:
            cut.graph.input.append(port)
        else:
            return None
    external_data_helper.load_external_data_for_model(cut, str(folder))
    for name in node.output:
        if name in values:  # the others are used by nothing
            port = _port(name, values[name])
            if port is None:
                return None
            cut.graph.output.append(port)
    return cut


def _port(name: str, value: Value) -> onnx.ValueInfoProto | None:
    from onnx import helper  # noqa: PLC0415

    if value is None or isinstance(value, list | dict):
        return None
    if value.dtype.kind in "OUST":
        return helper.make_tensor_value_info(name, 8, list(value.shape))
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, list(value.shape))


def pack(cut: onnx.ModelProto, dataset: DataSet, places: Places, name: str) -> bool:
    """Write model.onnx and its data set as a zip; False where it would be too large."""
    import zipfile  # noqa: PLC0415

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
