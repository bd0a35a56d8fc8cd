"""Models that mean harm, each built in code: bombs, endless loops, killers, lies about bytes.

All are small files. What each must lead to stands in the tests beside this module.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zipfile

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests import samples
from tests.samples import FLOAT, INT64, field, model, node, tensor, value

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
BOOL = TensorProto.BOOL


def constant(name, numbers, dtype=np.int64):
    return numpy_helper.from_array(np.array(numbers, dtype), name)


# --- what ends the process ------------------------------------------------------------------------


def empty_input(operator, *, folded=False) -> bytes:
    """An operator of many inputs, one left out in the middle; folded, the loader runs it."""
    weights = [tensor("w", (2, 3))]
    inputs = ["w", "", "w"] if folded else ["x", "", "x"]
    return model(
        [node(operator, inputs, ["m"]), node("Add", ["x", "m"], ["y"])],
        [value("x", shape=(2, 3))],
        [value("y", shape=(2, 3))],
        weights,
    ).SerializeToString()


def label_encoder() -> bytes:
    """LabelEncoder whose only input is left out."""
    encoder = node(
        "LabelEncoder",
        [""],
        ["y"],
        domain="ai.onnx.ml",
        keys_int64s=[1, 2],
        values_floats=[1.0, 2.0],
    )
    return model(
        [encoder], [value("x", INT64)], [value("y")], domains=[("ai.onnx.ml", 3)]
    ).SerializeToString()


def attention(heads) -> bytes:
    return model(
        [node("Attention", ["q", "k", "v"], ["y"], q_num_heads=heads, kv_num_heads=heads)],
        [value(name, shape=(1, 2, 4)) for name in "qkv"],
        [value("y", shape=(1, 2, 4))],
        opset=23,
        ir=11,
    ).SerializeToString()


def overflowing(operator, dtype=np.int64) -> bytes:
    """The lowest integer by -1, on constants: the runtime folds it while loading."""
    low = constant("low", [np.iinfo(dtype).min], dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return model(
        [node(operator, ["low", "minus"], ["q"]), node("Add", ["x", "q"], ["y"])],
        [value("x", kind, (1,))],
        [value("y", kind, (1,))],
        [low, constant("minus", [-1], dtype)],
    ).SerializeToString()


# --- what would never end -------------------------------------------------------------------------


def loop_body(name, nodes, extra=()):
    """Give a Loop's body that carries `s` and never wants to stop."""
    keep = node("Identity", [f"c_{name}"], [f"go_{name}"])
    return helper.make_graph(
        [keep, *nodes],
        name,
        [
            value(f"i_{name}", INT64, ()),
            value(f"c_{name}", BOOL, ()),
            value(f"s_{name}", shape=None),
        ],
        [value(f"go_{name}", BOOL, ()), value(f"t_{name}", shape=None), *extra],
    )


def endless_loop() -> bytes:
    """A Loop without a trip count whose condition stays true."""
    body = loop_body("a", [node("Sin", ["s_a"], ["t_a"])])
    return model(
        [node("Loop", ["", "yes", "x"], ["y"], body=body)],
        [value("x", shape=(1,))],
        [value("y", shape=("M",))],
        [constant("yes", True, np.bool_)],
    ).SerializeToString()


def nested_loops(levels=4) -> bytes:
    """Loops of 2^40 rounds inside each other."""
    nodes = [node("Sin", ["s_0"], ["t_0"])]
    for level in range(levels):
        body = loop_body(str(level), nodes)
        above = f"{level + 1}"
        outside = (f"s_{above}", f"t_{above}") if level + 1 < levels else ("x", "y")
        nodes = [node("Loop", ["many", "yes", outside[0]], [outside[1]], body=body)]
    return model(
        nodes,
        [value("x", shape=(1,))],
        [value("y", shape=("M",))],
        [constant("many", 1 << 40), constant("yes", True, np.bool_)],
    ).SerializeToString()


def growing_loop() -> bytes:
    """A Loop that doubles what it carries at every round."""
    body = loop_body("a", [node("Concat", ["s_a", "s_a"], ["t_a"], axis=0)])
    return model(
        [node("Loop", ["many", "", "x"], ["y"], body=body)],
        [value("x", shape=(1,))],
        [value("y", shape=("M",))],
        [constant("many", 60)],
    ).SerializeToString()


def long_scan() -> bytes:
    """A Scan over 2^31 rows that a Range makes."""
    body = helper.make_graph(
        [node("Add", ["s", "row"], ["t"])],
        "body",
        [value("s", shape=()), value("row", shape=())],
        [value("t", shape=())],
    )
    return model(
        [
            node("Expand", ["x", "long"], ["rows"]),
            node("Scan", ["zero", "rows"], ["y"], body=body, num_scan_inputs=1),
        ],
        [value("x", shape=(1,))],
        [value("y", shape=())],
        [constant("zero", 0.0, np.float32), constant("long", [1 << 31])],
    ).SerializeToString()


def sequence_loop() -> bytes:
    """A sequence that grows for ever."""
    inserted = node("SequenceInsert", ["s", "x"], ["t"])
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    body = helper.make_graph(
        [node("Identity", ["c"], ["go"]), inserted],
        "body",
        [value("i", INT64, ()), value("c", BOOL, ()), helper.make_value_info("s", kind)],
        [value("go", BOOL, ()), helper.make_value_info("t", kind)],
    )
    return model(
        [
            node("SequenceEmpty", [], ["none"]),
            node("Loop", ["", "yes", "none"], ["all"], body=body),
            node("SequenceLength", ["all"], ["y"]),
        ],
        [value("x", shape=(1,))],
        [value("y", INT64, ())],
        [constant("yes", True, np.bool_)],
    ).SerializeToString()


def backtracking() -> bytes:
    """A pattern that a backtracking matcher never finishes with."""
    words = numpy_helper.from_array(np.array(["a" * 64 + "!"], dtype=object), "words")
    return model(
        [node("RegexFullMatch", ["words"], ["y"], pattern="(a+)+$")],
        [value("x")],
        [value("y", BOOL, (1,))],
        [words],
        opset=20,
        ir=9,
    ).SerializeToString()


def cyclic_trees() -> bytes:
    """A tree whose only branch leads back to itself."""
    tree = node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0, 0],
        nodes_nodeids=[0, 1],
        nodes_featureids=[0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF"],
        nodes_values=[0.5, 0.0],
        nodes_truenodeids=[0, 0],
        nodes_falsenodeids=[0, 0],
        nodes_missing_value_tracks_true=[0, 0],
        target_treeids=[0],
        target_nodeids=[1],
        target_ids=[0],
        target_weights=[1.0],
    )
    return model(
        [tree],
        [value("x", shape=("N", 1))],
        [value("y", shape=("N", 1))],
        domains=[("ai.onnx.ml", 3)],
    ).SerializeToString()


def recursive_function() -> bytes:
    """Two functions that call each other."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = [
        helper.make_function(
            "local", name, ["a"], ["b"], [node(other, ["a"], ["b"], domain="local")], imports
        )
        for name, other in (("F", "G"), ("G", "F"))
    ]
    return model(
        [node("F", ["x"], ["y"], domain="local")], domains=[("local", 1)], functions=functions
    ).SerializeToString()


# --- what costs too much --------------------------------------------------------------------------


def by_hand(graph) -> bytes:
    """Give a model of opset 17 from a graph's bytes: building large ones by library is slow."""
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def typed(name) -> bytes:
    """Give a ValueInfoProto: a float tensor of one element."""
    shape = field(2, field(1, b"\x08\x01"))
    return field(1, name) + field(2, field(1, b"\x08\x01" + shape))


def fanout(count=25_000) -> bytes:
    """One value that so many nodes read, each an output of the graph."""
    graph = b"".join(
        field(1, field(1, b"x") + field(2, b"y%d" % place) + field(4, b"Relu"))
        + field(12, typed(b"y%d" % place))
        for place in range(count)
    )
    return by_hand(graph + field(2, b"fanout") + field(11, typed(b"x")))


def many_inputs(count=20_000) -> bytes:
    graph = b"".join(field(11, typed(b"x%d" % place)) for place in range(count))
    used = field(1, field(1, b"x0") + field(2, b"y") + field(4, b"Relu"))
    return by_hand(used + field(2, b"inputs") + graph + field(12, typed(b"y")))


def dotted_einsum(dots=5000) -> bytes:
    return model(
        [node("Einsum", ["x"], ["y"], equation="." * dots + "->")], [value("x", shape=(2, 2))]
    ).SerializeToString()


def split_into(count=20_000) -> bytes:
    """One node with so many outputs, the graph's too."""
    names = [f"y{place}" for place in range(count)]
    return model(
        [node("Split", ["x"], names, axis=0, num_outputs=count)],
        [value("x", shape=("N",))],
        [value("y0", shape=("M",))],
        opset=18,
    ).SerializeToString()


def wide_products(count=400, size=4096) -> bytes:
    """Products of large squares in a row: hours of computing in a file of some kB."""
    names = ["big", *(f"p{place}" for place in range(count - 1)), "y"]
    nodes = [node("MatMul", [names[at], "big"], [names[at + 1]]) for at in range(count)]
    square = node("ConstantOfShape", ["shape"], ["big"])
    return model(
        [square, *nodes],
        [value("x")],
        [value("y", shape=("A", "B"))],
        [constant("shape", [size, size])],
    ).SerializeToString()


def huge(operator, inputs, initializers, *, shape=("M",)) -> bytes:
    """One node that asks for some hundred GiB."""
    return model(
        [node(operator, inputs, ["y"])],
        [value("x", shape=(1,))],
        [value("y", shape=shape)],
        initializers,
    ).SerializeToString()


def huge_expand() -> bytes:
    return huge("Expand", ["x", "s"], [constant("s", [1 << 20, 1 << 17])], shape=("A", "B"))


def huge_tile() -> bytes:
    return huge("Tile", ["x", "s"], [constant("s", [1 << 37])])


def huge_constant() -> bytes:
    return huge("ConstantOfShape", ["s"], [constant("s", [1 << 20, 1 << 17])], shape=("A", "B"))


def overflowing_shape() -> bytes:
    """A shape whose product wraps around to a small number."""
    return huge(
        "ConstantOfShape", ["s"], [constant("s", [1 << 32, 1 << 32, 4])], shape=("A", "B", "C")
    )


def huge_pad() -> bytes:
    return huge("Pad", ["x", "s"], [constant("s", [0, 1 << 37])])


def huge_range() -> bytes:
    numbers = [constant(name, at, np.float32) for name, at in (("a", 0), ("b", 1e12), ("c", 1))]
    return huge("Range", ["a", "b", "c"], numbers)


def endless_range() -> bytes:
    numbers = [constant(name, at, np.float32) for name, at in (("a", 0), ("b", 1), ("c", 0))]
    return huge("Range", ["a", "b", "c"], numbers)


def huge_one_hot() -> bytes:
    numbers = [constant("i", [0]), constant("d", 1 << 37), constant("v", [0.0, 1.0], np.float32)]
    return huge("OneHot", ["i", "d", "v"], numbers, shape=("A", "B"))


def backward_slice() -> bytes:
    """A Slice whose step is the lowest integer: data propagation allocates for it."""
    numbers = [
        constant(name, [at])
        for name, at in (("b", INT64_MAX), ("e", INT64_MIN), ("a", 0), ("s", INT64_MIN))
    ]
    return model(
        [
            node("Shape", ["x"], ["d"]),
            node("Slice", ["d", "b", "e", "a", "s"], ["c"]),
            node("ConstantOfShape", ["c"], ["y"]),
        ],
        [value("x", shape=(2, 3))],
        [value("y", shape=("A", "B"))],
        numbers,
    ).SerializeToString()


def huge_pool() -> bytes:
    return model(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[INT64_MAX, INT64_MAX], strides=[1, 1])],
        [value("x", shape=(1, 1, 4, 4))],
    ).SerializeToString()


def huge_roi() -> bytes:
    """A box of 10^9 pixels with adaptive sampling."""
    return model(
        [node("RoiAlign", ["x", "boxes", "which"], ["y"], sampling_ratio=0, output_height=1)],
        [value("x", shape=(1, 1, 4, 4))],
        [value("y", shape=("A", "B", "C", "D"))],
        [constant("boxes", [[0, 0, 1e9, 1e9]], np.float32), constant("which", [0])],
    ).SerializeToString()


# --- what lies about itself -----------------------------------------------------------------------


def opset(version) -> bytes:
    return model([node("Relu", ["x"], ["y"])], opset=version).SerializeToString()


def deep_branches(depth) -> bytes:
    """If inside If, on one side only: once a bomb at load time."""
    graph = helper.make_graph([node("Relu", ["x"], ["r0"])], "g0", [], [value("r0")])
    for level in range(1, depth):
        inner = node("If", ["c"], [f"r{level}"], then_branch=graph, else_branch=leaf(level))
        graph = helper.make_graph([inner], f"g{level}", [], [value(f"r{level}")])
    outer = node("If", ["c"], ["y"], then_branch=graph, else_branch=leaf(depth))
    return model([outer], [value("x"), value("c", BOOL, ())]).SerializeToString()


def leaf(level):
    name = f"else{level}"
    return helper.make_graph([node("Neg", ["x"], [name])], name, [], [value(name)])


def sparse_outside(location="../weights.bin") -> bytes:
    """A sparse weight whose values lie outside the folder."""
    outside = samples.external_proto(location).graph.initializer[0]
    outside.dims[:] = [16]
    made = samples.model([node("Relu", ["x"], ["y"])])
    sparse = made.graph.sparse_initializer.add(dims=[4, 4])
    sparse.values.CopyFrom(outside)
    sparse.indices.CopyFrom(constant("places", list(range(16))))
    return made.SerializeToString()


def ir_version(version) -> bytes:
    made = model([node("Relu", ["x"], ["y"])])
    made.ir_version = version
    return made.SerializeToString()


def named(name: bytes) -> bytes:
    """A model in which everything bears this name, whatever its bytes."""
    used = field(1, b"x") + field(2, b"y") + field(3, name) + field(4, name) + field(7, name)
    graph = field(1, used) + field(2, name) + field(11, typed(b"x")) + field(12, typed(b"y"))
    return by_hand(graph) + field(2, name) + field(8, field(1, name) + b"\x10\x01")


def cycle() -> bytes:
    return model([node("Add", ["x", "y"], ["h"]), node("Relu", ["h"], ["y"])]).SerializeToString()


def name_in_memory() -> bytes:
    """A tensor that names a place in memory as its file, as the runtime does inside itself."""
    return samples.external_proto("*/_ORT_MEM_ADDR_/*", offset=0x400000).SerializeToString()


def outer_value_as_output() -> bytes:
    """A body that yields what only the outer graph makes, later."""
    body = helper.make_graph([], "body", [], [value("y")])
    return model(
        [node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
        [value("x"), value("c", BOOL, ())],
    ).SerializeToString()


def wrong_attribute_type() -> bytes:
    made = samples.mlp_proto()
    axis = made.graph.node[3].attribute[0]
    axis.type = AttributeProto.GRAPH
    return made.SerializeToString()


def indices_outside() -> bytes:
    """Indices far outside the table, on constants."""
    return model(
        [node("Gather", ["w", "i"], ["g"]), node("Add", ["x", "g"], ["y"])],
        [value("x", shape=(1, 4))],
        [value("y", shape=(1, 4))],
        [tensor("w", (4, 4)), constant("i", [1 << 40])],
    ).SerializeToString()


# --- archives in place of a model -----------------------------------------------------------------


def zip_bomb() -> bytes:
    """Twenty MB of nothing in 20 kB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.onnx", bytes(20 << 20))
    return buffer.getvalue()


def climbing_zip() -> bytes:
    return samples.zip_file("../../outside.onnx", samples.mlp())


def empty_zip() -> bytes:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    return buffer.getvalue()


def bz2_file() -> bytes:
    return bz2.compress(samples.mlp())


def xz_file() -> bytes:
    return lzma.compress(samples.mlp())


def zip_behind_a_model() -> bytes:
    """A whole model with an archive behind it, as self-extracting files are made."""
    return samples.mlp() + samples.zip_file("payload", b"#!/bin/sh\n")
