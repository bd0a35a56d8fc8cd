"""What runs of a model show about its outputs, and comparisons with the noise of the original.

Each public function runs in one child.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hub.protocol import proofs
from hub.protocol.input_ranges import InputRanges
from runners.engine.onnx_files import bodies, datasets
from runners.engine.runs import agreement, child_runs, noise
from runners.engine.runs.answers import Comparison, Name, Names, Row, name_of, number
from runners.engine.upgrades.answers import Observations, OutputState

if TYPE_CHECKING:
    import onnx

    Array = np.ndarray[Any, Any]


def observe(path: Path, results: Sequence[Path], sets: Sequence[Path]) -> Observations:
    """What the runs of the original on some data sets show: of its outputs, and of its inputs."""
    return Observations(states(path, results), ranges(path, sets))


def ranges(path: Path, sets: Sequence[Path]) -> InputRanges:
    """The sizes of free dimensions and the magnitudes of all inputs in these folders."""
    model = child_runs.load(path)
    free = {
        port.name: [
            place
            for place, dim in enumerate(port.type.tensor_type.shape.dim)
            if not dim.HasField("dim_value")
        ]
        for port in model.graph.input
    }
    sides: set[int] = set()
    magnitudes: set[float] = set()
    integers: set[int] = set()
    for folder in sets:
        for dataset in datasets.read(folder, model):
            for name, value in dataset.inputs.items():
                for leaf in noise.leaves(value):
                    shape = leaf.shape
                    sides.update(shape[place] for place in free.get(name, ()) if place < leaf.ndim)
                    magnitudes.update(_magnitudes(leaf))
                    if leaf.dtype.kind in "iu" and leaf.size:
                        integers |= {int(leaf.min()), int(leaf.max())}
    return InputRanges(
        *(min(sides, default=None), max(sides, default=None)),
        *(max(magnitudes, default=None), min(magnitudes - {0.0}, default=None)),
        *(min(integers, default=None), max(integers, default=None)),
    )


def _magnitudes(leaf: Array) -> set[float]:
    """The greatest absolute value of a float tensor that is finite, and the least but 0."""
    if leaf.dtype.kind in "OUSTbiu":
        return set()
    values = np.abs(agreement.wide(leaf)).reshape(-1)
    values = values[np.isfinite(values)]
    above = values[values > 0]
    return (
        {float(values.max()), float(above.min() if above.size else 0.0)} if values.size else set()
    )


def states(path: Path, results: Sequence[Path]) -> list[OutputState]:
    """The state of each output over all runs in these folders.

    "independent": it depends on no input; "empty": it never has elements; "not-finite": it never
    has a finite number; "constant": it is the same in at least two runs; else "compared". Only
    outputs in the first and the last state can show that two models differ.
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
        ancestors, operators = _ancestors(model, name)
        state = _state(runs, is_independent=inputs.isdisjoint(ancestors))
        unseen = _unseen(runs) if state == "compared" else None
        outputs.append(OutputState(name_of(name), state, sorted(operators), unseen))
    return outputs


def _state(runs: list[list[Array]], *, is_independent: bool) -> proofs.State:
    arrays = [leaf for run in runs for leaf in run]
    if is_independent:
        return "independent"
    if not any(leaf.size for leaf in arrays):
        return "empty"
    if not any(_has_finite(leaf) for leaf in arrays):
        return "not-finite"
    return "constant" if len(runs) > 1 and _is_constant(runs) else "compared"


def _unseen(runs: list[list[Array]]) -> proofs.UnseenElements | None:
    """The elements that are finite in no run; None if there are none, or values are no tensors.

    Runs of one shape are taken together, and the shape of which most was finite counts.
    """
    finite_by_shape: dict[tuple[int, ...], Array] = {}
    for run in runs:
        if len(run) != 1 or run[0].dtype.kind in "OUSTbiu":
            return None
        finite = np.isfinite(agreement.wide(run[0]))
        finite_by_shape[finite.shape] = (
            finite_by_shape.get(finite.shape, np.zeros_like(finite)) | finite
        )
    parts = [finite.reshape(-1) for finite in finite_by_shape.values() if finite.size]
    if not parts or any(part.all() for part in parts):
        return None
    best = max(parts, key=lambda part: float(part.mean()))
    missing = np.flatnonzero(~best)
    return proofs.UnseenElements(int(missing.size), int(best.size), int(missing[0]))


def _has_finite(array: Array) -> bool:
    if array.dtype.kind in "OUSTbiu":
        return bool(array.size)
    return bool(np.isfinite(agreement.wide(array)).any())


def _is_constant(runs: list[list[Array]]) -> bool:
    """Whether the output is the same on all inputs.

    Outputs of equal shape must be equal byte for byte. If shapes differ, all elements of all
    outputs must be equal.
    """
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
    if agreement.is_text(array):
        return "\0".join(map(str, array.reshape(-1))).encode("utf-8", "replace")
    return array.tobytes()


def _elements(array: Array) -> set[Any]:
    if agreement.is_text(array):
        return set(map(str, array.reshape(-1)))
    raw = np.ascontiguousarray(array)
    return {element.tobytes() for element in np.unique(raw.view((np.void, raw.dtype.itemsize)))}


def _ancestors(model: onnx.ModelProto, output: str) -> tuple[set[str], set[str]]:
    """Names of the values that an output depends on, and the default-domain operators between.

    Operators of inner graphs and of local functions are included.
    """
    values = {output}
    makers = []
    for node in reversed(bodies.ordered(model.graph.node)):
        if not values.isdisjoint(node.output):
            values.update(bodies.reads(node))
            makers.append(node)
    reached = bodies.running(model, makers)
    return values, {node.op_type for node in reached if node.domain in bodies.DEFAULT_DOMAINS}


def compare(path: Path, runs: Sequence[Path], actual: Path) -> Comparison:
    """Compare the outputs in `actual` with runs of the original, by its noise.

    The first run has the default settings; the others show the noise. Each row has the `noise`
    beside the figures of the comparison with the first run.
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
            rows.append({"dataset": title, **figures.to_json(), "noise": agreement.number(spread)})
            worst = worst or ("" if figures.agrees else dataset.name)
    # Rows that agree are sorted by difference, the largest first.
    rows.sort(key=lambda row: -number(row["max_abs"], 0.0) if row["agrees"] else 0.0)
    return child_runs.comparison(names, rows, worst)
