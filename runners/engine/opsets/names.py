"""Unused names of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runners.engine.onnx_files import bodies

if TYPE_CHECKING:
    import onnx


class Names:
    """All names of values and nodes of a model, so that new names do not collide."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._names: set[str] = set()
        for graph in every_graph(model):
            for values in (graph.input, graph.output, graph.value_info, graph.initializer):
                self._names.update(value.name for value in values)
            self._names.update(sparse.values.name for sparse in graph.sparse_initializer)
            for node in graph.node:
                self._names.update((node.name, *node.input, *node.output))

    def fresh(self, base: str) -> str:
        """A new unused name similar to `base`."""
        name, count = base, 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name


def every_graph(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph, graphs of training, and all graphs inside nodes."""
    for graph in (model.graph, *training_graphs(model)):
        yield from bodies.graphs_of(graph)


def training_graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The graphs of training, without those inside nodes."""
    for training in model.training_info:
        yield training.initialization
        yield training.algorithm
