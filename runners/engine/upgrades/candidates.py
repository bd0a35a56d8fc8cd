"""A model at another operator set: what children do to make it, check it and look into it.

Each function is the work of one child and answers plain data. The weights are never all in memory
while converting; the new file names the same external data as the original.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hub.protocol.vocabularies import ONNXRUNTIME
from runners.engine import runtimes
from runners.engine.checks import check
from runners.engine.onnx_files import bodies, datasets, describe, text
from runners.engine.runs import agreement, child_runs
from runners.engine.runtimes import probing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx

    from runners.engine.onnx_files.datasets import DataSet
    from runners.engine.runs.agreement import Figures, Profile
    from runners.engine.runs.child_runs import Form

IR_LOWERED = "ir-version-lowered"
_MOST_BLOCKING = 50
_MOST_VALUES = 5_000
_NAME = 200


def survey(path: Path) -> dict[str, Any]:
    """Tell where the model stands and how far the runtime goes.

    Raises InvalidModelError for a model whose operator sets are not definite.
    """
    from runners.engine.opsets import normal, weights  # noqa: PLC0415 - only children convert

    model = weights.read(path)
    opset, ir_version = probing.highest()
    source = normal.normalise(model)
    return {
        "source": source,
        "ir_version": int(model.ir_version),
        "highest": opset,
        "highest_ir": ir_version,
    }


def make(path: Path, target: int, highest_ir: int, made: Path) -> dict[str, Any]:
    """Convert the model and write it; answers what became of it.

    Keys: "rules", "changed", "untouched", "blocking", and "operators_changed": those whose meaning
    differs between the two operator sets, or that a rule rewrites.
    """
    from runners.engine import opsets  # noqa: PLC0415
    from runners.engine.opsets import normal, schemas, weights  # noqa: PLC0415

    model = weights.read(path)
    before = model.SerializeToString(deterministic=True)
    done = opsets.convert(model, target)
    rules = list(done.rules)
    changed = False
    if done.model is not None:
        if normal.lower_ir(done.model, highest_ir):
            rules.append(IR_LOWERED)
        changed = done.model.SerializeToString(deterministic=True) != before
        weights.write(done.model, path, made)
    return {
        "rules": rules,
        "changed": changed,
        "untouched": done.untouched,
        "operators_changed": sorted(
            {
                node.op_type
                for node in bodies.nodes(model)
                if schemas.is_default(node.domain)
                and not _is_carried(node.op_type, done.source, done.target)
            }
        ),
        "blocking": [
            {
                **one.to_json(),
                "node": text.clip(one.node, _NAME),
                "op": text.clip(one.op, _NAME),
                "reason": text.message(one.reason),
            }
            for one in done.blocking[:_MOST_BLOCKING]
        ],
    }


def _is_carried(op: str, source: int, target: int) -> bool:
    """Whether nodes of an operator go over as they are: at most more types are allowed."""
    from runners.engine.opsets import rules, schemas  # noqa: PLC0415

    if schemas.same(op, source, target):
        return True
    return rules.find(op, source, target) is None and schemas.widened(op, source, target)


def examine(path: Path) -> dict[str, str]:
    """Ask the checker and strict inference; answers what each says against the model."""
    said = {}
    for name, task in (
        ("checker", lambda: check.run_checker(path, {})),
        ("inference", lambda: check.run_inference(path)),
    ):
        try:
            task()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - any complaint of the library is an answer
            said[name] = text.message(str(error), str(path.parent))
        else:
            said[name] = ""
    return said


def tell(path: Path, entry: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Describe the new file as any upload would be described."""
    with path.open("rb") as file:
        return describe.describe(file.fileno(), entry, {**sizes, entry: path.stat().st_size})


def first_difference(
    original: Form, changed: Form, sets: Path, name: str, profile: str
) -> dict[str, Any] | None:
    """Find the first value, in the changed model's order, in which the two part on a data set.

    A conversion keeps names, so values of one name are compared; those inside bodies are not seen.
    """
    model = child_runs.load(original.path)
    chosen = [one for one in datasets.read(sets, model) if one.name == name]
    for found in _inside(original, changed, chosen[:1], child_runs.PROFILES[profile]):
        for maker, figures in found:
            if not figures.agrees:
                return {**maker, "figures": figures.to_json()}
    return None


def inner_values(original: Form, changed: Form, sets: Path, profile: str) -> dict[str, Any]:
    """Compare the values inside both models, those that no output shows too.

    Answers {"compared": how many values, "node": the first that makes another value, or None}; a
    node is {"name", "op", "worst": the largest absolute difference, None if not finite}.
    """
    count = 0
    for found in _inside(
        original,
        changed,
        datasets.read(sets, child_runs.load(original.path)),
        child_runs.PROFILES[profile],
    ):
        count = max(count, len(found))
        for maker, figures in found:
            if not figures.agrees:
                worst = figures.max_abs
                finite = worst is not None and math.isfinite(worst)
                return {"compared": count, "node": {**maker, "worst": worst if finite else None}}
    return {"compared": count, "node": None}


def _inside(
    original: Form, changed: Form, sets: Sequence[DataSet], profile: Profile
) -> Iterator[list[tuple[dict[str, str], Figures]]]:
    """Compare the values of equal names, unoptimised: a list for each data set, in their order.

    Values that nothing reads, and those of another type in the other operator set, are left out: a
    mask of Dropout is both.
    """
    models = [child_runs.load(form.path) for form in (original, changed)]
    read = [set(_values(model)) & _read(model) for model in models]
    wanted = [one for one in _values(models[1]) if one in read[0] & read[1]][:_MOST_VALUES]
    if not wanted or not sets:
        return
    runtime = runtimes.of(ONNXRUNTIME)
    runs = []
    for form in (original, changed):
        elsewhere = form.folder if form.folder != form.path.parent else None
        runs.append(runtime.open(form.path, optimise=False, outputs=wanted, folder=elsewhere))
    makers = [_maker(models[1], value) for value in wanted]
    for one in sets:
        sides = [run(one.inputs) for run in runs]
        yield [
            (maker, agreement.compare(value, left, right, profile))
            for maker, value, left, right in zip(makers, wanted, *sides, strict=True)
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


def _maker(model: onnx.ModelProto, value: str) -> dict[str, str]:
    for node in model.graph.node:
        if value in node.output:
            return {
                "name": text.clip(node.name or value, _NAME),
                "op": text.clip(node.op_type, _NAME),
            }
    return {"name": text.clip(value, _NAME), "op": ""}
