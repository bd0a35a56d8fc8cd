"""What an input of a graph is used for, as far as that bounds its values.

Looks at the nodes that read the input, through nodes that only reshape or cast it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnx import numpy_helper

from runners.engine.onnx_files import bodies

if TYPE_CHECKING:
    import onnx

_PASSING = frozenset(
    {
        *("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"),
        *("Transpose", "Expand", "Tile", "Slice", "Concat", "Split"),
    }
)
_LOOKUPS = {
    "Gather": (0, 1),
    "GatherElements": (0, 1),
    "GatherND": (0, 1),
    "GatherBlockQuantized": (0, 1),
}
_AXES = frozenset({"axis", "gather_axis"})
# Operators whose result has as many rows as their first input.
_KEEP_LENGTH = frozenset({"DequantizeLinear", "Cast", "Identity"})
# (operator, index of the input) that takes the keys or values of earlier tokens.
_PAST = frozenset(
    {
        *(("GroupQueryAttention", place) for place in (3, 4)),
        *(("MultiHeadAttention", place) for place in (6, 7)),
        *(("Attention", place) for place in (4, 5)),
    }
)
_GROUPED, _COSINES = "GroupQueryAttention", 7
# EmbedLayerNormalization: index of the input -> index of its lookup table.
_EMBEDDINGS = {0: 2, 1: 4, 7: 3}
_FAR = 1 << 31
_DEPTH = 12

# (operator, index of the input) -> role that determines its values.
_ROLES = {
    ("Reshape", 1): "shape",
    ("Expand", 1): "ones",
    ("Tile", 1): "ones",
    ("ConstantOfShape", 0): "size",
    ("TopK", 1): "ones",
    ("Loop", 0): "size",
    ("Resize", 2): "ones",
    ("Upsample", 1): "ones",
    ("Unsqueeze", 1): "zeros",
    ("Squeeze", 1): "zeros",
    ("ReduceSum", 1): "zeros",
    ("Slice", 1): "zeros",
    ("Slice", 2): "size",
    ("Slice", 3): "zeros",
    ("Slice", 4): "ones",
    ("Pad", 1): "zeros",
    ("Split", 1): "ones",
    ("CumSum", 1): "zeros",
    ("GroupQueryAttention", 5): "total_less_one",
    ("GroupQueryAttention", 6): "total",
}
# (operator, index of the input) that adds the input to the scores of attention.
_BIASES = frozenset({("Attention", 3), ("MultiHeadAttention", 5), ("GroupQueryAttention", 10)})


@dataclass(slots=True)
class Use:
    """Bounds of one input; None means unknown.

    `below` is exclusive; `compared` are constants that the graph compares it with; `role` names
    what the value is in the graph; `keys` are those of a map; `is_added` tells that it is added to
    another value, as masks of attention are to scores. `is_past` tells that it is a cache of keys
    or values, of `heads` heads of a `head_size`, as far as the node that reads it says so.
    """

    below: int | None = None
    compared: list[Any] = field(default_factory=list)
    role: str = ""
    keys: list[Any] = field(default_factory=list)
    is_added: bool = False
    is_past: bool = False
    heads: int = 0
    head_size: int = 0

    def bound(self, limit: int | None) -> None:
        if limit is not None and 0 < limit < _FAR:
            self.below = limit if self.below is None else min(self.below, limit)


class Uses:
    """Uses of all values of the main graph and of the bodies that read them."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._grouped = [node for node in bodies.nodes(model) if node.op_type == _GROUPED]
        self._consumers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        self._producers: dict[str, onnx.NodeProto] = {}
        for node in bodies.nodes(model):
            for place, name in enumerate(node.input):
                self._consumers.setdefault(name, []).append((node, place))
            for name in node.output:
                self._producers.setdefault(name, node)
        graph = model.graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._shapes = {
            port.name: [max(dim.dim_value, 0) for dim in port.type.tensor_type.shape.dim]
            for port in (*graph.input, *graph.value_info)
        }

    @property
    def is_grouped(self) -> bool:
        """Whether the model has GroupQueryAttention.

        It computes the lengths of past and whole sequence from the mask, and takes several new
        tokens behind a past for one sequence alone (ONNX Runtime, ContribOperators.md).
        """
        return bool(self._grouped)

    @property
    def longest(self) -> int | None:
        """The most positions that all rotations of GroupQueryAttention have; None without any."""
        lengths = (
            self._length(node.input[_COSINES], 0)
            for node in self._grouped
            if len(node.input) > _COSINES and node.input[_COSINES]
        )
        return min(filter(None, lengths), default=None)

    def of(self, name: str) -> Use:
        """Known bounds of the values of the input `name`."""
        use = Use()
        followed: set[str] = set()
        self._follow(name, use, followed, _DEPTH, direct=True)
        return use

    def _follow(self, name: str, use: Use, followed: set[str], depth: int, *, direct: bool) -> None:
        if name in followed or not depth:
            return
        followed.add(name)
        for node, place in self._consumers.get(name, ()):
            self._look(node, place, use, direct=direct)
            if node.op_type in _PASSING and place == 0:
                # After a cast to float, values are no indices any more.
                for output in node.output:
                    self._follow(output, use, followed, depth - 1, direct=False)

    def _look(self, node: onnx.NodeProto, place: int, use: Use, *, direct: bool) -> None:
        if node.op_type in _LOOKUPS and _LOOKUPS[node.op_type][1] == place:
            axis = next(
                (int(attribute.i) for attribute in node.attribute if attribute.name in _AXES), 0
            )
            use.bound(self._length(node.input[0], axis))
        elif node.op_type == "EmbedLayerNormalization" and place in _EMBEDDINGS:
            table = _EMBEDDINGS[place]
            if table < len(node.input):
                use.bound(self._length(node.input[table], 0))
        elif node.op_type == "OneHot" and place == 0:
            depth = self._constant(node.input[1])
            use.bound(int(depth[0]) if depth else None)
        elif node.op_type == "Equal":
            use.compared += self._constant(node.input[1 - place])
        elif node.op_type in {"DictVectorizer", "CategoryMapper", "LabelEncoder"}:
            use.keys += list(_vocabulary(node))
        if node.op_type == "Add" or (node.op_type, place) in _BIASES:
            use.is_added = True
        if direct and (node.op_type, place) in _PAST:
            use.is_past = True
            use.heads, use.head_size = self._heads(node)
        if direct and not use.role:
            use.role = _ROLES.get((node.op_type, place), "")

    def _heads(self, node: onnx.NodeProto) -> tuple[int, int]:
        """The heads of keys and their size in GroupQueryAttention; 0 where they are not known.

        Without an input of keys, that of the queries holds queries, keys and values together.
        """
        numbers = {attribute.name: int(attribute.i) for attribute in node.attribute}
        heads, pairs = numbers.get("num_heads", 0), numbers.get("kv_num_heads", 0)
        if node.op_type != _GROUPED or heads < 1 or pairs < 1:
            return 0, 0
        groups = heads if node.input[1] else heads + 2 * pairs
        return pairs, self._width(node.input[0]) // groups

    def _width(self, name: str) -> int:
        """The last dimension of a value; 0 where it is not known."""
        for _ in range(_DEPTH):
            if shape := self._shapes.get(name):
                return int(shape[-1])
            node = self._producers.get(name)
            if node is None or not node.input:
                return 0
            if node.op_type == "MatMulNBits":
                return next((int(row.i) for row in node.attribute if row.name == "N"), 0)
            weights = [tensor for each in node.input if (tensor := self._tensors.get(each))]
            if node.op_type in {"MatMul", "Add"} and weights and weights[0].dims:
                return int(weights[0].dims[-1])
            name = node.input[0]
        return 0

    def _length(self, name: str, axis: int) -> int | None:
        tensor = self._tensors.get(name)
        shape = list(tensor.dims) if tensor is not None else self._shapes.get(name, [])
        if not shape:
            producer = self._producers.get(name)
            if producer is not None and producer.op_type in _KEEP_LENGTH:
                return self._length(producer.input[0], axis)
            values = self._constant(name)
            return len(values) or None
        return shape[axis] if -len(shape) <= axis < len(shape) else None

    def _constant(self, name: str) -> list[Any]:
        tensor = self._tensors.get(name)
        producer = self._producers.get(name)
        if tensor is None and producer is not None and producer.op_type == "Constant":
            for attribute in producer.attribute:
                if attribute.name == "value":
                    tensor = attribute.t
                elif attribute.name in {"value_int", "value_float"}:
                    return [attribute.i or attribute.f]
        if tensor is None or tensor.external_data:
            return []
        return list(numpy_helper.to_array(tensor).reshape(-1)[:64].tolist())


def _vocabulary(node: onnx.NodeProto) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.name in {"string_vocabulary", "cats_strings", "keys_strings"}:
            yield from (word.decode("utf-8", "replace") for word in attribute.strings)
        elif attribute.name in {"int64_vocabulary", "cats_int64s", "keys_int64s"}:
            yield from attribute.ints
