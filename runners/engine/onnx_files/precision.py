"""The number format of a model's weights, and the scheme of its quantisation.

One word for lists, and the profile behind it: every format with its bytes, every form with how its
scales are laid out. Packed weights count by the values they stand for, not by the bytes they fill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from runners.engine.onnx_files.vocabulary import DATA_TYPES
from runners.engine.onnx_files.walk import NodeUse, Walk

_WORDS = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int16": "int16",
    "uint16": "int16",
    "int8": "int8",
    "uint8": "int8",
    "int4": "int4",
    "uint4": "int4",
    "int2": "int2",
    "uint2": "int2",
    "float4e2m1": "fp4",
    "float6e2m3": "fp6",
    "float6e3m2": "fp6",
    "float8e4m3fn": "fp8",
    "float8e4m3fnuz": "fp8",
    "float8e5m2": "fp8",
    "float8e5m2fnuz": "fp8",
}
_FLOATS = ("fp64", "fp32", "fp16", "bf16")
_BLOCKWISE = frozenset({"MatMulNBits", "GatherBlockQuantized", "MatMulBnb4"})
_DYNAMIC = frozenset({"DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"})
_INTEGER_OPERATORS = frozenset(
    {"ConvInteger", "MatMulInteger", "QAttention", "QGemm", "MatMulIntegerToFloat", "QMoE"}
)
_CUSTOM = frozenset({"Quant", "BipolarQuant"})
_MIXED_SHARE = 0.1
_MOST = 0.9


def profile(state: Walk, values: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Give the one word, and the profile, for inputs and outputs too."""
    operators = {name.decode("ascii", "replace") for _, name in state.operators}
    packed, laid_out = _quantised(state)
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in state.weights.values():
        kind = DATA_TYPES.get(tensor.data_type, ("unknown", 0))[0]
        sizes[kind] += tensor.stored
        word, elements = packed.get(id(tensor), (_WORDS.get(kind, ""), tensor.elements))
        if word:
            counts[word] += elements
    for number, elements in state.attribute_weights.items():
        kind, bits = DATA_TYPES.get(number, ("unknown", 0))
        sizes[kind] += elements * bits // 8
        if kind in _WORDS:
            counts[_WORDS[kind]] += elements
    forms = _forms(operators, weights_behind=bool(laid_out))
    facts = {
        "elements": {word: count for word, count in counts.most_common() if count},
        "bytes_by_dtype": dict(sizes.most_common()),
        "forms": forms,
        "scales": [
            {"layout": layout, "block_size": block, "weights": count}
            for (layout, block), count in laid_out.most_common(8)
        ],
        "bits": sorted({bits for bits in map(_bits, state.flow) if bits}),
    }
    return _word(counts if counts.total() else Counter(_words_of(values))), facts


def unpacked(state: Walk) -> dict[int, int]:
    """The elements that packed tensors stand for, by the identity of the tensor."""
    return {tensor: elements for tensor, (_, elements) in _quantised(state)[0].items()}


def _word(counts: Counter[str]) -> str:
    """Choose the one word for these numbers of weights in each format."""
    total = counts.total()
    if not total:
        return "none"
    narrow = Counter({word: count for word, count in counts.items() if word not in _FLOATS})
    wide = Counter({word: count for word, count in counts.items() if word in _FLOATS})
    if narrow.total() * 2 >= total:
        word, most = narrow.most_common(1)[0]
        return word if most >= narrow.total() * _MOST else "mixed"
    if narrow.total() >= total * _MIXED_SHARE:
        return "mixed"
    word, most = wide.most_common(1)[0]
    return word if most >= wide.total() * _MOST else "mixed"


def _words_of(values: list[dict[str, Any]]) -> Iterator[str]:
    """Without a weight to look at, what goes in and out says it."""
    for value in values:
        inner = value
        while "element" in inner or "value" in inner:
            inner = inner["element" if "element" in inner else "value"]
        word = _WORDS.get(inner.get("dtype", ""))
        if word in _FLOATS:
            yield word


def _bits(node: NodeUse) -> int:
    if node.operator not in _BLOCKWISE:
        return 0
    bits = node.integers.get(b"bits", 4)
    return bits if 1 <= bits <= 8 else 0


def _quantised(state: Walk) -> tuple[dict[int, tuple[str, int]], Counter[tuple[str, int]]]:
    """Find weights behind quantising nodes: what they stand for, and how their scales lie."""
    packed: dict[int, tuple[str, int]] = {}
    laid_out: Counter[tuple[str, int]] = Counter()
    for node in state.flow:
        place = 1 if node.operator in {"MatMulNBits", "MatMulBnb4"} else 0
        name = node.inputs[place] if len(node.inputs) > place else b""
        weight = state.weight(node.sees, name)
        if weight is None or node.operator in _CUSTOM:
            continue
        if node.operator in _BLOCKWISE:
            bits = _bits(node)
            if bits:
                if DATA_TYPES.get(weight.data_type, ("", 0))[1] == 8:
                    packed[id(weight)] = (f"int{bits}", _unpacked(node, weight.elements, bits))
                laid_out["block", _small(node.integers.get(b"block_size", 0))] += 1
        elif node.operator == "DequantizeLinear":
            laid_out[_layout(node, state)] += 1
        elif node.operator == "QuantizeLinear":
            # Weights kept wide and narrowed in the graph: they act as what they become.
            packed[id(weight)] = (_target(node, state), weight.elements)
            laid_out[_layout(node, state)] += 1
    return packed, laid_out


def _unpacked(node: NodeUse, elements: int, bits: int) -> int:
    """Count the values in a packed weight; the last block of each row may be filled up."""
    values = elements * 8 // bits
    rows, columns = node.integers.get(b"N", 0), node.integers.get(b"K", 0)
    return rows * columns if 0 < rows * columns <= values else values


def _layout(node: NodeUse, state: Walk) -> tuple[str, int]:
    block = _small(node.integers.get(b"block_size", 0))
    if block:
        return "block", block
    scale = state.weight(node.sees, node.inputs[1]) if len(node.inputs) > 1 else None
    if scale is None:
        return "unknown", 0
    return ("tensor" if scale.elements == 1 else "channel"), 0


def _target(node: NodeUse, state: Walk) -> str:
    zero = state.weight(node.sees, node.inputs[2]) if len(node.inputs) > 2 else None
    number = zero.data_type if zero is not None else node.integers.get(b"output_dtype", 2)
    return _WORDS.get(DATA_TYPES.get(number, ("uint8", 8))[0], "int8")


def _small(number: int) -> int:
    return number if 0 < number < 1 << 31 else 0


def _forms(operators: set[str], *, weights_behind: bool) -> list[str]:
    """Name the schemes found: qdq, qoperator, dynamic, weight-only, custom."""
    forms = []
    quantises = "QuantizeLinear" in operators
    dequantises = "DequantizeLinear" in operators
    if quantises and dequantises:
        forms.append("qdq")
    if operators & _DYNAMIC:
        forms.append("dynamic")
    elif operators & _INTEGER_OPERATORS or any(name.startswith("QLinear") for name in operators):
        forms.append("qoperator")
    if operators & _BLOCKWISE or (dequantises and not quantises and weights_behind):
        forms.append("weight-only")
    if operators & _CUSTOM:
        forms.append("custom")
    return forms
