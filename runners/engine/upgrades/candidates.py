"""Steps of an upgrade that read a model: convert, check, describe, compare inner values.

Each public function runs in one child. Weights are never loaded all at once during conversion; the
new file refers to the same external data as the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hub.protocol.proofs import HiddenDifference
from runners.engine import opsets
from runners.engine.certificates import keys
from runners.engine.checks import check
from runners.engine.onnx_files import bodies, datasets, describe, text
from runners.engine.onnx_files.bodies import DEFAULT_DOMAINS
from runners.engine.onnx_files.datasets import DataSet
from runners.engine.opsets import normal, weights
from runners.engine.reports import Scan
from runners.engine.runs import child_runs
from runners.engine.runs.agreement import Profile
from runners.engine.runs.answers import Message, name_of
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runtimes import probing
from runners.engine.upgrades import body_values, witnesses
from runners.engine.upgrades.answers import Blocking, Converted, Difference, Inside, Survey
from runners.engine.upgrades.body_values import BodyComparison, ComparedValue, NamedRun, Side

if TYPE_CHECKING:
    import onnx


IR_LOWERED = "ir-version-lowered"
_MOST_BLOCKING = 50


def survey(path: Path) -> Survey:
    """Opset and IR version of the model, and the highest ones that the runtime loads.

    Raises InvalidModelError if the opset imports of the model are ambiguous.
    """
    model = weights.read(path)
    opset, ir_version = probing.highest()
    return Survey(normal.normalise(model), int(model.ir_version), opset, ir_version)


def make(
    path: Path, target: int, highest_ir: int, candidate: Path, twin: tuple[Path, int] | None = None
) -> Converted:
    """Convert the model to the opset `target` and write it to `candidate`.

    The IR version is lowered to `highest_ir` where the model allows it. `twin` is a candidate for
    another opset, and that opset.
    """
    model = weights.read(path)
    before = model.SerializeToString(deterministic=True)
    conversion = opsets.convert(model, target)
    rules_used = list(conversion.rules)
    changed = is_twin = False
    if conversion.model is not None:
        if normal.lower_ir(conversion.model, highest_ir):
            rules_used.append(IR_LOWERED)
        changed = conversion.model.SerializeToString(deterministic=True) != before
        weights.write(conversion.model, path, candidate)
        is_twin = twin is not None and same_meaning(child_runs.load(candidate), target, *twin)
    operators = {node.op_type for node in bodies.nodes(model) if node.domain in DEFAULT_DOMAINS}
    source, target = conversion.source, conversion.target
    return Converted(
        rules_used,
        changed,
        conversion.untouched,
        sorted(op for op in operators if keys.is_converted(op, source, target)),
        [
            Blocking(
                name_of(blocking.node),
                name_of(blocking.op),
                blocking.source,
                blocking.target,
                Message(text.message(blocking.reason)),
            )
            for blocking in conversion.blocking[:_MOST_BLOCKING]
        ],
        is_twin,
    )


def same_meaning(model: onnx.ModelProto, opset: int, other: Path, other_opset: int) -> bool:
    """Whether another file has the same graphs, of operators that mean the same in both opsets.

    Runtimes then compute the same for both.
    """
    twin = child_runs.load(other)
    return (
        model.graph == twin.graph
        and list(model.functions) == list(twin.functions)
        and keys.have_same_operators(model, opset, other_opset)
    )


def examine(path: Path) -> dict[str, str]:
    """Messages of the checker and of strict shape inference; empty if they accept the model."""
    return {
        "checker": check.complaint(lambda: check.run_checker(path, {}), path),
        "inference": check.complaint(lambda: check.run_inference(path), path),
    }


def describe_candidate(path: Path, entry: str, sizes: Mapping[str, int]) -> Scan:
    """Describe the new file like an uploaded file."""
    with path.open("rb") as file:
        return describe.describe(file.fileno(), entry, {**sizes, entry: path.stat().st_size})


def first_difference(
    original: ModelFile, changed: ModelFile, sets: Path, name: str, profile: str
) -> Difference | None:
    """The first intermediate value, in the order of the new model, that differs on a data set.

    Values of equal names are compared, since a conversion keeps names. Values of graphs inside
    nodes are not compared.
    """
    inputs = datasets.read(sets, original.load())
    matches = [dataset for dataset in inputs if dataset.name == name]
    for values in _inside(original, changed, matches[:1], child_runs.PROFILES[profile]):
        for maker, figures in values:
            if not figures.agrees:
                return Difference(*maker, figures.to_json())
    return None


def inner_values(
    original: ModelFile,
    changed: ModelFile,
    sources: Sequence[tuple[Path, Path]],
    profile: str,
    work: Path,
) -> Inside:
    """Compare intermediate values of both models, also those that influence no output.

    Values inside bodies are compared too; a value of several iterations counts as often. Models of
    bodies are written to the folder `work`. `sources` are those of `witnesses.first_sets`.
    """
    most = 0
    inputs = [inputs for inputs, _ in witnesses.first_sets(sources, original.load())]
    comparison = BodyComparison(child_runs.PROFILES[profile], work)
    for values in _inside(original, changed, inputs, comparison.profile, comparison):
        count = 0
        for maker, figures in values:
            count += 1
            if not figures.agrees:
                worst = figures.max_abs
                finite = worst is not None and math.isfinite(worst)
                hidden = HiddenDifference(*maker, worst if finite else None)
                return comparison.answer(max(most, count), hidden)
        most = max(most, count)
    return comparison.answer(most, None)


def _inside(
    original: ModelFile,
    changed: ModelFile,
    sets: Sequence[DataSet],
    profile: Profile,
    comparison: BodyComparison | None = None,
) -> Iterator[Iterator[ComparedValue]]:
    """Compare values of equal names without graph optimisation; an iterator for each data set.

    Values of the main graph come first, then those of bodies if there is a comparison of them.
    """
    model_files = (original, changed)
    models = [model_file.load() for model_file in model_files]
    names = body_values.common_values(*models)
    if not names or not sets:
        return
    outputs = [[*names, *body_values.read_by_bodies(model)] for model in models]
    runs = [
        NamedRun.open(model_file, names_of_run)
        for model_file, names_of_run in zip(model_files, outputs, strict=True)
    ]
    makers = body_values.makers_of(models[1])
    for dataset in sets:
        before, after = (run(dataset.inputs) for run in runs)
        rows = body_values.compared(names, makers, before, after, profile)
        if comparison is not None:
            original_side = Side(models[0], original.folder, dataset.inputs | before)
            changed_side = Side(models[1], changed.folder, dataset.inputs | after)
            rows = chain(rows, comparison.compare(original_side, changed_side))
        yield rows
