"""Structural mutations of models: they act on the graph, where bit flips rarely reach.

Every mutation takes a source of randomness and a model, and changes the model in place. It may find
nothing to change; it never fails.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from random import Random

INTEGERS = (
    *(-(1 << 63), (1 << 63) - 1, -(1 << 31), (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40),
    *(0, 1, -1, 2, -2, 3, 7, 100, 65536, -1000),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e38, -1e38, 1e-45, float("nan"), float("inf"), float("-inf"))
TEXTS = ("", "x", "NOTSET", "SAME_UPPER", "linear", "...", "ij,jk->ik", "->", "(a+)+$", "é" * 300)
DIMENSIONS = (0, 1, 2, 3, 7, 1 << 16, 1 << 31, 1 << 40, (1 << 62) + 1, -1, "N", "M", None)
OPSETS = (*range(1, 29), 0, -1, 99, 1 << 31)
DTYPES = (*(1, 10, 11, 16), *(2, 3, 4, 5, 6, 7, 9, 12, 13), 8, 14, 17, 21, 22, 0, 99)
OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain})


def mutate(random: Random, model: onnx.ModelProto, times: int) -> list[str]:
    """Apply so many mutations, drawn at random; gives their names."""
    drawn = random.choices(MUTATIONS, k=times)
    for mutation in drawn:
        mutation(random, model)
    return [mutation.__name__ for mutation in drawn]


def _graphs(graph):
    """Give a graph and every graph inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from _graphs(inner)


def _nodes(model):
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    return nodes + [node for function in model.functions for node in function.node]


def _names(model):
    names = {name for node in _nodes(model) for name in (*node.input, *node.output)}
    names |= {value.name for value in (*model.graph.input, *model.graph.output)}
    return sorted(names | {tensor.name for tensor in model.graph.initializer})


def _pick(random, things):
    return random.choice(list(things)) if things else None


# --- edges ----------------------------------------------------------------------------------------


def drop_input(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.input])
    if node:
        del node.input[random.randrange(len(node.input))]


def repeat_input(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.input])
    if node:
        node.input.extend([random.choice(node.input)] * random.choice((1, 2, 40)))


def empty_input(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.input])
    if node:
        node.input[random.randrange(len(node.input))] = ""


def add_input(random, model):
    node = _pick(random, _nodes(model))
    if node:
        node.input.extend(random.choice(([""], ["", ""], [random.choice(_names(model))])))


def rewire(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.input])
    if node:
        node.input[random.randrange(len(node.input))] = random.choice(_names(model))


def empty_output(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.output])
    if node:
        node.output[random.randrange(len(node.output))] = ""


def add_output(random, model):
    node = _pick(random, _nodes(model))
    if node:
        node.output.extend(f"more_{random.random()}" for _ in range(random.choice((1, 3, 60))))


def cut_output(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.output])
    if node:
        del node.output[random.randrange(len(node.output))]


def cut_graph_output(random, model):
    outputs = model.graph.output
    if outputs:
        del outputs[random.randrange(len(outputs))]


def show_inner_value(random, model):
    node = _pick(random, [node for node in model.graph.node if node.output])
    if node:
        model.graph.output.append(onnx.ValueInfoProto(name=random.choice(node.output)))


# --- nodes ----------------------------------------------------------------------------------------


def drop_node(random, model):
    graph = _pick(random, [graph for graph in _graphs(model.graph) if graph.node])
    if graph:
        del graph.node[random.randrange(len(graph.node))]


def repeat_node(random, model):
    graph = _pick(random, [graph for graph in _graphs(model.graph) if graph.node])
    if graph:
        copy = graph.node.add()
        copy.CopyFrom(random.choice(graph.node))
        if random.random() < 0.7:
            fresh = [f"{name}_{len(graph.node)}" for name in copy.output]
            copy.output[:] = fresh


def chain_node(random, model):
    """Let one node follow itself many times."""
    graph = _pick(random, [graph for graph in _graphs(model.graph) if graph.node])
    if not graph:
        return
    node = random.choice(graph.node)
    if not node.input or not node.output or not node.output[0]:
        return
    last = node.output[0]
    for place in range(random.choice((2, 10, 60))):
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.input[0], copy.output[0] = last, f"{node.output[0]}_c{place}"
        last = copy.output[0]


def swap_nodes(random, model):
    graph = _pick(random, [graph for graph in _graphs(model.graph) if len(graph.node) > 1])
    if graph:
        one, other = random.sample(range(len(graph.node)), 2)
        kept = onnx.NodeProto()
        kept.CopyFrom(graph.node[one])
        graph.node[one].CopyFrom(graph.node[other])
        graph.node[other].CopyFrom(kept)


def other_operator(random, model):
    node = _pick(random, _nodes(model))
    if node:
        node.op_type = random.choice(OPERATORS)


def other_domain(random, model):
    node = _pick(random, _nodes(model))
    if node:
        node.domain = random.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.acme"))


def other_opset(random, model):
    entry = _pick(random, model.opset_import)
    if entry:
        entry.version = random.choice(OPSETS)


def other_ir(random, model):
    model.ir_version = random.choice((*range(1, 15), 99, -1))


# --- attributes -----------------------------------------------------------------------------------


def extreme_attribute(random, model):
    attributes = [attribute for node in _nodes(model) for attribute in node.attribute]
    attribute = _pick(random, attributes)
    if attribute is None:
        return
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = random.choice(INTEGERS)
        case AttributeProto.INTS:
            _change_list(random, attribute.ints, INTEGERS)
        case AttributeProto.FLOAT:
            attribute.f = random.choice(FLOATS)
        case AttributeProto.FLOATS:
            _change_list(random, attribute.floats, FLOATS)
        case AttributeProto.STRING:
            attribute.s = random.choice(TEXTS).encode()
        case AttributeProto.STRINGS:
            _change_list(random, attribute.strings, [text.encode() for text in TEXTS])
        case AttributeProto.TENSOR:
            _reshape(random, attribute.t)


def _change_list(random, numbers, extremes):
    match random.randrange(4):
        case 0 if numbers:
            numbers[random.randrange(len(numbers))] = random.choice(extremes)
        case 1:
            numbers.append(random.choice(extremes))
        case 2 if numbers:
            del numbers[-1]
        case _:
            del numbers[:]


def other_attribute_type(random, model):
    attributes = [attribute for node in _nodes(model) for attribute in node.attribute]
    attribute = _pick(random, attributes)
    if attribute is not None:
        drawn = (random.choice(INTEGERS), random.choice(FLOATS), random.choice(TEXTS), [1, 0], [""])
        attribute.CopyFrom(helper.make_attribute(attribute.name, random.choice(drawn)))


def drop_attribute(random, model):
    node = _pick(random, [node for node in _nodes(model) if node.attribute])
    if node:
        del node.attribute[random.randrange(len(node.attribute))]


def add_attribute(random, model):
    """Give a node an attribute that its operator knows, at an extreme."""
    node = _pick(random, _nodes(model))
    if not node or not onnx.defs.has(node.op_type):
        return
    name = _pick(random, sorted(onnx.defs.get_schema(node.op_type).attributes))
    if name is None:
        return
    kind = onnx.defs.get_schema(node.op_type).attributes[name].type.name
    values = {
        "INT": random.choice(INTEGERS),
        "FLOAT": random.choice(FLOATS),
        "STRING": random.choice(TEXTS),
        "INTS": random.choices(INTEGERS, k=random.randrange(1, 5)),
        "FLOATS": random.choices(FLOATS, k=random.randrange(1, 5)),
    }
    if kind in values:
        node.attribute.append(helper.make_attribute(name, values[kind]))


# --- tensors and types ----------------------------------------------------------------------------


def reshape_weight(random, model):
    tensor = _pick(random, model.graph.initializer)
    if tensor is not None:
        _reshape(random, tensor)


def _reshape(random, tensor):
    """Change shape or values of a tensor, its bytes along with it: the scan has no objection."""
    try:
        array = numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001 - earlier mutations may have broken it
        return
    match random.randrange(7):
        case 0:
            array = array.reshape(-1)
        case 1:
            array = array.reshape((1,) * random.choice((1, 3, 9)) + array.shape)
        case 2:
            array = array.T
        case 3:
            array = array[:0] if array.ndim else array.reshape(1)[:0]
        case 4:
            array = np.concatenate([array.reshape(-1)] * 3)
        case 5:
            array = array.reshape(-1)[:1].reshape(()) if array.size else array
        case _:
            array = _extreme(random, array)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))


def _extreme(random, array):
    if array.dtype.kind == "f":
        drawn = random.choice(FLOATS)
    elif array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        drawn = random.choice((info.min, info.max, 0, 1, info.max // 2, -1 % (1 + info.max)))
    else:
        return array
    changed = array.copy()
    with np.errstate(all="ignore"):
        if random.random() < 0.5 and changed.size:
            changed.reshape(-1)[random.randrange(changed.size)] = drawn
        else:
            changed[...] = drawn
    return changed


def other_weight_type(random, model):
    tensor = _pick(random, model.graph.initializer)
    if tensor is None:
        return
    kinds = (np.float16, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_)
    try:
        with np.errstate(all="ignore"):
            array = numpy_helper.to_array(tensor).astype(random.choice(kinds))
    except Exception:  # noqa: BLE001
        return
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def drop_weight(random, model):
    weights = model.graph.initializer
    if weights:
        del weights[random.randrange(len(weights))]


def weight_as_input(random, model):
    """Let a weight be given by the caller: nothing about it is known any more."""
    weights = model.graph.initializer
    if weights:
        place = random.randrange(len(weights))
        tensor = weights[place]
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
        del weights[place]


def input_as_weight(random, model):
    """Make an input constant: the runtime then runs what depends on it while it loads."""
    inputs = model.graph.input
    if not inputs:
        return
    place = random.randrange(len(inputs))
    kind = inputs[place].type.tensor_type
    shape = [entry.dim_value or 2 for entry in kind.shape.dim]
    try:
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind not in "fiub" or not 0 <= np.prod(shape, dtype=object) < 1 << 20:
            return
        array = _extreme(random, np.ones(shape, dtype))
    except Exception:  # noqa: BLE001
        return
    model.graph.initializer.append(numpy_helper.from_array(array, inputs[place].name))
    del inputs[place]


def other_value_type(random, model):
    values = (*model.graph.input, *model.graph.output, *model.graph.value_info)
    value = _pick(random, values)
    if value is not None:
        value.type.tensor_type.elem_type = random.choice(DTYPES)


def other_value_shape(random, model):
    values = (*model.graph.input, *model.graph.output, *model.graph.value_info)
    value = _pick(random, values)
    if value is None:
        return
    if random.random() < 0.2:
        value.type.tensor_type.ClearField("shape")
        return
    dimensions = value.type.tensor_type.shape.dim
    if not dimensions or random.random() < 0.2:
        dimensions.add()
    _set_dimension(random.choice(dimensions), random.choice(DIMENSIONS))


def _set_dimension(dimension, drawn):
    dimension.Clear()
    if isinstance(drawn, str):
        dimension.dim_param = drawn
    elif drawn is not None:
        dimension.dim_value = drawn


def add_value_info(random, model):
    """Claim something about a value in the middle."""
    claim = helper.make_tensor_value_info(
        random.choice(_names(model) or ["x"]), random.choice(DTYPES), None
    )
    for _ in range(random.randrange(4)):
        _set_dimension(claim.type.tensor_type.shape.dim.add(), random.choice(DIMENSIONS))
    model.graph.value_info.append(claim)


# --- nesting --------------------------------------------------------------------------------------


def nest(random, model):
    """Move a node into both branches of an If, once or several times inside each other."""
    graph = _pick(random, [graph for graph in _graphs(model.graph) if graph.node])
    if not graph:
        return
    place = random.randrange(len(graph.node))
    inner = onnx.NodeProto()
    inner.CopyFrom(graph.node[place])
    for level in range(random.choice((1, 2, 6))):
        inner = _branches(inner, level)
    graph.node[place].CopyFrom(inner)
    kind = helper.make_tensor("yes", TensorProto.BOOL, (), [random.random() < 0.5])
    if not any(tensor.name == "yes" for tensor in model.graph.initializer):
        model.graph.initializer.append(kind)


def _branches(node, level):
    names = [name for name in node.output if name]
    branches = {}
    for word in ("then_branch", "else_branch"):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        changed = {name: f"{name}_{word[0]}{level}" for name in names}
        copy.output[:] = [changed.get(name, "") for name in node.output]
        outputs = [onnx.ValueInfoProto(name=name) for name in changed.values()]
        branches[word] = helper.make_graph([copy], f"{word}{level}", [], outputs)
    return helper.make_node("If", ["yes"], names, **branches)


def loop(random, model):
    """Move a node into a Loop whose trip count is anything."""
    graph = _pick(random, [graph for graph in _graphs(model.graph) if graph.node])
    if not graph:
        return
    place = random.randrange(len(graph.node))
    node = graph.node[place]
    if not node.input or not node.output or not node.output[0]:
        return
    carried, made = node.input[0], node.output[0]
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    inner.input[0], inner.output[0] = "carried", "turned"
    values = (("round", TensorProto.INT64), ("going", TensorProto.BOOL))
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["go"]), inner],
        "body",
        [*itertools.starmap(_scalar, values), onnx.ValueInfoProto(name="carried")],
        [_scalar("go", TensorProto.BOOL), onnx.ValueInfoProto(name="turned")],
    )
    trips = f"trips_{len(model.graph.initializer)}"
    count = numpy_helper.from_array(np.array(random.choice(INTEGERS)), trips)
    model.graph.initializer.append(count)
    graph.node[place].CopyFrom(helper.make_node("Loop", [trips, "", carried], [made], body=body))


def _scalar(name, dtype):
    return helper.make_tensor_value_info(name, dtype, [])


def call_function(random, model):
    """Put a node into a function of its own, now and then one that calls itself."""
    node = _pick(random, [node for node in model.graph.node if node.output])
    if not node:
        return
    name = f"F{len(model.functions)}"
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    inputs = list(dict.fromkeys(word for word in node.input if word))
    outputs = list(dict.fromkeys(word for word in node.output if word))
    if random.random() < 0.2:
        inner = helper.make_node(name, inputs, outputs, domain="own")
    imports = [*model.opset_import, helper.make_opsetid("own", 1)]
    made = helper.make_function("own", name, inputs, outputs, [inner], imports)
    model.functions.append(made)
    node.CopyFrom(helper.make_node(name, inputs, outputs, domain="own"))
    if not any(entry.domain == "own" for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid("own", 1))


MUTATIONS = (
    *(drop_input, repeat_input, empty_input, add_input, rewire),
    *(empty_output, add_output, cut_output, cut_graph_output, show_inner_value),
    *(drop_node, repeat_node, chain_node, swap_nodes, other_operator, other_domain),
    *(other_opset, other_ir, drop_attribute, add_attribute, other_attribute_type),
    # More often than others, for this is where most deaths were found.
    *(extreme_attribute, extreme_attribute, empty_input, input_as_weight, input_as_weight),
    *(reshape_weight, reshape_weight, other_weight_type, drop_weight, weight_as_input),
    *(other_value_type, other_value_shape, add_value_info, nest, loop, call_function),
)
