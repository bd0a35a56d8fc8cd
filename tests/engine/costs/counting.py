"""A second count of operations and parameters, from textbook formulas and onnx's inference alone.

It shares no line with the product: shapes come from `onnx.shape_inference` over the whole model
with its free dimensions set, and a node whose shapes are not all known ends the count.
"""

from __future__ import annotations

import math

import onnx
import onnx.inliner
from onnx import numpy_helper

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# Operators whose weight lies in the second input; what a product sums over is taken from it.
PRODUCTS = {"MatMul", "MatMulInteger", "QLinearMatMul"}
CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
MULTIPLIES = {*GATES, *PRODUCTS, *CONVOLUTIONS, "Gemm", "ConvTranspose", "Einsum", "Attention"}
SETTINGS = {
    "Clip": {1, 2}, "ConvInteger": {2, 3}, "DequantizeLinear": {1, 2}, "MatMulInteger": {2, 3},
    "MatMulNBits": {2, 3, 4}, "Pad": {2}, "Pow": {1}, "QLinearConv": {1, 2, 4, 5, 6, 7},
    "QLinearMatMul": {1, 2, 4, 5, 6, 7}, "QuantizeLinear": {1, 2}, "Quant": {1, 2, 3},
    "Range": {0, 1, 2}, "Resize": {1, 2}, "Upsample": {1}, "Where": {0}, "OneHot": {1, 2},
    "GroupQueryAttention": {7, 8}, "Gather": {1},
}  # fmt: skip
PARAMETER_TYPES = {1, 2, 3, 4, 5, 6, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}


def operations(model, sizes: dict[str, int], run: dict[str, tuple[int, ...]]) -> int | None:
    """Multiply-accumulate operations for these sizes; None where a shape is unknown.

    ``run`` has shapes of a run, for values whose shapes the model computes.
    """
    model = onnx.inliner.inline_local_functions(model)
    stored = {tensor.name for tensor in model.graph.initializer}
    for port in model.graph.input:
        for axis, size in enumerate(port.type.tensor_type.shape.dim):
            if port.name not in stored and size.dim_value <= 0:
                name = size.dim_param.strip()
                if name in ("", "?", "None", "-1") or name.startswith("unk__"):
                    name = "batch" if axis == 0 else f"{port.name}[{axis}]"
                size.dim_value = sizes[name]
    for port in (*model.graph.value_info, *model.graph.output):
        port.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    shapes = {tensor.name: tuple(tensor.dims) for tensor in inferred.graph.initializer}
    for value in (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(size.dim_value for size in dims):
            shapes.setdefault(value.name, tuple(size.dim_value for size in dims))
    for sparse in inferred.graph.sparse_initializer:
        shapes[sparse.values.name] = tuple(sparse.dims)
    shapes |= run
    counts = [_of(node, shapes) for node in inferred.graph.node]
    return None if None in counts else sum(counts)


def _of(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]]) -> int | None:
    if any(attribute.HasField("g") for attribute in node.attribute):
        return None
    if node.domain not in ("", "ai.onnx"):
        return None if node.domain != "ai.onnx.ml" else 0
    if node.op_type not in MULTIPLIES:
        return 0
    options = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    given = [shapes.get(name) for name in node.input]
    made = shapes.get(node.output[0]) if node.output[0] else ()
    try:
        return _formula(node.op_type, options, given, made)
    except TypeError:  # a shape is None
        return None


def _formula(operator, options, given, made):
    if operator in CONVOLUTIONS:
        # Each element of the output is a window of the kernel times the channels of one group.
        kernel = given[CONVOLUTIONS[operator]]
        return math.prod(made) * kernel[1] * math.prod(kernel[2:])
    if operator in PRODUCTS:
        right = given[3] if operator == "QLinearMatMul" else given[1]
        return math.prod(made) * (right[-2] if len(right) > 1 else right[0])
    if operator in GATES:
        length, batch, features = given[0]
        gates, hidden = GATES[operator], options["hidden_size"]
        directions = 2 if options.get("direction") == b"bidirectional" else 1
        return directions * gates * length * batch * (features * hidden + hidden * hidden)
    return FORMULAS[operator](options, given, made)


def _einsum(options, given, made):
    del made
    left = options["equation"].decode().replace(" ", "").partition("->")[0]
    letters = dict(zip("".join(left.split(",")), sum(given, ()), strict=True))
    return math.prod(letters.values())


def _attention(options, given, made):
    """Scores of all queries (batch, heads, steps, depth), then sums of values."""
    del options, made
    queries, keys, values = given[:3]
    past = given[4][2] if len(given) > 4 else 0
    if len(queries) == 3:  # the heads of a position lie side by side
        batch, steps, width = queries
        return batch * steps * (keys[1] + past) * 2 * width
    batch, heads, steps, depth = queries
    return batch * heads * steps * (keys[2] + past) * (depth + values[3])


def _transposed(options, given, made):
    """Each element of the input meets the kernel of every output channel of its group."""
    del options, made
    return math.prod(given[0]) * given[1][1] * math.prod(given[1][2:])


def _gemm(options, given, made):
    return made[0] * made[1] * given[1][1 if options.get("transB") else 0]


FORMULAS = {
    "ConvTranspose": _transposed,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "Attention": _attention,
}


def stored_parameters(model: onnx.ModelProto) -> int:
    """Elements of stored tensors with a dimension that some node reads where it takes data."""
    return sum(_in(graph) for graph in _graphs(model.graph)) + sum(
        _in(function) for function in model.functions
    )


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _everything(holder):
    for node in holder.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _everything(attribute.g)


def _in(holder) -> int:
    tensors = {tensor.name: tensor for tensor in getattr(holder, "initializer", ())}
    tensors |= {each.values.name: each.values for each in getattr(holder, "sparse_initializer", ())}
    for node in holder.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
            if node.op_type == "Constant" and attribute.name == "value_floats":
                tensors[node.output[0]] = numpy_helper.from_array(
                    numpy_helper.np.array(attribute.floats, "float32")
                )
    elements: dict[str, int] = {}
    for node in _everything(holder):
        for place, name in enumerate(node.input):
            tensor = tensors.get(name)
            is_setting = place in SETTINGS.get(node.op_type, ())
            if tensor is None or is_setting or not tensor.dims:
                continue
            if tensor.data_type in PARAMETER_TYPES:
                options = {each.name: each.i for each in node.attribute}
                packs = node.op_type == "MatMulNBits" and place == 1
                elements[name] = options["N"] * options["K"] if packs else math.prod(tensor.dims)
    return sum(elements.values())
