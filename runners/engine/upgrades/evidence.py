"""What runs of a model show about its outputs, and whether an upgrade stays within its noise.

Each function is the work of one child.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from runners.engine.onnx_files import bodies, datasets
from runners.engine.runs import child_runs
from runners.engine.runs.answers import Name, OutputState, States, name_of, number
from runners.engine.upgrades import noise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import onnx

    from hub.protocol import proofs
    from runners.engine.runs.answers import Comparison, Names, Row

    Array = np.ndarray[Any, Any]


def states(path: Path, results: Sequence[Path]) -> States:
    """Give each output's `proofs.State` over all runs in these folders, by its clipped name.

    "empty": no elements anywhere; "not-finite": no finite number anywhere; "constant": the same on
    all of at least two runs; "independent": it depends on no input.
    """
    model = child_runs.load(path)
    values: dict[str, list[list[Array]]] = {port.name: [] for port in model.graph.output}
    for folder in results:
        for dataset in child_runs.outputs_in(folder, model):
            for name, value in dataset.outputs.items():
                values[name].append(noise.leaves(value))
    inputs = {port.name for port in datasets.required_inputs(model)}
    outputs = []
    for name, runs in values.items():
        reached, operators = _behind(model, name)
        state = _state(runs, free=inputs.isdisjoint(reached))
        outputs.append(OutputState(name_of(name), state, sorted(operators)))
    return States(outputs)


def _state(runs: list[list[Array]], *, free: bool) -> proofs.State:
    arrays = [leaf for run in runs for leaf in run]
    if free:
        return "independent"
    if not any(leaf.size for leaf in arrays):
        return "empty"
    if not any(_has_finite(leaf) for leaf in arrays):
        return "not-finite"
    return "constant" if len(runs) > 1 and _is_constant(runs) else "compared"


def _has_finite(array: Array) -> bool:
    if array.dtype.kind in "OUSTbiu":
        return bool(array.size)
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return bool(np.isfinite(array.astype(wide)).any())


def _is_constant(runs: list[list[Array]]) -> bool:
    """Whether inputs make no difference: one value for each shape, and one number over shapes."""
    by_shape: dict[tuple[Any, ...], bytes] = {}
    for run in runs:
        shape = tuple((leaf.dtype.name, leaf.shape) for leaf in run)
        content = b"".join(_content(leaf) for leaf in run)
        if by_shape.setdefault(shape, content) != content:
            return False
    if len(by_shape) == 1:
        return True
    elements = {element for run in runs for leaf in run for element in _elements(leaf)}
    return len(elements) <= 1


def _content(array: Array) -> bytes:
    if array.dtype.kind in "OUST":
        return "\0".join(map(str, array.reshape(-1))).encode("utf-8", "replace")
    return array.tobytes()


def _elements(array: Array) -> set[Any]:
    if array.dtype.kind in "OUST":
        return set(map(str, array.reshape(-1)))
    raw = np.ascontiguousarray(array)
    return {one.tobytes() for one in np.unique(raw.view((np.void, raw.dtype.itemsize)))}


def _behind(model: onnx.ModelProto, output: str) -> tuple[set[str], set[str]]:
    """Name the values that lead to an output, and the operators of the default domain that do."""
    reached, operators = {output}, set()
    functions = {(one.domain, one.name): one for one in model.functions}
    for node in reversed(model.graph.node):
        if reached.isdisjoint(node.output):
            continue
        reached.update(name for name in _reads(node) if name)
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one.domain in bodies.DEFAULT_DOMAINS:
                operators.add(one.op_type)
            waiting += [inner for body in bodies.bodies(one) for inner in body.node]
            called = functions.pop((one.domain, one.op_type), None)
            waiting += [] if called is None else called.node
    return reached, operators


def _reads(node: onnx.NodeProto) -> Iterable[str]:
    yield from node.input
    for body in bodies.bodies(node):
        yield from (port.name for port in body.output)
        for inner in body.node:
            yield from _reads(inner)


def hold(path: Path, runs: Sequence[Path], actual: Path) -> Comparison:
    """Hold the outputs in `actual` against the original's own runs, the first as a user runs it.

    Each row has the original's `noise` beside its figures.
    """
    model = child_runs.load(path)
    own = [
        {dataset.name: dataset.outputs for dataset in child_runs.outputs_in(folder, model)}
        for folder in runs
    ]
    rows: list[Row] = []
    names: Names = []
    worst = ""
    for dataset in child_runs.outputs_in(actual, model):
        if dataset.name not in own[0]:
            continue
        names.append(Name(dataset.name))
        sides = [side[dataset.name] for side in own if dataset.name in side]
        for name in sides[0]:
            values = [side[name] for side in sides if name in side]
            figures, spread = noise.judge(name_of(name), values, dataset.outputs.get(name))
            title = child_runs.title_of(dataset.name)
            rows.append({"dataset": title, **figures.to_json(), "noise": spread})
            worst = worst or ("" if figures.agrees else dataset.name)
    # Of those that agree, the largest difference comes first.
    rows.sort(key=lambda row: -number(row["max_abs"], 0.0) if row["agrees"] else 0.0)
    return child_runs.comparison(names, rows, worst)


def pick(sources: Sequence[tuple[Path, Path]], target: Path, most: int) -> dict[str, int]:
    """Copy the first data sets of each folder that have results in the folder beside it."""
    count = 0
    for source, results in sources:
        ran = {one.name for one in results.iterdir()} if results.is_dir() else set()
        homes = [one for one in sorted(source.iterdir()) if one.name in ran]
        for home in homes[:most]:
            shutil.copytree(home, target / home.name, dirs_exist_ok=True)
            count += 1
    return {"sets": count}
