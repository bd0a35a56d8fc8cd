"""Runs of a model, and comparisons of their outputs; each public function runs in one child.

Tensors pass between children as data sets in the job's work folder. The answers hold only names,
messages and figures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hub.protocol import inputs as declarations
from hub.protocol.inputs import DeclaredInput
from hub.protocol.vocabularies import REFERENCE
from runners.engine import opsets, runtimes
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.onnx_files.datasets import DataSet, UnreadableDataError, Value
from runners.engine.runs import agreement, branch_inputs, generate, specification
from runners.engine.runs.answers import (
    MOST_ROWS,
    Comparison,
    Generated,
    Name,
    Names,
    Prepared,
    Ran,
    Row,
    ShapeDifference,
)
from runners.engine.runs.generate import GENERATED, SEARCHED, VARIED
from runners.engine.runtimes import probing

BUNDLED = "bundled"
MOST_SETS = 16
_PREFIX = "test_data_set_"
_SHAPE_SUFFIX = "__SHAPE"


class FileKind(StrEnum):
    """Which file of a model is run: the uploaded one, or one converted to another opset."""

    ORIGINAL = "original"
    UPGRADED = "upgraded"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file to run, and the folder of its external data."""

    path: Path
    folder: Path
    kind: FileKind = FileKind.UPGRADED

    def load(self) -> onnx.ModelProto:
        return load(self.path)

    def open(
        self, runtime: str, *, optimise: bool = True, outputs: Sequence[str] = ()
    ) -> runtimes.Run:
        """Load the file in a runtime; raises what `Runtime.open` raises."""
        elsewhere = self.folder if self.folder != self.path.parent else None
        return runtimes.of(runtime).open(
            self.path, optimise=optimise, outputs=outputs, folder=elsewhere
        )


def load(path: Path) -> onnx.ModelProto:
    return onnx.load(str(path), load_external_data=False)


def prepare(path: Path, sets: Path) -> Prepared:
    """Copy the usable data sets beside the model into the folder `sets`, and describe the model."""
    model = load(path)
    problem, unusable, usable = "", [], []
    try:
        bundled = datasets.read(path.parent, model)
    except UnreadableDataError as error:
        bundled, problem = [], text.message(str(error))
    for dataset in bundled[:MOST_SETS]:
        whole = _completed(dataset, model)
        if isinstance(whole, str):
            unusable.append(Name(whole))
            continue
        datasets.write(sets / BUNDLED, whole, model)
        usable.append(Name(whole.name))
    nodes = bodies.running(model)
    return Prepared(
        bundled=usable,
        left_out=len(bundled[MOST_SETS:]),
        unusable=unusable,
        problem=problem,
        profile=agreement.profile_for(model).name,
        half=bodies.uses_half(model),
        narrow=specification.has_narrow_floats(model),
        nodes=len(nodes),
        bodies=any(bodies.bodies(node) for node in nodes),
        inputs=[Name(port.name) for port in datasets.required_inputs(model)],
        random=list(map(Name, bodies.random_operators(model))),
    )


def _completed(dataset: DataSet, model: onnx.ModelProto) -> DataSet | str:
    """The data set with all inputs of the model, or why it cannot be used."""
    if not dataset.outputs:
        return f"{dataset.name} has no outputs"
    inputs = datasets.required_inputs(model)
    missing = [port.name for port in inputs if port.name not in dataset.inputs]
    if not missing:
        return dataset
    value = _known_input(model) if not dataset.inputs else None
    if value is None:
        return f"{dataset.name} has no value for the input {text.clip(missing[0], 100)!r}"
    return replace(dataset, inputs=value)


def _known_input(model: onnx.ModelProto) -> dict[str, Value] | None:
    """The input of a light model of the onnx package, whose data sets have outputs only.

    Such a model fills its weights with ConstantOfShape from initializers named `…__SHAPE`. Like the
    runner of the ONNX tests, element k of its only input, of n elements, is k / n (float32).
    """
    ports = datasets.required_inputs(model)
    light = any(
        node.op_type == "ConstantOfShape" and node.input[0].endswith(_SHAPE_SUFFIX)
        for node in model.graph.node
    )
    if not light or len(ports) != 1 or ports[0].type.tensor_type.elem_type != 1:
        return None
    shape = [dim.dim_value for dim in ports[0].type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    if not shape or not 0 < count <= 1 << 24:
        return None
    return {ports[0].name: (np.arange(count).reshape(shape) / count).astype(np.float32)}


def make_inputs(
    path: Path,
    sets: Path,
    seed: int,
    sizes: Sequence[int],
    *,
    declared: Any = None,
    origin: str = GENERATED,
    examples: Path | None = None,
    ran: Sequence[Path] = (),
) -> Generated:
    """Generate data sets, one for each size of free dimensions, into the folder `sets`.

    `declared` is the card's key `inputs`; `examples` is the folder of the version's files, which
    has the example arrays that the card names. `ran` are folders of data sets that ran, of which
    the first is varied in the search for inputs that enter branches.
    """
    model = load(path)
    inputs = declarations.parse(declared)
    try:
        generated = generate.datasets(model, seed=seed, sizes=sizes, declared=inputs, origin=origin)
    except generate.CannotGenerateError as error:
        return Generated([], text.message(str(error)))
    if origin == VARIED and (example := _example(examples, model, inputs, seed, sizes)):
        generated.append(example)
    if origin == SEARCHED and (base := _first(ran, model, sizes)):
        generated += branch_inputs.varied(model, base.inputs)
    for dataset in generated:
        datasets.write(sets / origin, dataset, model)
    return Generated([Name(dataset.name) for dataset in generated], "")


def _first(folders: Sequence[Path], model: onnx.ModelProto, sizes: Sequence[int]) -> DataSet | None:
    """The first bundled data set, else the generated one of the smallest size that ran."""
    sets = [each for folder in folders if folder.is_dir() for each in datasets.read(folder, model)]
    fit = (each for each in sets if title_of(each.name) == f"{GENERATED}-{sizes[0]}")
    bundled = (each for each in sets if title_of(each.name) == each.name)
    return next(bundled, None) or next(fit, None)


def _example(
    folder: Path | None,
    model: onnx.ModelProto,
    declared: Sequence[DeclaredInput],
    seed: int,
    sizes: Sequence[int],
) -> DataSet | None:
    """A data set of the card's example arrays; inputs without an example get generated values."""
    files = {declared_input.name: declared_input.example or "" for declared_input in declared}
    values = generate.generate(model, seed=seed, size=sizes[0])
    read = {}
    for port in datasets.required_inputs(model):
        name = files.get(port.name, "")
        if folder is None or not name.lower().endswith(declarations.ARRAYS):
            continue
        try:
            value = datasets.read_example(folder.joinpath(*name.split("/")), port)
        except (OSError, UnreadableDataError):
            continue
        kind = getattr(values[port.name], "dtype", None)
        if kind is not None and getattr(value, "dtype", None) == kind:
            read[port.name] = value
    return DataSet("generated-example", "generated", {**values, **read}) if read else None


def upgrade(path: Path, target: Path, runtime: str) -> int:
    """Convert to the newest opset that both the runtime and the reference run; 0 without success.

    A conversion that leaves the meaning of the model's operator set is none. The new file refers to
    the same external data as the original.
    """
    highest = min(probing.highest(name)[0] for name in {runtime, REFERENCE})
    model = load(path)
    conversion = opsets.convert(model, highest)
    if conversion.model is None or conversion.source == conversion.target:
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(conversion.model, str(target))
    return 0 if specification.unjudged(model, conversion.model) else conversion.target


def run(
    runtime: str,
    model_file: ModelFile,
    origins: Sequence[tuple[Path, Path]],
    *,
    optimise: bool = True,
    budget: float = math.inf,
) -> list[Ran]:
    """Run every data set of each origin in one session, which is loaded once.

    An origin is a pair of folders: its data sets, and their outputs, which are written as data sets
    of the same names. The first set of an origin always runs. A later one is left out if the
    estimated processor time of all sets would exceed `budget` seconds. Errors of loading are
    raised.
    """
    began = time.process_time()
    model = model_file.load()
    execute = model_file.open(runtime, optimise=optimise)
    loading = time.process_time() - began
    return [
        _run(execute, model_file, model, sets, results, loading, budget)
        for sets, results in origins
    ]


def _run(
    execute: runtimes.Run,
    model_file: ModelFile,
    model: onnx.ModelProto,
    sets: Path,
    results: Path,
    loading: float,
    budget: float,
) -> Ran:
    names = [port.name for port in model.graph.output]
    refused = {}
    shapes: dict[str, ShapeDifference] = {}
    seconds = loading
    # Processor seconds per input element of the slowest data set so far. The time of the next set
    # is estimated as its number of input elements times this.
    pace = 0.0
    left_out = 0
    inputs = datasets.read(sets, model)
    if budget < math.inf:
        # Sets of special values have a word instead of a size: run them before larger sizes.
        inputs[1:] = sorted(inputs[1:], key=lambda dataset: dataset.name[-1].isdigit())
    for dataset in inputs:
        elements = _elements(dataset)
        if pace and seconds + pace * elements > budget:
            left_out += 1
            continue
        began = time.process_time()
        values = runtimes.attempt(execute, dataset.inputs)
        spent = time.process_time() - began
        seconds, pace = seconds + spent, max(pace, spent / elements)
        if isinstance(values, Exception):
            words = f"{type(values).__name__}: {values}"
            refused[dataset.name] = text.message(
                words, str(model_file.folder), str(model_file.path.parent)
            )
            continue
        outputs = dict(zip(names, values, strict=True))
        for port in model.graph.output:
            difference = _shape_difference(port, outputs[port.name], dataset.name)
            if difference is not None:
                shapes.setdefault(port.name, difference)
        datasets.write(results, replace(dataset, inputs={}, outputs=outputs), model)
    differences = list(shapes.values())[:MOST_ROWS]
    return Ran(refused, len(inputs) - left_out, seconds, left_out, differences)


def _shape_difference(
    port: onnx.ValueInfoProto, value: Value, dataset: str
) -> ShapeDifference | None:
    """How an output's shape contradicts the declared one: another rank, or another fixed dimension.

    A dimension with a name, or with a negative value, declares no size. None without a difference.
    """
    tensor = port.type.tensor_type
    if not tensor.HasField("shape") or not isinstance(value, np.ndarray):
        return None
    dims = tensor.shape.dim
    fixed = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in dims]
    pairs = zip(fixed, value.shape, strict=False)
    if len(fixed) == value.ndim and all(size < 0 or size == length for size, length in pairs):
        return None
    words = (
        str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims
    )
    return ShapeDifference(
        Name(text.clip(port.name, 100)),
        Name(text.clip(f"[{', '.join(words)}]", 100)),
        Name(text.clip(f"[{', '.join(map(str, value.shape))}]", 100)),
        Name(dataset),
    )


def _elements(dataset: DataSet) -> int:
    """Number of elements of all inputs, at least 1; running time is roughly proportional to it."""
    arrays = [value for value in dataset.inputs.values() if isinstance(value, np.ndarray)]
    return max(1, sum(int(array.size) for array in arrays))


def count(results: Path) -> int:
    """Count the data sets that have results, also after a run that was ended early."""
    return sum(1 for _ in results.iterdir()) if results.is_dir() else 0


def names_in(results: Path) -> Names:
    """Names of the data sets that have results, in order."""
    return [Name(place.name) for place in sorted(results.iterdir())] if results.is_dir() else []


def compare(path: Path, expected: Path, actual: Path, profile: str) -> Comparison:
    """Compare outputs of the data sets that both folders have, by the tolerance of a profile."""
    model = load(path)
    tolerance = PROFILES[profile]
    right = {dataset.name: dataset for dataset in outputs_in(actual, model)}
    rows: list[Row] = []
    names: Names = []
    worst = ""
    for left in outputs_in(expected, model):
        if left.name not in right:
            continue
        names.append(Name(left.name))
        for name, value in left.outputs.items():
            other = right[left.name].outputs.get(name)
            figures = agreement.compare(text.clip(name, 200), value, other, tolerance)
            rows.append({"dataset": title_of(left.name), **figures.to_json()})
            worst = worst or ("" if figures.agrees else left.name)
    return comparison(names, rows, worst)


def overflows(path: Path, expected: Path, actual: Path) -> list[Name]:
    """Outputs that are infinite or NaN in one run and finite in the other, with the data set."""
    model = load(path)
    finite = {dataset.name: dataset.outputs for dataset in outputs_in(actual, model)}
    places = []
    for dataset in outputs_in(expected, model):
        for name, value in dataset.outputs.items():
            other = finite.get(dataset.name, {}).get(name)
            if not isinstance(value, np.ndarray) or not isinstance(other, np.ndarray):
                continue
            if value.shape != other.shape or not _is_float(value) or not _is_float(other):
                continue
            left, right = agreement.wide(value), agreement.wide(other)
            if (~np.isfinite(left) & np.isfinite(right)).any():
                places.append(Name(f"{text.clip(name, 100)} of {title_of(dataset.name)}"))
    return places


def _is_float(value: np.ndarray[Any, Any]) -> bool:
    return not (agreement.is_text(value) or agreement.is_whole(value.dtype)) and (
        value.dtype != np.bool_
    )


def outputs_in(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    """The outputs of a run as data sets; empty if the run wrote no folder."""
    return datasets.read(folder, model) if folder.is_dir() else []


def comparison(names: Names, rows: list[Row], worst: str) -> Comparison:
    """A comparison of at most `MOST_ROWS` rows, those that disagree first."""
    ordered = sorted(rows, key=lambda row: bool(row["agrees"]))
    agrees = all(row["agrees"] for row in rows)
    return Comparison(names, agrees, ordered[:MOST_ROWS], worst)


def title_of(name: str) -> str:
    """Display name of a data set: `generated-2` for generated ones, else the folder's name."""
    bare = name.removeprefix(_PREFIX)
    return bare if bare.startswith(GENERATED) else name


PROFILES = {
    profile.name: profile
    for profile in (agreement.FP32, agreement.FP16, agreement.QUANTISED, agreement.EXACT)
}
