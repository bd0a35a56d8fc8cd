"""What runs of a model show about its outputs, and whether an upgrade stays within its noise.

Each function is the work of one child and answers plain data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runners.engine.onnx_files import bodies, datasets, text
from runners.engine.runs import child_runs
from runners.engine.upgrades import noise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy as np
    import onnx

    Array = np.ndarray[Any, Any]

_MOST_ROWS = 200
_NAME = 200


def states(path: Path, results: Sequence[Path]) -> dict[str, Any]:
    """Give each output's `proofs.State` over all runs in these folders, by its clipped name.

    "empty": no elements anywhere; "not-finite": no finite number anywhere; "constant": the same on
    all of at least two runs; "independent": it depends on no input. Answers {name: {"state",
    "operators": those of the default domain that lead to it}}.
    """
    model = child_runs.load(path)
    values: dict[str, list[list[Array]]] = {port.name: [] for port in model.graph.output}
    for folder in results:
        for one in datasets.read(folder, model) if folder.is_dir() else []:
            for name, value in one.outputs.items():
                values[name].append(noise.leaves(value))
    inputs = {port.name for port in datasets.required_inputs(model)}
    answer = {}
    for name, runs in values.items():
        reached, operators = _behind(model, name)
        state = _state(runs, free=inputs.isdisjoint(reached))
        answer[text.clip(name, _NAME)] = {"state": state, "operators": sorted(operators)}
    return answer


def _state(runs: list[list[Array]], *, free: bool) -> str:
    arrays = [leaf for run in runs for leaf in run]
    if free:
        return "independent"
    if not any(leaf.size for leaf in arrays):
        return "empty"
    if not any(_has_finite(leaf) for leaf in arrays):
        return "not-finite"
    return "constant" if len(runs) > 1 and _is_constant(runs) else "compared"


def _has_finite(array: Array) -> bool:
    import numpy as np  # noqa: PLC0415 - only children load it

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
    import numpy as np  # noqa: PLC0415

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
            if one.domain in {"", "ai.onnx"}:
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


def hold(path: Path, runs: Sequence[Path], actual: Path) -> dict[str, Any]:
    """Hold the outputs in `actual` against the original's own runs, the first as a user runs it.

    Answers as `trials.compare`; each row has the original's `noise` beside its figures.
    """
    model = child_runs.load(path)
    own = [
        {one.name: one for one in datasets.read(folder, model)} if folder.is_dir() else {}
        for folder in runs
    ]
    rows, names, worst = [], [], ""
    for found in datasets.read(actual, model) if actual.is_dir() else []:
        if found.name not in own[0]:
            continue
        names.append(found.name)
        held = [side[found.name].outputs for side in own if found.name in side]
        for name in own[0][found.name].outputs:
            values = [side[name] for side in held if name in side]
            figures, spread = noise.judge(text.clip(name, _NAME), values, found.outputs.get(name))
            row = {"dataset": child_runs.shown(found.name), **figures.to_json(), "noise": spread}
            rows.append(row)
            worst = worst or ("" if figures.agrees else found.name)
    bad = [row for row in rows if not row["agrees"]]
    good = [row for row in rows if row["agrees"]]
    good.sort(key=lambda row: -_size(row["max_abs"]))
    return {"sets": names, "agrees": not bad, "rows": (bad + good)[:_MOST_ROWS], "worst": worst}


def _size(figure: Any) -> float:
    return float(figure) if isinstance(figure, int | float) else 0.0


def pick(sources: Sequence[tuple[Path, Path]], target: Path, most: int) -> dict[str, int]:
    """Copy the first data sets of each folder that have results in the folder beside it."""
    import shutil  # noqa: PLC0415

    count = 0
    for source, results in sources:
        ran = {one.name for one in results.iterdir()} if results.is_dir() else set()
        homes = [one for one in sorted(source.iterdir()) if one.name in ran]
        for home in homes[:most]:
            shutil.copytree(home, target / home.name, dirs_exist_ok=True)
            count += 1
    return {"sets": count}
