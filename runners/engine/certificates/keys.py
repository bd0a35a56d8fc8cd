"""What identifies the conversion of a node: nodes of equal keys are converted in the same way.

A key has the operator, its attributes, the two opsets, and of each input the element type, which of
its sizes are equal to others, and the values of small constants, since some faults depend on them
(a scale of Resize, for instance). Of opsets in which an operator is the same, the first stands for
all.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import onnx
import onnx.inliner

from hub.protocol import strict
from runners.engine.onnx_files import bodies
from runners.engine.opsets import conversion, rules, schemas
from runners.engine.opsets.scopes import Scope, of_graph

_IR_VERSION = 10
# ONNX Runtime runs no operator of the default domain as it was before this opset.
_FIRST_RUN = 7
# Resize has a region of interest as its second input from this opset on.
_FIRST_WITH_ROI = 11
# Size classes of dimensions that the model does not name are numbered from here.
_FREE = "free"
# A constant with more elements is data, such as a weight, and not a parameter such as axes or pads.
_MOST_ELEMENTS = 64
_MOST_FLOATS = 8
_FLOATS = frozenset(
    {
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.BFLOAT16,
    }
)


@dataclass(frozen=True, slots=True)
class InputKind:
    """An input of a node: its element type, a class for each size, and its tensor if constant.

    Dimensions of one class have the same size. `classes` is None if the rank is unknown.
    """

    dtype: int
    classes: tuple[int, ...] | None
    constant: bytes = b""


def _bytes(value: Any, place: str) -> bytes:
    try:
        return base64.b64decode(strict.check(value, str, place), validate=True)
    except ValueError as error:
        raise strict.UnreadableError(f"{place} is not base64") from error


_READER = strict.Reader({int: strict.count, bytes: _bytes})


@dataclass(frozen=True, slots=True)
class NodeKey:
    """A node without its names, between two opsets.

    `node` is the serialised node with inputs named i0, i1 and so on, and outputs o0, o1; `inputs`
    has an entry for each of the first, `outputs` the element type of each of the second (0 if
    unknown). `sizes` are those of the model by size class, where it fixes them; they are no part of
    the key.
    """

    op: str
    source: int
    target: int
    node: bytes
    inputs: tuple[InputKind, ...]
    outputs: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        row = asdict(self) | {"node": base64.b64encode(self.node).decode()}
        for kind in row["inputs"]:
            kind["constant"] = base64.b64encode(kind["constant"]).decode()
        return row

    @classmethod
    def from_json(cls, data: Any) -> NodeKey:
        """Read the key that a child gave. Raises strict.UnreadableError."""
        return _READER.read(cls, data)

    @property
    def digest(self) -> str:
        """SHA-256 of what the key consists of, in hexadecimal digits."""
        parts = (self.op, self.source, self.target, self.node, self.inputs, self.outputs)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @property
    def classes(self) -> list[int]:
        """The size classes of inputs that are not constant."""
        kinds = (kind for kind in self.inputs if not kind.constant)
        return sorted({number for kind in kinds for number in kind.classes or ()})

    def _first_rank(self) -> int:
        return len(self.inputs[0].classes or ())

    def model(self) -> onnx.ModelProto:
        """A model of this node alone at the source opset, whose sizes are all free."""
        node = onnx.NodeProto.FromString(self.node)
        graph = onnx.GraphProto(name="node", node=[node])
        for place, kind in enumerate(self.inputs):
            name = f"i{place}"
            if kind.constant:
                tensor = onnx.TensorProto.FromString(kind.constant)
                tensor.name = name
                graph.initializer.append(tensor)
                continue
            dims: list[str | int] | None = None
            if kind.classes is not None:
                dims = [f"n{number}" for number in kind.classes]
            if self.op == "Resize" and dims and len(dims) == 1 and (rank := self._first_rank()):
                # Inference refuses scales and sizes whose number is open.
                is_roi = self.source >= _FIRST_WITH_ROI and node.input[1] == name
                dims = [2 * rank if is_roi else rank]
            graph.input.append(onnx.helper.make_tensor_value_info(name, kind.dtype, dims))
        for name, dtype in zip((name for name in node.output if name), self.outputs, strict=True):
            value = onnx.ValueInfoProto(name=name)
            if dtype:
                value.type.tensor_type.elem_type = dtype
            graph.output.append(value)
        lowest = max(_IR_VERSION, lowest_ir(self.source))
        imports = [onnx.helper.make_opsetid("", self.source)]
        return onnx.helper.make_model(graph, ir_version=lowest, opset_imports=imports)


def lowest_ir(opset: int) -> int:
    """The first IR version that had this opset; 3 for the opsets before it had imports."""
    try:
        lowest: int = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])
    except ValueError:
        return 3
    return lowest


def is_converted(op: str, source: int, target: int) -> bool:
    """Whether nodes of an operator are rewritten between two opsets.

    They are not if nothing changed, or only more types were allowed.
    """
    if schemas.same(op, source, target):
        return False
    return rules.find(op, source, target) is not None or not schemas.widened(op, source, target)


def have_same_operators(model: onnx.ModelProto, opset: int, other: int) -> bool:
    """Whether every operator of a model, bodies included, means the same in two opsets."""
    operators = {node.op_type for node in bodies.nodes(model) if node.domain == ""}
    return not any(is_converted(op, opset, other) for op in operators)


def keys_of(
    model: onnx.ModelProto, source: int, target: int
) -> Iterator[tuple[NodeKey | str, str]]:
    """The key of each node that a conversion rewrites, and its operator.

    Instead of a key there may be a reason why the node has none. Functions are inlined, since
    their nodes have no types otherwise.
    """
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    yield from _of_graph(conversion.with_types(model, source), None, source, target)


def _of_graph(
    graph: onnx.GraphProto, around: Scope | None, source: int, target: int
) -> Iterator[tuple[NodeKey | str, str]]:
    scope = of_graph(graph, around, fixed_inputs=False)
    for node in graph.node:
        if (
            node.domain == ""
            and is_converted(node.op_type, source, target)
            and node.op_type != "Constant"
        ):
            yield _key(node, scope, source, target), node.op_type
        for body in bodies.bodies(node):
            yield from _of_graph(body, scope, source, target)


def _key(node: onnx.NodeProto, scope: Scope, source: int, target: int) -> NodeKey | str:
    if any(True for _ in bodies.bodies(node)):
        return "the node holds graphs"
    plain = onnx.NodeProto(op_type=node.op_type)
    attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
    for attribute in attributes:
        plain.attribute.append(attribute)
        plain.attribute[-1].doc_string = ""
    names: dict[str, str] = {}
    numbers: dict[str | int, int] = {}
    kinds: list[InputKind] = []
    for name in node.input:
        if name and name not in names:
            kind = _input(name, scope, numbers)
            if isinstance(kind, str):
                return f"input {len(kinds)}: {kind}"
            names[name] = f"i{len(kinds)}"
            kinds.append(kind)
        plain.input.append(names.get(name, ""))
    outputs = []
    for place, name in enumerate(node.output):
        plain.output.append(f"o{place}" if name else "")
        if name:
            outputs.append(_dtype(scope, name))
    sizes = tuple((number, size) for size, number in numbers.items() if isinstance(size, int))
    raw = plain.SerializeToString(deterministic=True)
    key = NodeKey(node.op_type, source, target, raw, tuple(kinds), tuple(outputs), sizes)
    return replace(key, source=_first_alike(node.op_type, source))


def _first_alike(op: str, source: int) -> int:
    """The lowest opset that has the operator of this opset, and that the runtime runs."""
    return max(schemas.since(op, source) or source, min(source, _FIRST_RUN))


def _is_parameter(tensor: onnx.TensorProto) -> bool:
    most = _MOST_FLOATS if tensor.data_type in _FLOATS else _MOST_ELEMENTS
    return int(math.prod(tensor.dims)) <= most


def _dtype(scope: Scope, name: str) -> int:
    kind = scope.type(name)
    return 0 if kind is None else int(kind.tensor_type.elem_type)


def _input(name: str, scope: Scope, numbers: dict[str | int, int]) -> InputKind | str:
    """The kind of an input, or why it has none."""
    dtype = _dtype(scope, name)
    if not dtype:
        return "its type is not known"
    constant = scope.constant(name)
    if constant is not None and _is_parameter(constant):
        if constant.external_data:
            return "its value lies in another file"
        tensor = onnx.TensorProto()
        tensor.CopyFrom(constant)
        tensor.ClearField("name")
        tensor.ClearField("doc_string")
        return InputKind(dtype, (), tensor.SerializeToString(deterministic=True))
    tensor_type = getattr(scope.type(name), "tensor_type", None)
    if tensor_type is None or not tensor_type.HasField("shape"):
        return InputKind(dtype, None)
    if [dim.dim_value for dim in tensor_type.shape.dim if dim.HasField("dim_value")] == [0]:
        # Such as the scales of a Resize that is given sizes: no other value is possible.
        nothing = onnx.TensorProto(data_type=dtype, dims=[0])
        return InputKind(dtype, (), nothing.SerializeToString(deterministic=True))
    classes = []
    for place, dim in enumerate(tensor_type.shape.dim):
        word: str | int = f"{_FREE} {name} {place}"
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            word = int(dim.dim_value)
        elif dim.dim_param:
            word = f"param {dim.dim_param}"
        classes.append(numbers.setdefault(word, len(numbers)))
    return InputKind(dtype, tuple(classes))
