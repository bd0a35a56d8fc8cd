"""The runs that conformance compares: each function is the work of one child.

They hand values on as data sets in the job's work folder and answer with names, words and figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hub.protocol import inputs as declarations
from hub.protocol.vocabularies import REFERENCE
from runners.engine import runtimes
from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.onnx_files.datasets import DataSet, UnreadableDataError
from runners.engine.runs import agreement, generate
from runners.engine.runtimes import probing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnx

BUNDLED, GENERATED = "bundled", "generated"
# Of an upgrade: other kinds of values, and those of a search for branches that none has entered.
VARIED, SEARCHED = "varied", "searched"
MOST_SETS = 16
_MOST_ROWS = 200
_PREFIX = "test_data_set_"
_SHAPE_SUFFIX = "__SHAPE"


@dataclass(frozen=True, slots=True)
class Form:
    """One file to run: the model as uploaded or as upgraded, and where its external data lies."""

    path: Path
    folder: Path


def load(path: Path) -> onnx.ModelProto:
    import onnx  # noqa: PLC0415 - only a child may hold an upload and the library together

    return onnx.load(str(path), load_external_data=False)


def prepare(path: Path, sets: Path) -> dict[str, Any]:
    """Read the bundled data into `sets`, and tell what the checks need to know of the model."""
    model = load(path)
    problem, unusable, kept = "", [], []
    try:
        found = datasets.read(path.parent, model)
    except UnreadableDataError as error:
        found, problem = [], text.message(str(error))
    for dataset in found[:MOST_SETS]:
        whole = _completed(dataset, model)
        if isinstance(whole, str):
            unusable.append(whole)
            continue
        datasets.write(sets / BUNDLED, whole, model)
        kept.append(whole.name)
    return {
        "bundled": kept,
        "left_out": len(found[MOST_SETS:]),
        "unusable": unusable,
        "problem": problem,
        "profile": agreement.profile_for(model).name,
        "half": bodies.uses_half(model),
        "nodes": len(running := bodies.running(model)),
        "bodies": any(bodies.bodies(node) for node in running),
        "inputs": [port.name for port in datasets.required_inputs(model)],
        "random": bodies.random_operators(model),
    }


def _completed(dataset: DataSet, model: onnx.ModelProto) -> DataSet | str:
    """Give the set with all its inputs, or why it cannot be used."""
    if not dataset.outputs:
        return f"{dataset.name} has no outputs"
    needed = datasets.required_inputs(model)
    lacking = [port.name for port in needed if port.name not in dataset.inputs]
    if not lacking:
        return dataset
    value = _known_input(model) if not dataset.inputs else None
    if value is None:
        return f"{dataset.name} has no value for the input {text.clip(lacking[0], 100)!r}"
    return replace(dataset, inputs=value)


def _known_input(model: onnx.ModelProto) -> dict[str, Any] | None:
    """Make the input of the onnx package's light models, whose data sets hold outputs only.

    They are known by weights that are filled from initializers named `..__SHAPE`; the runner of
    the ONNX tests gives their one input the values k / n.
    """
    import numpy as np  # noqa: PLC0415

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
) -> dict[str, Any]:
    """Generate data sets of these sizes into `sets`; `declared` is the card's key `inputs`.

    `examples` is the folder of the version's files, for the examples that the card names.
    """
    model = load(path)
    make = {GENERATED: generate.datasets, VARIED: generate.varied, SEARCHED: generate.search}
    try:
        made = make[origin](model, seed=seed, sizes=sizes, declared=declarations.parse(declared))
    except generate.CannotGenerateError as error:
        return {"generated": [], "problem": text.message(str(error))}
    if origin == VARIED and (example := _example(examples, model, declared, seed, sizes)):
        made.append(example)
    for dataset in made:
        datasets.write(sets / origin, dataset, model)
    return {"generated": [dataset.name for dataset in made], "problem": ""}


def _example(
    folder: Path | None, model: onnx.ModelProto, declared: Any, seed: int, sizes: Sequence[int]
) -> DataSet | None:
    """Make a set of the card's example arrays; an input without one gets generated values."""
    inputs = {one.name: one for one in declarations.parse(declared)}
    values = generate.generate(model, seed=seed, size=sizes[0])
    read = {}
    for port in datasets.required_inputs(model):
        named = (inputs[port.name].example if port.name in inputs else None) or ""
        if folder is None or not named.lower().endswith(declarations.ARRAYS):
            continue
        place = folder.joinpath(*named.split("/"))
        if not place.is_file():
            continue
        try:
            value = datasets.read_example(place, port)
        except UnreadableDataError:
            continue
        kind = getattr(values[port.name], "dtype", None)
        if kind is not None and getattr(value, "dtype", None) == kind:
            read[port.name] = value
    return DataSet("generated-example", "generated", {**values, **read}) if read else None


def upgrade(path: Path, target: Path, runtime: str) -> dict[str, Any]:
    """Convert to the newest operator set that the runtime and the reference both run.

    The file made refers to external data as the original does.
    """
    import onnx  # noqa: PLC0415

    from runners.engine import opsets  # noqa: PLC0415 - heavy, and only this child needs it

    wanted = min(probing.highest(name)[0] for name in {runtime, REFERENCE})
    done = opsets.convert(load(path), wanted)
    if done.model is None or done.source == done.target:
        return {"changed": False, "opset": done.source}
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(done.model, str(target))
    return {"changed": True, "opset": done.target}


def run(
    runtime: str, form: Form, sets: Path, results: Path, *, optimise: bool = True
) -> dict[str, Any]:
    """Run every set; its outputs become a set of the same name in `results`.

    Answers {"refused": {set: why}}; what loading raises is the child's own end.
    """
    model = load(form.path)
    found = datasets.read(sets, model)
    elsewhere = form.folder if form.folder != form.path.parent else None
    go = runtimes.of(runtime).open(form.path, optimise=optimise, folder=elsewhere)
    names = [port.name for port in model.graph.output]
    refused = {}
    for dataset in found:
        try:
            values = go(dataset.inputs)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a library may raise anything here
            words = f"{type(error).__name__}: {error}"
            refused[dataset.name] = text.message(words, str(form.folder), str(form.path.parent))
            continue
        outputs = dict(zip(names, values, strict=True))
        datasets.write(results, replace(dataset, inputs={}, outputs=outputs), model)
    return {"refused": refused, "sets": len(found)}


def count(results: Path) -> dict[str, int]:
    """Tell how many sets have results, whoever ended the run that made them."""
    return {"done": sum(1 for _ in results.iterdir()) if results.is_dir() else 0}


def compare(path: Path, expected: Path, actual: Path, profile: str) -> dict[str, Any]:
    """Compare the outputs of the sets that both sides have; all rows that disagree are kept."""
    model = load(path)
    tolerance = PROFILES[profile]
    right = {dataset.name: dataset for dataset in _read(actual, model)}
    rows, names, worst = [], [], ""
    for left in _read(expected, model):
        if left.name not in right:
            continue
        names.append(left.name)
        for name, value in left.outputs.items():
            other = right[left.name].outputs.get(name)
            figures = agreement.compare(text.clip(name, 200), value, other, tolerance)
            rows.append({"dataset": shown(left.name), **figures.to_json()})
            worst = worst or ("" if figures.agrees else left.name)
    bad = [row for row in rows if not row["agrees"]]
    good = [row for row in rows if row["agrees"]]
    return {
        "sets": names,
        "agrees": not bad,
        "rows": (bad + good)[:_MOST_ROWS],
        "worst": worst,
    }


def _read(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    return datasets.read(folder, model) if folder.is_dir() else []


def shown(name: str) -> str:
    """Give a set's name as people see it: `generated-2`, or the folder's own name."""
    bare = name.removeprefix(_PREFIX)
    return bare if bare.startswith(GENERATED) else name


PROFILES = {
    profile.name: profile
    for profile in (agreement.FP32, agreement.FP16, agreement.QUANTISED, agreement.EXACT)
}
