"""Runs of the bodies of If, Loop and Scan as models of their own, with the inputs that they have.

A body becomes a main graph: each value that it captures becomes an input or a stored tensor. Loops
follow the outputs of one runtime, so that every iteration has its actual inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from runners.engine.onnx_files import bodies
from runners.engine.onnx_files.datasets import Value
from runners.engine.runtimes import Run

if TYPE_CHECKING:
    ValueOf = Callable[[str], Value]

MOST_ITERATIONS = 1000
# Values that leave a body unchanged are copied, so that every output has a node.
_COPY = "__copy"


@dataclass(frozen=True, slots=True)
class OneRun:
    """One run of a body: its iteration (from 0, else None), its inputs and outputs."""

    iteration: int | None
    inputs: dict[str, Value]
    outputs: list[Value]


@dataclass(frozen=True, slots=True)
class Body:
    """A body as a model, with its outputs in the body's order.

    `attribute` is its name in the node; `captured` are the values it takes from outside.
    """

    model: onnx.ModelProto
    node: onnx.NodeProto
    attribute: str
    captured: dict[str, Value]
    value_of: ValueOf

    def runs(self, go: Run) -> Iterator[OneRun]:
        """The runs of the body; `go` runs it once."""
        match self.node.op_type:
            case "Loop":
                yield from self._loop(go)
            case "Scan":
                yield from self._scan(go)
            case _:
                yield OneRun(None, dict(self.captured), go(self.captured))

    def _loop(self, go: Run) -> Iterator[OneRun]:
        trip_count, condition, *state_inputs = self.node.input
        ports = [port.name for port in _body(self.node, self.attribute).input]
        limit = _whole(self.value_of(trip_count)) if trip_count else MOST_ITERATIONS
        goes_on = not condition or bool(_whole(self.value_of(condition)))
        state = [self.value_of(name) for name in state_inputs]
        for iteration in range(min(limit, MOST_ITERATIONS)):
            if not goes_on:
                return
            first = [
                self._scalar(np.array(iteration, np.int64), 0),
                self._scalar(np.array(goes_on), 1),
            ]
            inputs = self.captured | dict(zip(ports, [*first, *state], strict=True))
            goes_on_next, *rest = outputs = go(inputs)
            yield OneRun(iteration, inputs, outputs)
            goes_on, state = bool(_whole(goes_on_next)), rest[: len(state)]

    def _scalar(self, value: np.ndarray[Any, Any], place: int) -> Value:
        """A scalar in the shape that the body's input declares: rank 0 or 1."""
        port = _body(self.node, self.attribute).input[place]
        return value.reshape([1] * len(port.type.tensor_type.shape.dim))

    def _scan(self, go: Run) -> Iterator[OneRun]:
        settings = {attribute.name: attribute for attribute in self.node.attribute}
        count = int(settings["num_scan_inputs"].i)
        values = [self.value_of(name) for name in self.node.input]
        state, sequences = values[:-count], [np.asarray(value) for value in values[-count:]]
        axes, back = (
            list(settings[name].ints) if name in settings else [0] * count
            for name in ("scan_input_axes", "scan_input_directions")
        )
        ports = [port.name for port in _body(self.node, self.attribute).input]
        length = sequences[0].shape[axes[0]]
        for iteration in range(min(length, MOST_ITERATIONS)):
            slices = [
                np.take(value, length - 1 - iteration if reverse else iteration, axis=axis)
                for value, axis, reverse in zip(sequences, axes, back, strict=True)
            ]
            inputs = self.captured | dict(zip(ports, [*state, *slices], strict=True))
            outputs = go(inputs)
            yield OneRun(iteration, inputs, outputs)
            state = outputs[: len(state)]


def lookup(model: onnx.ModelProto, folder: Path, values: Mapping[str, Value]) -> ValueOf:
    """A function for the value of a name of the main graph: of a run, or stored; else None.

    `folder` has the model's external data.
    """

    def value_of(name: str) -> Value:
        if name in values:
            return values[name]
        stored = next((tensor for tensor in model.graph.initializer if tensor.name == name), None)
        return None if stored is None else numpy_helper.to_array(stored, base_dir=str(folder))

    return value_of


def of(model: onnx.ModelProto, node: onnx.NodeProto, value_of: ValueOf) -> Body | None:
    """The body that a node ran, as a model; None if there is none or it cannot be cut out.

    `value_of` returns the value of a name of the graph around it, or None.
    """
    if node.domain not in bodies.DEFAULT_DOMAINS:
        return None
    match node.op_type:
        case "If":
            attribute = "then_branch" if _whole(value_of(node.input[0])) else "else_branch"
        case "Loop":
            attribute = "body"
        case "Scan" if (bodies.opset(model) or 1) >= 9:  # before, it had a batch
            attribute = "body"
        case _:
            return None
    return _cut(model, node, attribute, value_of)


def _cut(
    model: onnx.ModelProto, node: onnx.NodeProto, attribute: str, value_of: ValueOf
) -> Body | None:
    body = _body(node, attribute)
    cut = model_like(model, "body")
    graph = cut.graph
    graph.initializer.extend(body.initializer)
    graph.sparse_initializer.extend(body.sparse_initializer)
    graph.value_info.extend(body.value_info)
    graph.node.extend(body.node)
    values = supply(graph, model, bodies.captured(body), value_of)
    # Shapes may change between iterations, and need not be stated inside.
    kinds = {port.name: port.type.tensor_type.elem_type for port in body.input}
    if values is None or not all(kinds.values()):
        return None
    graph.input.extend(
        helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()
    )
    node_outputs = {name for inner in body.node for name in inner.output}
    for place, port in enumerate(body.output):
        output = onnx.ValueInfoProto(name=port.name)
        if port.name not in node_outputs:
            output.name = f"{port.name}{_COPY}{place}"
            graph.node.append(helper.make_node("Identity", [port.name], [output.name]))
        node_outputs.discard(port.name)
        if kind := port.type.tensor_type.elem_type:
            output.type.tensor_type.elem_type = kind
        graph.output.append(output)
    return Body(cut, node, attribute, values, value_of)


def model_like(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """An empty graph of this name, with the opsets and functions of a model."""
    cut = onnx.ModelProto(ir_version=model.ir_version, producer_name="onnx-hub")
    cut.opset_import.extend(model.opset_import)
    cut.functions.extend(model.functions)
    cut.graph.name = name
    return cut


def supply(
    graph: onnx.GraphProto,
    model: onnx.ModelProto,
    names: Iterable[str],
    value_of: ValueOf,
    *,
    with_shapes: bool = False,
) -> dict[str, Value] | None:
    """Supply a cut-out graph with what it reads: stored tensors, and inputs for other values.

    Returns the values of the inputs; None if one is unknown or no tensor.
    """
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    sparse = {tensor.values.name: tensor for tensor in model.graph.sparse_initializer}
    values: dict[str, Value] = {}
    for name in names:
        if name in sparse:
            graph.sparse_initializer.append(sparse[name])
        elif name in stored:
            graph.initializer.append(stored[name])
        elif (port := port_of(name, value := value_of(name), with_shape=with_shapes)) is not None:
            values[name] = value
            graph.input.append(port)
        else:
            return None
    return values


def _body(node: onnx.NodeProto, attribute: str) -> onnx.GraphProto:
    graph: onnx.GraphProto = next(
        candidate.g for candidate in node.attribute if candidate.name == attribute
    )
    return graph


def port_of(name: str, value: Value, *, with_shape: bool) -> onnx.ValueInfoProto | None:
    """An input or output of a value's type; None if the value is no tensor."""
    if value is None or isinstance(value, list | dict):
        return None
    kind = 8 if value.dtype.kind in "OUST" else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, list(value.shape) if with_shape else None)


def _whole(value: Value) -> int:
    return int(np.asarray(value).reshape(-1)[0])
