"""Names that nothing in a model has yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runners.engine.onnx_files.bodies import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx


class Names:
    """Every value and node name of a model, so that new ones cannot collide."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._names: set[str] = set()
        for graph in every_graph(model):
            for values in (graph.input, graph.output, graph.value_info, graph.initializer):
                self._names.update(value.name for value in values)
            self._names.update(sparse.values.name for sparse in graph.sparse_initializer)
            for node in graph.node:
                self._names.update((node.name, *node.input, *node.output))

    def fresh(self, base: str) -> str:
        """Give a name like `base` that is not taken, and take it."""
        name, count = base, 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name


def every_graph(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Give the main graph, those of training, and all graphs inside nodes."""
    yield from within(model.graph)
    for training in model.training_info:
        yield from within(training.initialization)
        yield from within(training.algorithm)


def within(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Give a graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for inner in bodies(node):
            yield from within(inner)
