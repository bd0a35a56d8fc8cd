"""Steps of an upgrade that read a model: convert, check, describe, compare inner values.

Each public function runs in one child. Weights are never loaded all at once during conversion; the
new file refers to the same external data as the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hub.protocol.proofs import HiddenDifference
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import opsets
from runners.engine.checks import check
from runners.engine.onnx_files import bodies, datasets, describe, text
from runners.engine.onnx_files.bodies import DEFAULT_DOMAINS
from runners.engine.opsets import normal, rules, schemas, weights
from runners.engine.runs import agreement, child_runs
from runners.engine.runs.answers import (
    Blocking,
    Converted,
    Difference,
    Inside,
    Message,
    Name,
    Survey,
    name_of,
)
from runners.engine.runtimes import probing

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

    from runners.engine.onnx_files.datasets import DataSet
    from runners.engine.reports import Scan
    from runners.engine.runs.agreement import Figures, Profile
    from runners.engine.runs.child_runs import ModelFile

IR_LOWERED = "ir-version-lowered"
_MOST_BLOCKING = 50
_MOST_VALUES = 5_000


def survey(path: Path) -> Survey:
    """Opset and IR version of the model, and the highest ones that the runtime loads.

    Raises InvalidModelError if the opset imports of the model are ambiguous.
    """
    model = weights.read(path)
    opset, ir_version = probing.highest()
    return Survey(normal.normalise(model), int(model.ir_version), opset, ir_version)


def make(path: Path, target: int, highest_ir: int, candidate: Path) -> Converted:
    """Convert the model to the opset `target` and write it to `candidate`.

    The IR version is lowered to `highest_ir` where the model allows it.
    """
    model = weights.read(path)
    before = model.SerializeToString(deterministic=True)
    conversion = opsets.convert(model, target)
    rules_used = list(conversion.rules)
    changed = False
    if conversion.model is not None:
        if normal.lower_ir(conversion.model, highest_ir):
            rules_used.append(IR_LOWERED)
        changed = conversion.model.SerializeToString(deterministic=True) != before
        weights.write(conversion.model, path, candidate)
    operators = {node.op_type for node in bodies.nodes(model) if node.domain in DEFAULT_DOMAINS}
    source, target = conversion.source, conversion.target
    return Converted(
        rules_used,
        changed,
        conversion.untouched,
        sorted(op for op in operators if not _is_unchanged(op, source, target)),
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
    )


def _is_unchanged(op: str, source: int, target: int) -> bool:
    """Whether nodes of an operator need no conversion: only more types were allowed since."""
    if schemas.same(op, source, target):
        return True
    return rules.find(op, source, target) is None and schemas.widened(op, source, target)


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


def inner_values(original: ModelFile, changed: ModelFile, sets: Path, profile: str) -> Inside:
    """Compare intermediate values of both models, also those that influence no output."""
    count = 0
    inputs = datasets.read(sets, original.load())
    for values in _inside(original, changed, inputs, child_runs.PROFILES[profile]):
        count = max(count, len(values))
        for maker, figures in values:
            if not figures.agrees:
                worst = figures.max_abs
                finite = worst is not None and math.isfinite(worst)
                return Inside(count, HiddenDifference(*maker, worst if finite else None))
    return Inside(count, None)


def _inside(
    original: ModelFile, changed: ModelFile, sets: Sequence[DataSet], profile: Profile
) -> Iterator[list[tuple[tuple[Name, Name], Figures]]]:
    """Compare values of equal names without graph optimisation; a list for each data set.

    Each entry is the node that makes a value, with its operator, and the comparison. Values that no
    node reads, and values whose type differs between the opsets, are left out, such as the mask of
    Dropout.
    """
    model_files = (original, changed)
    models = [model_file.load() for model_file in model_files]
    read = [set(_values(model)) & _read(model) for model in models]
    common = read[0] & read[1]
    names = [name for name in _values(models[1]) if name in common][:_MOST_VALUES]
    if not names or not sets:
        return
    runs = [
        model_file.open(ONNXRUNTIME, optimise=False, outputs=names) for model_file in model_files
    ]
    makers = _makers(models[1])
    for dataset in sets:
        sides = [run(dataset.inputs) for run in runs]
        yield [
            (makers[name], agreement.compare(name, left, right, profile, brief=True))
            for name, left, right in zip(names, *sides, strict=True)
            if getattr(left, "dtype", None) == getattr(right, "dtype", None)
        ]


def _values(model: onnx.ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in node.output if name]


def _read(model: onnx.ModelProto) -> set[str]:
    """Names that a node or an inner graph reads, and the outputs of the graph."""
    graphs = [model.graph]
    graphs += [body for node in bodies.nodes(model) for body in bodies.bodies(node)]
    names = {port.name for graph in graphs for port in graph.output}
    return names.union(*(node.input for node in bodies.nodes(model)))


def _makers(model: onnx.ModelProto) -> dict[str, tuple[Name, Name]]:
    """The node that makes each value of the main graph, and its operator, by the value's name."""
    return {
        value: (name_of(node.name or value), name_of(node.op_type))
        for node in reversed(model.graph.node)
        for value in node.output
    }
