"""Walks over a graph for given sizes of its free dimensions: the shape of every value.

ONNX infers the outputs of each node; small values from which shapes are computed are folded with
the reference implementation, and branches, loops and scans are entered. Weights are not read, so a
skeleton suffices.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import numpy_helper

from runners.engine.costs import control_flow, operators
from runners.engine.costs.amounts import Amount
from runners.engine.costs.operators import Call, UnknownCostError
from runners.engine.costs.values import (
    MOST_FOLDED,
    Value,
    constant,
    content_value,
    named,
    range_length,
    shape_content,
    stored_value,
)
from runners.engine.costs.walks import Step, Walk, known_sum
from runners.engine.onnx_files import bodies, parameters, scan
from runners.engine.onnx_files.vocabulary import DEFAULT_DOMAIN

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


@dataclass(frozen=True, slots=True)
class _Graph:
    """A graph with its number in the scan, and its nodes in an order in which they can run."""

    graph: onnx.GraphProto
    number: int
    nodes: tuple[_Node, ...]

    @classmethod
    def of(cls, graph: onnx.GraphProto, numbers: Iterator[int]) -> _Graph:
        """Number the graph and its bodies as the scan does, in the order of the file."""
        number = next(numbers)
        inner = {
            node.output[0] if node.output else "": {
                attribute.name: cls.of(attribute.g, numbers)
                for attribute in node.attribute
                if attribute.HasField("g")
            }
            for node in graph.node
        }
        nodes = (
            _Node(node, tuple(bodies.reads(node)), inner[node.output[0] if node.output else ""])
            for node in bodies.ordered(graph.node)
        )
        return cls(graph, number, tuple(nodes))


@dataclass(frozen=True, slots=True)
class _Node:
    """A node with the values that it reads and the bodies in its attributes."""

    node: onnx.NodeProto
    uses: tuple[str, ...]
    bodies: Mapping[str, _Graph]


class Walker:
    """Walks over the graphs of one model; local functions must be inlined before."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._graphs = _Graph.of(model.graph, itertools.count())
        self._parameters = parameters.counts(scan.walk_of(model.SerializeToString()))
        # Before IR 3 no opset was imported, which means opset 1.
        self._opsets = {DEFAULT_DOMAIN: 1} if model.ir_version < 3 else {}
        self._opsets |= {
            opset.domain or DEFAULT_DOMAIN: opset.version for opset in model.opset_import
        }
        self._imports = [
            onnx.helper.make_opsetid(domain, version) for domain, version in self._plain_opsets()
        ]
        self._weighed: dict[int, Value] = {}
        # The branches that were the largest in a walk, by graph, name of the value and axis.
        self._largest: dict[tuple[int, str, int], set[int]] = defaultdict(set)
        self._merges = True
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
        self._weighed = {}
        return self._graph(
            self._graphs, {}, {name: value.at(sizes) for name, value in self.inputs.items()}
        )

    def _graph(self, graph: _Graph, outer: Mapping[str, Value], inputs: dict[str, Value]) -> Walk:
        scope = {**outer, **inputs}
        number, proto = graph.number, graph.graph
        for tensor in proto.initializer:
            scope[tensor.name] = stored_value(tensor, self._held(number, tensor.name))
        for sparse in proto.sparse_initializer:
            scope[sparse.values.name] = Value(
                onnx.helper.make_tensor_type_proto(sparse.values.data_type, list(sparse.dims)),
                parameters=self._held(number, sparse.values.name),
            )
        steps = [self._node(node, number, scope) for node in graph.nodes]
        return Walk(
            steps,
            {name: value.bytes for name, value in inputs.items()},
            [scope.get(port.name) for port in proto.output],
            [port.name for port in proto.output],
        )

    def _held(self, number: int, name: str) -> int:
        """The parameters in a stored tensor of a graph."""
        return self._parameters.get((number, name.encode()), 0)

    def _node(self, bound: _Node, number: int, scope: dict[str, Value]) -> Step:
        node = bound.node
        operator = operator_of(node)
        step = Step(operator, node.name, is_view=operator in _VIEWS, uses=bound.uses)
        inputs = [scope.get(name) if name else None for name in node.input]
        for value in (scope[name] for name in bound.uses if name in scope):
            if value.parameters and id(value) not in self._weighed:
                self._weighed[id(value)] = value
                step.parameters += value.parameters
        if operator in control_flow.OPERATORS:
            outputs = control_flow.enter(node, inputs, step, self._enter(bound, scope))
            outputs = [
                self._merged(value, number, name)
                for name, value in zip(node.output, outputs, strict=False)
            ]
        else:
            held = self._held(number, node.output[0]) if operator == "Constant" else 0
            outputs = self._outputs(node, operator, inputs, held)
            self._count(step, node, inputs, outputs)
            if any(value.is_bound for value in inputs if value):
                outputs = [replace(value, is_bound=True) for value in outputs]
                if step.macs and step.macs.value:
                    step.bound("at-most")
        for name, value in zip(node.output, outputs, strict=False):
            if name:
                scope[name] = value
                # Weights are stored anyway; a value of unknown size makes the cost unknown if it is
                # used.
                step.outputs[name] = value.bytes
        return step

    def _merged(self, value: Value, number: int, name: str) -> Value:
        """A value that a branch makes; of unknown shape if `stop_merging` was called."""
        if value.largest_branches and not self._merges:
            return Value(onnx.TypeProto())
        for axis, branch in enumerate(value.largest_branches):
            if branch is not None:
                self._largest[number, name, axis].add(branch)
        return replace(value, largest_branches=())

    def stop_merging(self) -> bool:
        """Give values from branches unknown shapes if none was the largest in all walks so far.

        The greatest of two sizes is no polynomial of the dimensions then. Tells whether it changed
        anything.
        """
        changes = self._merges and any(len(branches) > 1 for branches in self._largest.values())
        self._merges = self._merges and not changes
        return changes

    def _enter(
        self, bound: _Node, scope: dict[str, Value]
    ) -> Callable[[str, control_flow.Arguments | None], Walk | None]:
        def walk(attribute: str, arguments: control_flow.Arguments | None) -> Walk | None:
            body = bound.bodies.get(attribute)
            if body is None or len(arguments or ()) != len(body.graph.input):
                return None
            names = (port.name for port in body.graph.input)
            values = (value or Value(onnx.TypeProto()) for value in arguments or ())
            return self._graph(body, scope, dict(zip(names, values, strict=True)))

        return walk

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
            step.macs = Amount(operators.macs(call))
            if node.domain not in ("", DEFAULT_DOMAIN, CONTRIB_DOMAIN, "ai.onnx.ml"):
                step.lose_macs()
        except (UnknownCostError, IndexError, ValueError):
            step.lose_macs()
        if step.is_view or step.operator in ("Constant", "Shape", "Size"):
            return
        output_bytes = known_sum(
            value.bytes for name, value in zip(node.output, outputs, strict=False) if name
        )
        read = [value for value in dict(zip(node.input, inputs, strict=True)).values() if value]
        traffic = known_sum([output_bytes, *(value.bytes for value in read)])
        if step.operator in _READS_A_PART and output_bytes is not None:
            traffic = 2 * output_bytes + (known_sum(value.bytes for value in read[1:]) or 0)
        if traffic is None:
            step.lose_bytes()
        else:
            step.bytes = Amount(traffic)

    def _outputs(
        self, node: onnx.NodeProto, operator: str, inputs: Sequence[Value | None], held: int
    ) -> list[Value]:
        """The outputs of a node, as far as they can be inferred; a Constant holds parameters."""
        folded = constant(node, held) if operator == "Constant" else None
        folded = folded or self._folded(node, operator, inputs)
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
            return [replace(inputs[0], content=None, parameters=0)]
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


def operator_of(node: onnx.NodeProto) -> str:
    """The operator's name, after its domain where that is not ONNX's."""
    return node.op_type if node.domain in ("", DEFAULT_DOMAIN) else f"{node.domain}.{node.op_type}"
