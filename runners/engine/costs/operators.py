"""Multiply-accumulate operations of a node, and shapes of operators that onnx does not define.

Only operators that multiply matrices or convolve count; elementwise work (additions, activations,
normalisations, pooling) counts none, as in papers on model efficiency. Sources: Operators.md of
ONNX; ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Shape = tuple[int, ...]


class UnknownCostError(Exception):
    """The shapes or the operator of a node do not determine its cost."""


@dataclass(frozen=True, slots=True)
class Call:
    """A node with concrete shapes; None stands for an absent input or output."""

    operator: str
    attributes: Mapping[str, Any]
    inputs: tuple[Shape | None, ...]
    outputs: tuple[Shape | None, ...]

    def input(self, place: int) -> Shape:
        """The shape of a required input."""
        shape = self.inputs[place] if place < len(self.inputs) else None
        if shape is None:
            raise UnknownCostError(f"input {place} of {self.operator} has no known shape")
        return shape

    def has(self, place: int) -> bool:
        return place < len(self.inputs) and self.inputs[place] is not None

    @property
    def output(self) -> Shape:
        if not self.outputs or self.outputs[0] is None:
            raise UnknownCostError(f"the output of {self.operator} has no known shape")
        return self.outputs[0]

    def whole(self, name: str, default: int) -> int:
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default


def macs(call: Call) -> int:
    """The multiply-accumulate operations of a call. Raises UnknownCostError."""
    name = call.operator.removeprefix("com.microsoft.")
    count = _MACS.get(call.operator) or _MACS.get(name)
    if count:
        return count(call)
    if call.operator != name and name not in _CONTRIB:
        raise UnknownCostError(f"what {call.operator} does is unknown")
    return 0


def _matmul(call: Call) -> int:
    """Each element of the product sums over the last axis of the first matrix.

    Where that is transposed, it is the axis before.
    """
    shape = call.input(0) or (1,)
    return math.prod(call.output) * (shape[-2:][0] if call.whole("transA", 0) else shape[-1])


# A kernel has the shape (outputs, inputs per group, *sizes): each element of the output sums over
# all axes of the kernel but the first, whatever strides, dilations and groups are.
def _convolution(weight: int) -> Callable[[Call], int]:
    return lambda call: math.prod(call.output) * math.prod(call.input(weight)[1:])


# The reverse: each element of the input is spread over all axes of the kernel but the first, which
# is the one of input channels here.
def _transposed_convolution(call: Call) -> int:
    return math.prod(call.input(0)) * math.prod(call.input(1)[1:])


# Each gate multiplies the input (W, of shape (directions, gates * hidden, features)) and the state
# of the step before (R, (directions, gates * hidden, hidden)) in each step. Biases and peepholes
# add or multiply elementwise, so they count nothing.
def _recurrent(gates: int) -> Callable[[Call], int]:
    def count(call: Call) -> int:
        steps, batch, features = call.input(0)
        directions, hidden = call.input(1)[0], call.input(2)[-1]
        return steps * batch * directions * gates * hidden * (features + hidden)

    return count


# The naive loop: one iteration for each assignment of all indices, with a product of all operands
# in it. A runtime that contracts operands pairwise needs fewer.
def _einsum(call: Call) -> int:
    equation = call.attributes.get("equation", b"").decode("utf-8", "replace").replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    if "." in equation or len(terms) != len(call.inputs):
        raise UnknownCostError("the equation of Einsum has an ellipsis")
    sizes: dict[str, int] = {}
    for place, term in enumerate(terms):
        sizes |= dict(zip(term, call.input(place), strict=True))
    return math.prod(sizes.values()) * (len(terms) - 1)


def _attention(call: Call) -> int:
    """Attention of ONNX (opset 23): Q, K and V of rank 4, or of rank 3 with the heads together."""
    # Two products for each pair of a query and a key: of the query with the key, over the depth of
    # a head, and of the weight with the value.
    queries, values = call.input(0), call.input(2)
    past = call.input(4)[2] if call.has(4) else 0
    length = past + values[-2]
    if len(queries) == 4:
        batch, heads, steps, depth = queries
        return batch * heads * steps * length * (depth + values[-1])
    heads = call.whole("q_num_heads", 1)
    own = call.whole("kv_num_heads", heads)
    batch, steps, width = queries
    return batch * steps * length * (width + values[-1] // max(own, 1) * heads)


def _packed_attention(call: Call) -> int:
    """com.microsoft.Attention: one matrix makes queries, keys and values of the input."""
    batch, steps, features = call.input(0)
    width = call.input(1)[-1]
    # The weights hold three matrices side by side, so a third of the width is that of the queries.
    project = batch * steps * features * width
    return project + 2 * batch * steps * (steps + _packed_past(call)) * (width // 3)


def _packed_past(call: Call) -> int:
    """The positions before the input that com.microsoft.Attention attends to."""
    return call.input(4)[3] if call.has(4) and len(call.input(4)) == 5 else 0


def _multi_head_attention(call: Call) -> int:
    """com.microsoft.MultiHeadAttention with queries, keys and values of rank 3."""
    batch, steps, width = call.input(0)
    depth = call.input(2)[-1] if call.has(2) and len(call.input(2)) == 3 else width
    return batch * steps * _attended(call) * (width + depth)


def _attended(call: Call) -> int:
    """The positions that com.microsoft.MultiHeadAttention attends to, those before included."""
    keys = call.input(1) if call.has(1) else call.input(0)
    past = call.input(6)[2] if call.has(6) else 0
    return past + (keys[2] if len(keys) == 4 else keys[1])


def _grouped_attention(call: Call) -> int:
    """com.microsoft.GroupQueryAttention: `present_key` has the number of attended positions."""
    batch, steps, _ = call.input(0)
    # Heads of keys are shared by several of queries; the products are as many as without sharing.
    width, _, attended = _grouped(call)
    return 2 * batch * steps * attended * width


def _grouped(call: Call) -> tuple[int, int, int]:
    """Width of the queries, number of heads of the keys, and attended positions."""
    _, steps, width = call.input(0)
    heads, own = max(call.whole("num_heads", 1), 1), max(call.whole("kv_num_heads", 1), 1)
    if not call.has(1):  # packed: queries, keys and values in one
        width = width * heads // (heads + 2 * own)
    past = call.input(3)[2] if call.has(3) else 0
    return width, own, past + steps


_MACS: dict[str, Callable[[Call], int]] = {
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "FusedMatMul": _matmul,
    "DynamicQuantizeMatMul": _matmul,
    "MatMulIntegerToFloat": _matmul,
    "MatMulNBits": _matmul,
    "Gemm": _matmul,
    "FusedGemm": _matmul,
    "QGemm": _matmul,
    "Conv": _convolution(1),
    "FusedConv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "DeformConv": _convolution(1),
    "ConvTranspose": _transposed_convolution,
    "RNN": _recurrent(1),
    "GRU": _recurrent(3),
    "LSTM": _recurrent(4),
    "DynamicQuantizeLSTM": _recurrent(4),
    "Einsum": _einsum,
    "Attention": _attention,
    "com.microsoft.Attention": _packed_attention,
    "MultiHeadAttention": _multi_head_attention,
    "GroupQueryAttention": _grouped_attention,
}


def contrib_outputs(call: Call) -> tuple[Shape | None, ...]:
    """The output shapes of an operator of ONNX Runtime, for which onnx has no schema.

    Raises UnknownCostError for unsupported operators.
    """
    shapes = _CONTRIB.get(call.operator.removeprefix("com.microsoft."))
    if shapes is None:
        raise UnknownCostError(f"the shapes of {call.operator} are unknown")
    return shapes(call)


def _matmul_shape(call: Call) -> tuple[Shape | None, ...]:
    left, right = list(call.input(0)), list(call.input(1))
    if call.whole("transA", 0):
        left[-2:] = left[:-3:-1]
    if call.whole("transB", 0):
        right[-2:] = right[:-3:-1]
    if len(left) < 2 or len(right) < 2:
        raise UnknownCostError("a product of vectors")
    batch = _broadcast(left[:-2], right[:-2])
    return ((*batch, left[-2], right[-1]),)


# Broadcasting.md of ONNX: the shorter shape is filled with ones on its left, and of each pair of
# sizes that differ one is 1.
def _broadcast(left: Sequence[int], right: Sequence[int]) -> Shape:
    rank = max(len(left), len(right))
    pairs = zip(
        (*[1] * (rank - len(left)), *left), (*[1] * (rank - len(right)), *right), strict=True
    )
    return tuple(max(first, other) for first, other in pairs)


def _embedding_shape(call: Call) -> tuple[Shape | None, ...]:
    batch, steps = call.input(0)
    return ((batch, steps, call.input(2)[-1]), (batch,), (batch, steps, call.input(2)[-1]))


def _attention_shape(call: Call) -> tuple[Shape | None, ...]:
    batch, steps, _ = call.input(0)
    width = call.input(1)[-1] // 3
    heads = max(call.whole("num_heads", 1), 1)
    attended = steps + _packed_past(call)
    return ((batch, steps, width), (2, batch, heads, attended, width // heads))


def _multi_head_shape(call: Call) -> tuple[Shape | None, ...]:
    batch, steps, width = call.input(0)
    values = call.input(2) if call.has(2) else call.input(0)
    depth = values[-1] if len(values) == 3 else width
    heads = max(call.whole("num_heads", 1), 1)
    total = _attended(call)
    return (
        (batch, steps, depth),
        (batch, heads, total, width // heads),
        (batch, heads, total, depth // heads),
    )


def _grouped_shape(call: Call) -> tuple[Shape | None, ...]:
    batch, steps, _ = call.input(0)
    heads = max(call.whole("num_heads", 1), 1)
    width, own, attended = _grouped(call)
    present = (batch, own, attended, width // heads)
    return ((batch, steps, width), present, present)


_LIKE_THE_FIRST = (
    "BiasGelu",
    "BiasSoftmax",
    "DequantizeLinear",
    "FastGelu",
    "Gelu",
    "GroupNorm",
    "ImageScaler",
    "LayerNormalization",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QuantizeLinear",
    "QuickGelu",
    "RotaryEmbedding",
    "SimplifiedLayerNormalization",
)
_CONTRIB: dict[str, Callable[[Call], tuple[Shape | None, ...]]] = {
    **dict.fromkeys(_LIKE_THE_FIRST, lambda call: (call.input(0),)),
    **dict.fromkeys(
        ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
        lambda call: (call.input(0), None, None, call.input(0)),
    ),
    **dict.fromkeys(
        ("QLinearAdd", "QLinearMul"), lambda call: (_broadcast(call.input(0), call.input(3)),)
    ),
    **dict.fromkeys(
        ("BiasAdd", "BiasDropout"), lambda call: (_broadcast(call.input(0), call.input(1)),)
    ),
    **dict.fromkeys(
        ("FusedMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"), _matmul_shape
    ),
    "MatMulNBits": lambda call: ((*call.input(0)[:-1], call.whole("N", 0)),),
    "EmbedLayerNormalization": _embedding_shape,
    "Attention": _attention_shape,
    "MultiHeadAttention": _multi_head_shape,
    "GroupQueryAttention": _grouped_shape,
}
