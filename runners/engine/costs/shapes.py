"""Walks over a graph for given sizes of its free dimensions: the shape of every value.

ONNX infers the outputs of each node; small values from which shapes are computed are folded with
the reference implementation, and branches, loops and scans are entered. Weights are not read, so a
skeleton suffices.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from runners.engine.costs import operators
from runners.engine.costs.operators import Call, UnknownCostError
from runners.engine.costs.values import (
    MOST_FOLDED,
    Value,
    constant,
    content_value,
    named,
    range_length,
    scan_slices,
    shape_content,
    stacked,
    stored_value,
)
from runners.engine.costs.walks import Step, Walk, greatest, known_sum
from runners.engine.onnx_files.vocabulary import DEFAULT_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CONTRIB_DOMAIN = "com.microsoft"
# Operators that return their input without copying its bytes.
_VIEWS = frozenset(
    {
        "Dropout",
        "Flatten",
        "Identity",
        "Reshape",
        "Squeeze",
        "Unsqueeze",
    }
)
_FLOATS = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.BFLOAT16,
)
# Random operators, and those whose output is larger than their input.
_NOT_FOLDED = frozenset(
    {
        "Bernoulli",
        "Expand",
        "EyeLike",
        "Multinomial",
        "OneHot",
        "Pad",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Resize",
        "Tile",
        "Upsample",
    }
)
# Before opset 7 the second input was broadcast to the first, and shapes were not inferred.
_LIKE_THE_FIRST = frozenset({"Add", "Div", "Mul", "Pow", "Sub"})
# Operators that read only the part of their input that they return.
_READS_A_PART = frozenset({"Gather", "GatherElements", "GatherND", "Slice", "Split"})


class Walker:
    """Walks over the graphs of one model; local functions must be inlined before."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        # Before IR 3 no opset was imported, which means opset 1.
        self._opsets = {DEFAULT_DOMAIN: 1} if model.ir_version < 3 else {}
        self._opsets |= {
            opset.domain or DEFAULT_DOMAIN: opset.version for opset in model.opset_import
        }
        self._imports = [
            onnx.helper.make_opsetid(domain, version) for domain, version in self._plain_opsets()
        ]
        self._weighed: set[str] = set()
        stored = {tensor.name for tensor in model.graph.initializer}
        self.inputs = {
            port.name: Value(named(port)) for port in model.graph.input if port.name not in stored
        }

    @property
    def free_dimensions(self) -> list[str]:
        """The names of free dimensions of the inputs, in their order."""
        names = dict.fromkeys(
            dimension.dim_param
            for value in self.inputs.values()
            for dimension in value.type.tensor_type.shape.dim
            if not dimension.HasField("dim_value")
        )
        return list(names)

    def walk(self, sizes: Mapping[str, int]) -> Walk:
        """Walk the graph for these sizes of all its free dimensions."""
        self._weighed = set()
        return self._graph(
            self._model.graph, {}, {name: value.at(sizes) for name, value in self.inputs.items()}
        )

    def _graph(
        self, graph: onnx.GraphProto, outer: Mapping[str, Value], inputs: dict[str, Value]
    ) -> Walk:
        scope = {**outer, **inputs}
        for tensor in graph.initializer:
            scope[tensor.name] = stored_value(tensor)
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = Value(
                onnx.helper.make_tensor_type_proto(sparse.values.data_type, list(sparse.dims)),
                is_weight=True,
            )
        steps = [self._node(node, scope) for node in graph.node]
        return Walk(
            steps,
            {name: value.bytes for name, value in inputs.items()},
            [scope.get(port.name) for port in graph.output],
            [port.name for port in graph.output],
        )

    def _node(self, node: onnx.NodeProto, scope: dict[str, Value]) -> Step:
        operator = operator_of(node)
        step = Step(operator, node.name, is_view=operator in _VIEWS)
        step.uses = tuple(_uses(node))
        inputs = [scope.get(name) if name else None for name in node.input]
        for name, value in zip(node.input, inputs, strict=True):
            if value is not None and value.is_weight and name not in self._weighed:
                self._weighed.add(name)
                step.parameters += value.elements or 0
        if operator in ("If", "Loop", "Scan"):
            outputs = self._control_flow(node, inputs, scope, step)
        else:
            outputs = self._outputs(node, operator, inputs)
            self._count(step, node, inputs, outputs)
        for name, value in zip(node.output, outputs, strict=False):
            if name:
                scope[name] = value
                # Weights are stored anyway; a value of unknown size makes the cost unknown if it is
                # used.
                step.outputs[name] = value.bytes
        return step

    def _count(
        self,
        step: Step,
        node: onnx.NodeProto,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value],
    ) -> None:
        call = Call(
            step.operator,
            {
                attribute.name: onnx.helper.get_attribute_value(attribute)
                for attribute in node.attribute
            },
            tuple(value.shape if value else None for value in inputs),
            tuple(value.shape for value in outputs),
        )
        try:
            step.macs = operators.macs(call)
            if node.domain not in ("", DEFAULT_DOMAIN, CONTRIB_DOMAIN, "ai.onnx.ml"):
                step.macs = None
        except (UnknownCostError, IndexError, ValueError):
            step.macs = None
        if step.is_view or step.operator in ("Constant", "Shape", "Size"):
            return
        output_bytes = known_sum(
            value.bytes for name, value in zip(node.output, outputs, strict=False) if name
        )
        read = [value for value in dict(zip(node.input, inputs, strict=True)).values() if value]
        if step.operator in _READS_A_PART and output_bytes is not None:
            step.bytes = 2 * output_bytes + (known_sum(value.bytes for value in read[1:]) or 0)
            return
        step.bytes = known_sum([output_bytes, *(value.bytes for value in read)])

    def _outputs(
        self, node: onnx.NodeProto, operator: str, inputs: Sequence[Value | None]
    ) -> list[Value]:
        """The outputs of a node, as far as they can be inferred."""
        folded = self._folded(node, operator, inputs)
        if folded is not None:
            return folded
        nothing = [Value(onnx.TypeProto()) for _ in node.output]
        if any(
            name and (value is None or not value.type.WhichOneof("value"))
            for name, value in zip(node.input, inputs, strict=True)
        ):
            return nothing
        domain = node.domain or DEFAULT_DOMAIN
        try:
            schema = onnx.defs.get_schema(
                node.op_type,
                self._opsets.get(domain, 0),
                "" if domain == DEFAULT_DOMAIN else domain,
            )
        except onnx.defs.SchemaError:
            return self._contrib(node, operator, inputs) or nothing
        contents = {
            name: numpy_helper.from_array(value.content)
            for name, value in zip(node.input, inputs, strict=True)
            if value is not None and value.content is not None
        }
        types = {
            name: value.type
            for name, value in zip(node.input, inputs, strict=True)
            if value is not None
        }
        try:
            types = onnx.shape_inference.infer_node_outputs(
                schema,
                node,
                types,
                contents,
                opset_imports=self._imports,
                ir_version=self._model.ir_version,
            )
        except Exception:  # noqa: BLE001 - onnx raises what its C++ code throws
            return nothing
        if operator in _LIKE_THE_FIRST and schema.since_version < 7 and inputs[0] is not None:
            return [replace(inputs[0], content=None, is_weight=False)]
        return [Value(types.get(name, onnx.TypeProto())) for name in node.output]

    def _contrib(
        self, node: onnx.NodeProto, operator: str, inputs: Sequence[Value | None]
    ) -> list[Value] | None:
        call = Call(
            operator,
            {
                attribute.name: onnx.helper.get_attribute_value(attribute)
                for attribute in node.attribute
            },
            tuple(value.shape if value else None for value in inputs),
            (),
        )
        try:
            shapes = operators.contrib_outputs(call)
        except (UnknownCostError, IndexError, ValueError):
            return None
        floats = [
            value.type.tensor_type.elem_type
            for value in inputs
            if value is not None and value.type.tensor_type.elem_type in _FLOATS
        ]
        kind = floats[0] if floats else onnx.TensorProto.FLOAT
        outputs = [
            Value(onnx.helper.make_tensor_type_proto(kind, list(shape)))
            if shape
            else Value(onnx.TypeProto())
            for shape in shapes
        ]
        return [*outputs, *(Value(onnx.TypeProto()) for _ in node.output)][: len(node.output)]

    def _folded(
        self, node: onnx.NodeProto, operator: str, inputs: Sequence[Value | None]
    ) -> list[Value] | None:
        """The content of a value that follows from shapes and small constants; else None."""
        if operator == "Constant":
            return constant(node)
        if operator in ("Shape", "Size"):
            return shape_content(node, inputs[0])
        contents = [value.content for value in inputs if value and value.content is not None]
        if (
            operator in _NOT_FOLDED
            or node.domain not in ("", DEFAULT_DOMAIN)
            or not contents
            or len(contents) < sum(map(bool, node.input))
            or sum(each.size for each in contents) > MOST_FOLDED
            or (operator == "Range" and range_length(contents) > MOST_FOLDED)
            or (operator == "ConstantOfShape" and math.prod(contents[0].tolist()) > MOST_FOLDED)
        ):
            return None
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - half a second, for few

        feeds = dict(zip(filter(None, node.input), contents, strict=True))
        try:
            results = ReferenceEvaluator(self._alone(node)).run(None, feeds)
        except Exception:  # noqa: BLE001 - then the shape is inferred without the content
            return None
        if not all(isinstance(each, np.ndarray | np.generic) for each in results):
            return None
        return [content_value(np.asarray(each)) for each in results]

    def _alone(self, node: onnx.NodeProto) -> onnx.ModelProto:
        """A model of one node, since a bare node would run in the newest opset."""
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        return onnx.helper.make_model(graph, opset_imports=self._imports)

    def _plain_opsets(self) -> Iterable[tuple[str, int]]:
        for domain, version in self._opsets.items():
            yield "" if domain == DEFAULT_DOMAIN else domain, version

    def _control_flow(
        self,
        node: onnx.NodeProto,
        arguments: Sequence[Value | None],
        scope: dict[str, Value],
        step: Step,
    ) -> list[Value]:
        bodies = {
            attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")
        }
        if step.operator == "If":
            return self._branches(arguments, bodies, scope, step)
        if step.operator == "Loop":
            trips = arguments[0].content if arguments and arguments[0] is not None else None
            count = None if trips is None else int(trips.reshape(-1)[0])
            inputs = [
                Value(onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT64, [])),
                Value(onnx.helper.make_tensor_type_proto(onnx.TensorProto.BOOL, [])),
                *(
                    replace(argument, content=None) if argument else None
                    for argument in arguments[2:]
                ),
            ]
            states, first, output_axes = len(arguments) - 2, 1, None
        else:
            numbers = {
                attribute.name: list(attribute.ints) or attribute.i for attribute in node.attribute
            }
            scanned = int(numbers.get("num_scan_inputs", 0))  # type: ignore[arg-type]
            states, first, output_axes = (
                len(arguments) - scanned,
                0,
                numbers.get("scan_output_axes"),
            )
            slices, count = scan_slices(
                arguments[states:], numbers.get("scan_input_axes") or [0] * scanned
            )
            inputs = [
                *(
                    replace(argument, content=None) if argument else None
                    for argument in arguments[:states]
                )
            ]
            inputs += slices
        walk = self._body(bodies.get("body"), inputs, scope, step)
        if walk is None:
            return [Value(onnx.TypeProto()) for _ in node.output]
        step.macs, step.bytes = (
            0 if figure == 0 else None if figure is None or count is None else figure * count
            for figure in (walk.macs, walk.bytes)
        )
        carried = walk.outputs[first : first + states]
        parts = walk.outputs[first + states :]
        collected = [
            stacked(part, count, axis)
            for part, axis in zip(parts, output_axes or [0] * len(parts), strict=False)
        ]
        return [value or Value(onnx.TypeProto()) for value in (*carried, *collected)]

    def _branches(
        self,
        inputs: Sequence[Value | None],
        bodies: Mapping[str, onnx.GraphProto],
        scope: dict[str, Value],
        step: Step,
    ) -> list[Value]:
        """The more expensive branch, or the one that a constant condition selects."""
        condition = inputs[0].content if inputs and inputs[0] is not None else None
        names = ["then_branch", "else_branch"]
        if condition is not None:
            names = names[:1] if bool(condition.reshape(-1)[0]) else names[1:]
        walks = [self._graph(bodies[name], scope, {}) for name in names if name in bodies]
        step.macs = greatest(walk.macs for walk in walks)
        step.bytes = greatest(walk.bytes for walk in walks)
        step.inner_peak = greatest(greatest(walk.live()) for walk in walks)
        outputs = []
        for values in zip(*(walk.outputs for walk in walks), strict=False):
            types = {value.type.SerializeToString() if value else b"" for value in values}
            outputs.append(values[0] if len(types) == 1 and values[0] else Value(onnx.TypeProto()))
        return [replace(output, content=None) for output in outputs]

    def _body(
        self,
        body: onnx.GraphProto | None,
        inputs: Sequence[Value | None],
        scope: dict[str, Value],
        step: Step,
    ) -> Walk | None:
        if body is None or len(body.input) != len(inputs):
            step.macs = step.bytes = step.inner_peak = None
            return None
        named_inputs = {
            port.name: value or Value(onnx.TypeProto())
            for port, value in zip(body.input, inputs, strict=True)
        }
        walk = self._graph(body, scope, named_inputs)
        step.inner_peak = greatest(walk.live())
        return walk


def operator_of(node: onnx.NodeProto) -> str:
    """The operator's name, after its domain where that is not ONNX's."""
    return node.op_type if node.domain in ("", DEFAULT_DOMAIN) else f"{node.domain}.{node.op_type}"


def _uses(node: onnx.NodeProto) -> Iterable[str]:
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            for inner in graph.node:
                yield from _uses(inner)
            yield from (output.name for output in graph.output)
