"""A model at another operator set: what children do to make it, check it and look into it.

Each function is the work of one child and answers plain data. The weights are never all in memory
while converting; the new file names the same external data as the original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.engine import agreement, check, datasets, describe, runtimes, text, trials

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx

    from runners.engine.trials import Form

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
    opset, ir_version = runtimes.highest()
    source = normal.normalise(model)
    return {
        "source": source,
        "ir_version": int(model.ir_version),
        "highest": opset,
        "highest_ir": ir_version,
    }


def make(path: Path, target: int, highest_ir: int, made: Path) -> dict[str, Any]:
    """Convert the model and write it; answers {"rules", "changed", "untouched", "blocking"}."""
    from runners.engine import opsets  # noqa: PLC0415
    from runners.engine.opsets import normal, weights  # noqa: PLC0415

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
    models = [trials.load(form.path) for form in (original, changed)]
    common = set(_values(models[0])) & set(_values(models[1]))
    wanted = [one for one in _values(models[1]) if one in common][:_MOST_VALUES]
    chosen = [one for one in datasets.read(sets, models[0]) if one.name == name]
    if not wanted or not chosen:
        return None
    runtime = runtimes.of(runtimes.ONNXRUNTIME)
    sides = []
    for form in (original, changed):
        elsewhere = form.folder if form.folder != form.path.parent else None
        run = runtime.open(form.path, optimise=False, outputs=wanted, folder=elsewhere)
        sides.append(run(chosen[0].inputs))
    for value, left, right in zip(wanted, *sides, strict=True):
        figures = agreement.compare(value, left, right, trials.PROFILES[profile])
        if not figures.agrees:
            return {**_maker(models[1], value), "figures": figures.to_json()}
    return None


def _values(model: onnx.ModelProto) -> list[str]:
    return [name for node in model.graph.node for name in node.output if name]


def _maker(model: onnx.ModelProto, value: str) -> dict[str, str]:
    for node in model.graph.node:
        if value in node.output:
            return {
                "name": text.clip(node.name or value, _NAME),
                "op": text.clip(node.op_type, _NAME),
            }
    return {"name": text.clip(value, _NAME), "op": ""}
