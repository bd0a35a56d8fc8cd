"""A model at another operator set: what children do to make it, check it and look into it.

Each function is the work of one child. The weights are never all in memory
while converting; the new file names the same external data as the original.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hub.protocol.proofs import HiddenDifference
from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import opsets
from runners.engine.checks import check
from runners.engine.onnx_files import bodies, datasets, describe, text
from runners.engine.onnx_files.bodies import DEFAULT_DOMAINS
from runners.engine.opsets import normal, rules, schemas, weights
from runners.engine.runs import agreement, child_runs
from runners.engine.runs.answers import Blocking, Converted, Difference, Inside, Survey, name_of
from runners.engine.runtimes import probing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx

    from runners.engine.onnx_files.datasets import DataSet
    from runners.engine.reports import Scan
    from runners.engine.runs.agreement import Figures, Profile
    from runners.engine.runs.answers import Name
    from runners.engine.runs.child_runs import Form

IR_LOWERED = "ir-version-lowered"
_MOST_BLOCKING = 50
_MOST_VALUES = 5_000


def survey(path: Path) -> Survey:
    """Tell where the model stands and how far the runtime goes.

    Raises InvalidModelError for a model whose operator sets are not definite.
    """
    model = weights.read(path)
    opset, ir_version = probing.highest()
    return Survey(normal.normalise(model), int(model.ir_version), opset, ir_version)


def make(path: Path, target: int, highest_ir: int, candidate: Path) -> Converted:
    """Convert the model and write it."""
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
        sorted(op for op in operators if not _is_carried(op, source, target)),
        [
            Blocking(
                name_of(one.node),
                name_of(one.op),
                one.source,
                one.target,
                text.message(one.reason),
            )
            for one in conversion.blocking[:_MOST_BLOCKING]
        ],
    )


def _is_carried(op: str, source: int, target: int) -> bool:
    """Whether nodes of an operator go over as they are: at most more types are allowed."""
    if schemas.same(op, source, target):
        return True
    return rules.find(op, source, target) is None and schemas.widened(op, source, target)


def examine(path: Path) -> dict[str, str]:
    """Ask the checker and strict inference; answers what each says against the model."""
    return {
        "checker": check.complaint(lambda: check.run_checker(path, {}), path),
        "inference": check.complaint(lambda: check.run_inference(path), path),
    }


def tell(path: Path, entry: str, sizes: Mapping[str, int]) -> Scan:
    """Describe the new file as any upload would be described."""
    with path.open("rb") as file:
        return describe.describe(file.fileno(), entry, {**sizes, entry: path.stat().st_size})


def first_difference(
    original: Form, changed: Form, sets: Path, name: str, profile: str
) -> Difference | None:
    """Find the first value, in the changed model's order, in which the two part on a data set.

    A conversion keeps names, so values of one name are compared; those inside bodies are not seen.
    """
    matches = [one for one in datasets.read(sets, original.load()) if one.name == name]
    for values in _inside(original, changed, matches[:1], child_runs.PROFILES[profile]):
        for maker, figures in values:
            if not figures.agrees:
                return Difference(*maker, figures.to_json())
    return None


def inner_values(original: Form, changed: Form, sets: Path, profile: str) -> Inside:
    """Compare the values inside both models, those that no output shows too."""
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
    original: Form, changed: Form, sets: Sequence[DataSet], profile: Profile
) -> Iterator[list[tuple[tuple[Name, Name], Figures]]]:
    """Compare the values of equal names, unoptimised: a list for each data set, in their order.

    Values that nothing reads, and those of another type in the other operator set, are left out: a
    mask of Dropout is both.
    """
    forms = (original, changed)
    models = [form.load() for form in forms]
    read = [set(_values(model)) & _read(model) for model in models]
    names = [one for one in _values(models[1]) if one in read[0] & read[1]][:_MOST_VALUES]
    if not names or not sets:
        return
    runs = [form.open(ONNXRUNTIME, optimise=False, outputs=names) for form in forms]
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
    """Name what any node or body reads, and the outputs of the graph."""
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
