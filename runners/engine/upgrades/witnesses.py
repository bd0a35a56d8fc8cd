"""The few data sets on which slow comparisons run: one of each origin.

Each public function runs in one child, or in the middle of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hub.protocol.vocabularies import REFERENCE
from runners.engine import runtimes
from runners.engine.onnx_files import datasets, text
from runners.engine.onnx_files.datasets import DataSet, Value
from runners.engine.runs import agreement, child_runs, noise
from runners.engine.runs.answers import Message
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runtimes import onnx_reference
from runners.engine.upgrades.answers import ReferenceRuns

if TYPE_CHECKING:
    import onnx


def first_sets(
    sources: Sequence[tuple[Path, Path]], model: onnx.ModelProto
) -> Iterator[tuple[DataSet, DataSet]]:
    """The first data set of each source that has outputs: its inputs, and its outputs.

    A source is a pair of folders, of data sets and of their outputs.
    """
    for sets, results in sources:
        inputs = {dataset.name: dataset for dataset in datasets.read(sets, model)}
        for outputs in child_runs.outputs_in(results, model):
            if outputs.name in inputs:
                yield inputs[outputs.name], outputs
                break


@onnx_reference.nodes_once()
def reference(
    model_files: tuple[ModelFile, ModelFile], sources: Sequence[tuple[Path, Path]], profile: str
) -> ReferenceRuns:
    """Run original and new model in the reference on the first data set of each source.

    The original must give the outputs of the source by the tolerance of ``profile``, and the new
    model must give those of the original up to rounding.
    """
    model = model_files[0].load()
    tolerance = child_runs.PROFILES[profile]
    names = [port.name for port in model.graph.output]
    runs = [runtimes.attempt(partial(file.open, REFERENCE)) for file in model_files]
    count = 0
    for inputs, outputs in first_sets(sources, model):
        values: list[list[Value]] = []
        for run in runs:
            if isinstance(run, Exception):
                return _silent(len(values), run)
            value = runtimes.attempt(run, inputs.inputs)
            if isinstance(value, Exception):
                return _silent(len(values), value)
            if not values and not all(
                agreement.compare(name, outputs.outputs.get(name), element, tolerance).agrees
                for name, element in zip(names, value, strict=True)
            ):
                words = "the reference does not give what the runtime gives on the original"
                return ReferenceRuns(agrees=False, note=Message(words))
            values.append(value)
        for name, before, after in zip(names, *values, strict=True):
            figures, _ = noise.judge(name, [before], after)
            if not figures.agrees:
                words = f"the reference gives other values for the new model: {figures.reason}"
                return ReferenceRuns(agrees=False, note=Message(words))
        count += 1
    return ReferenceRuns(agrees=bool(count), note=Message(""))


def _silent(place: int, error: Exception) -> ReferenceRuns:
    """The answer where the reference does not run a model: 0, the original, or 1, the new one."""
    words = text.message(f"the reference does not run the new model: {error}") if place else ""
    return ReferenceRuns(agrees=False, note=Message(words))
