"""Tiny models made in code, good and bad, for every test that needs a file to work on.

Nothing here opens a file or starts a runtime: each function gives the bytes of one file, or a map
from paths to bytes where a model has several.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import pickle
import secrets
import tarfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name, dtype=FLOAT, shape=("N",)):
    return helper.make_tensor_value_info(name, dtype, shape)


def tensor(name, shape, *, dtype=np.float32, seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape) * 4
    return numpy_helper.from_array(numbers.astype(dtype), name)


def model(
    nodes,
    inputs=None,
    outputs=None,
    initializers=(),
    *,
    opset=17,
    ir=8,
    domains=(),
    functions=(),
    name="sample",
):
    """Give an unchecked ModelProto; `domains` are further (domain, version) imports."""
    graph = helper.make_graph(
        nodes, name, inputs or [value("x")], outputs or [value("y")], initializer=initializers
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*pair) for pair in domains)]
    return helper.make_model(
        graph,
        ir_version=ir,
        opset_imports=imports,
        functions=functions,
        producer_name="samples",
        producer_version="1",
    )


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, **attributes)


# --- good models -------------------------------------------------------------------------------


def mlp_proto(*, hidden=8):
    """4 -> hidden -> 3 with Relu and Softmax: 4 * hidden + hidden + 3 * hidden + 3 parameters."""
    return model(
        [
            node("Gemm", ["x", "w1", "b1"], ["h"]),
            node("Relu", ["h"], ["r"]),
            node("Gemm", ["r", "w2", "b2"], ["logits"]),
            node("Softmax", ["logits"], ["y"], axis=1),
        ],
        [value("x", shape=("N", 4))],
        [value("y", shape=("N", 3))],
        [
            tensor("w1", (4, hidden), seed=1),
            tensor("b1", (hidden,), seed=2),
            tensor("w2", (hidden, 3), seed=3),
            tensor("b2", (3,), seed=4),
        ],
        name="mlp",
    )


def mlp(*, hidden=8) -> bytes:
    return mlp_proto(hidden=hidden).SerializeToString()


def unlike_others(content: bytes) -> bytes:
    """The same model with bytes that no other has: no result of theirs answers its jobs."""
    made = onnx.load_model_from_string(content)
    made.doc_string = secrets.token_hex(8)
    return made.SerializeToString()


def add_one() -> bytes:
    """The smallest useful model: y = x + 1."""
    one = numpy_helper.from_array(np.ones((1,), np.float32), "one")
    return model([node("Add", ["x", "one"], ["y"])], initializers=[one]).SerializeToString()


def conv() -> bytes:
    return model(
        [
            node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            node("Relu", ["c"], ["r"]),
            node("GlobalAveragePool", ["r"], ["p"]),
            node("Flatten", ["p"], ["y"]),
        ],
        [value("x", shape=("N", 1, "H", "W"))],
        [value("y", shape=("N", 4))],
        [tensor("w", (4, 1, 3, 3))],
    ).SerializeToString()


def with_external_data(*, location="weights.bin", length=None, offset=0) -> dict[str, bytes]:
    """One MatMul whose 4 x 4 weights lie in `location`; the pieces can be made to lie."""
    weights = np.arange(16, dtype=np.float32).tobytes()
    made = external_proto(
        location, offset=offset, length=len(weights) if length is None else length
    )
    return {"model.onnx": made.SerializeToString(), "weights.bin": weights}


def with_files_for_each_tensor(count) -> dict[str, bytes]:
    """A sum of so many scalars, each in a file of its own, as large exports write them."""
    names = [f"w{place}" for place in range(count)]
    tensors = [
        TensorProto(name=name, data_type=FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
        for name in names
    ]
    for tensor in tensors:
        tensor.external_data.add(key="location", value=f"{tensor.name}.bin")
    made = model(
        [node("Sum", ["x", *names], ["y"])],
        [value("x", shape=(1,))],
        [value("y", shape=(1,))],
        tensors,
    )
    weights = {f"{name}.bin": np.float32(1).tobytes() for name in names}
    return {"model.onnx": made.SerializeToString(), **weights}


def external_proto(location, *, offset=0, length=64):
    outside = TensorProto(
        name="w", data_type=FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL
    )
    for key, said in (("location", location), ("offset", offset), ("length", length)):
        if said is not None:
            outside.external_data.add(key=key, value=str(said))
    return model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", shape=("N", 4))],
        [value("y", shape=("N", 4))],
        [outside],
    )


def with_functions() -> bytes:
    """A local function used twice, whose body refers to one of its attributes."""
    reference = onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT)
    reference.ref_attr_name = "slope"
    inner = node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(reference)
    function = helper.make_function(
        "local", "Leak", ["a"], ["b"], [inner], [helper.make_opsetid("", 17)], ["slope"]
    )
    return model(
        [
            node("Leak", ["x"], ["h"], domain="local", slope=0.1),
            node("Leak", ["h"], ["y"], domain="local", slope=0.2),
        ],
        domains=[("local", 1)],
        functions=[function],
    ).SerializeToString()


def with_branches() -> bytes:
    """An If whose branches read the outer scope."""
    branches = {
        f"{word}_branch": helper.make_graph(
            [node(operator, ["x"], [f"{word}_out"])], word, [], [value(f"{word}_out")]
        )
        for word, operator in (("then", "Relu"), ("else", "Neg"))
    }
    return model(
        [node("If", ["c"], ["y"], **branches)],
        [value("x"), value("c", TensorProto.BOOL, ())],
    ).SerializeToString()


def quantised(*, block=0) -> bytes:
    """Weights behind DequantizeLinear: int8 for each channel, or int4 in blocks of `block`."""
    if block:
        weights = helper.make_tensor("q", TensorProto.INT4, (64, 4), [1] * 256)
        scale = tensor("s", (64 // block, 4))
        dequantise = node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=block)
    else:
        weights = tensor("q", (64, 4), dtype=np.int8)
        scale = tensor("s", (4,))
        dequantise = node("DequantizeLinear", ["q", "s"], ["w"], axis=1)
    return model(
        [dequantise, node("MatMul", ["x", "w"], ["y"])],
        [value("x", shape=("N", 64))],
        [value("y", shape=("N", 4))],
        [weights, scale],
        opset=21,
        ir=10,
    ).SerializeToString()


def zip_map() -> bytes:
    """A classifier whose second output is a sequence of maps."""
    scores = helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, None))
    return model(
        [
            node(
                "LinearClassifier",
                ["x"],
                ["label", "p"],
                domain="ai.onnx.ml",
                coefficients=[0.1, 0.2, 0.3, 0.4],
                intercepts=[0.0, 0.1],
                classlabels_ints=[0, 1],
            ),
            node("ZipMap", ["p"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
        ],
        [value("x", shape=("N", 2))],
        [
            value("label", INT64),
            helper.make_value_info("z", helper.make_sequence_type_proto(scores)),
        ],
        domains=[("ai.onnx.ml", 3)],
    ).SerializeToString()


def with_metadata() -> bytes:
    """Metadata worth keeping beside a folder of somebody's own machine, on model and node."""
    made = mlp_proto()
    helper.set_model_props(made, {"task": "demo", "checkpoint": "/home/ada/secret/run-7.ckpt"})
    made.graph.node[0].doc_string = 'File "/home/ada/secret/train.py", line 3, in forward'
    return made.SerializeToString()


def unknown_domain() -> bytes:
    return model(
        [node("Frobnicate", ["x"], ["y"], domain="com.acme")], domains=[("com.acme", 1)]
    ).SerializeToString()


def newer_opset() -> bytes:
    """Valid for onnx 1.23; onnxruntime 1.32 has no implementation of this operator's version."""
    nodes = [
        node("QuantizeLinear", ["x", "scale"], ["q"]),
        node("DequantizeLinear", ["q", "scale"], ["y"]),
    ]
    scale = onnx.numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    return model(nodes, initializers=[scale], opset=28, ir=14).SerializeToString()


def text_model() -> bytes:
    """Normalises text: the runtime needs the en_US.UTF-8 locale for it."""
    words = TensorProto.STRING
    return model(
        [node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER")],
        [value("x", words)],
        [value("y", words)],
    ).SerializeToString()


# --- files that are no model -------------------------------------------------------------------


def lfs_pointer() -> bytes:
    return (
        b"version https://git-lfs.github.com/spec/v1\n"
        b"oid sha256:4d0ff6bac708c6b974baa601980c1681c5643aa4bf20a8e1ba1a5215063201c5\n"
        b"size 102583340\n"
    )


def pickle_file() -> bytes:
    return pickle.dumps({"weights": [1.0, 2.0]}, protocol=2)


def torch_zip() -> bytes:
    return zip_file("archive/data.pkl", pickle_file())


def zip_file(name="model.onnx", content=b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def tar_file() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return buffer.getvalue()


def gzip_file() -> bytes:
    return gzip.compress(mlp())


def html_page() -> bytes:
    return b"\n<!DOCTYPE html><html><title>Sign in</title></html>"


def json_file() -> bytes:
    return json.dumps({"error": "Repository not found"}).encode()


def safetensors_file() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


def hdf5_file() -> bytes:
    return b"\x89HDF\r\n\x1a\n" + bytes(64)


def tflite_file() -> bytes:
    return b"\x1c\x00\x00\x00TFL3" + bytes(64)


def truncated() -> bytes:
    return mlp()[:-40]


# --- models that are wrong ---------------------------------------------------------------------


def checker_invalid() -> bytes:
    """A node with an input that nobody makes: invalid, and no runtime loads it."""
    return model([node("Add", ["x", "nobody"], ["y"])]).SerializeToString()


def inference_invalid() -> bytes:
    """A declared output shape that the graph cannot have: only the full check minds."""
    return model(
        [node("Relu", ["x"], ["h"]), node("Identity", ["h"], ["y"])],
        [value("x", shape=(2, 3))],
        [value("y", shape=(3, 3))],
    ).SerializeToString()


def unfit_product() -> bytes:
    """A product of matrices that do not fit: the checker without inference does not see it."""
    return model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", shape=(2, 3))],
        [value("y", shape=(2, 5))],
        [tensor("w", (4, 5))],
    ).SerializeToString()


def repeated_initializer() -> bytes:
    return model(
        [node("Add", ["x", "w"], ["y"])],
        initializers=[tensor("w", (1,)), tensor("w", (1,), seed=1)],
    ).SerializeToString()


def contradicting_opsets() -> bytes:
    made = mlp_proto()
    made.opset_import.append(helper.make_opsetid("ai.onnx", 11))
    return made.SerializeToString()


def oversized_tensor() -> bytes:
    """Eight bytes of weights too many: the full check passes, the runtime refuses."""
    made = mlp_proto()
    made.graph.initializer[1].raw_data += bytes(8)
    return made.SerializeToString()


def unknown_attribute_type() -> bytes:
    made = mlp_proto()
    axis = made.graph.node[3].attribute[0]
    written = axis.SerializeToString()
    # The field number of `type` is 20: tag 0xa0 0x01, here with the value 99 in place of INT.
    changed = written.replace(b"\xa0\x01\x02", b"\xa0\x01\x63")
    return made.SerializeToString().replace(written, changed)


def stray_reference() -> bytes:
    """An attribute that refers to a function's parameter in the main graph."""
    made = mlp_proto()
    attribute = made.graph.node[3].attribute[0]
    attribute.ref_attr_name = "axis_of_nobody"
    return made.SerializeToString()


def segmented_tensor() -> bytes:
    made = mlp_proto()
    made.graph.initializer[0].segment.begin = 0
    made.graph.initializer[0].segment.end = 8
    return made.SerializeToString()


def negative_dimension() -> bytes:
    made = mlp_proto()
    made.graph.initializer[0].dims[0] = -4
    return made.SerializeToString()


def field(number, content: bytes) -> bytes:
    """Write one length-delimited protobuf field by hand."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def deep_nesting(depth=200) -> bytes:
    """Graphs inside If inside graphs, by hand: no library serialises this."""
    graph = field(1, field(4, b"Identity"))
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, graph)
        graph = field(1, field(4, b"If") + field(5, attribute))
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def deep_type(depth=200) -> bytes:
    """A sequence of sequences of sequences… as the type of an input."""
    kind = field(1, b"\x08\x01")
    for _ in range(depth):
        kind = field(4, field(1, kind))
    entry = field(1, b"x") + field(2, kind)
    return b"\x08\x08" + field(7, field(11, entry)) + field(8, b"\x10\x11")


def many_nodes(count) -> bytes:
    body = field(1, field(1, b"x") + field(2, b"y") + field(4, b"Relu")) * count
    return b"\x08\x08" + field(7, body) + field(8, b"\x10\x11")


# --- models that end the process, or would not end -----------------------------------------------


def split_killer() -> bytes:
    """Split-18 with more outputs than num_outputs: SIGABRT in inference and at load."""
    return model(
        [node("Split", ["x"], ["y", "b", "c"], num_outputs=2, axis=0)],
        [value("x", shape=(4,))],
        [value("y", shape=("M",))],
        opset=18,
    ).SerializeToString()


def layernorm_killer() -> bytes:
    """LayerNormalization with "" as bias, which is valid: SIGSEGV at load."""
    return model(
        [node("LayerNormalization", ["x", "s", ""], ["y"])],
        [value("x", shape=(2, 4))],
        [value("y", shape=(2, 4))],
        [tensor("s", (4,))],
    ).SerializeToString()


def int_min_div() -> bytes:
    """INT64_MIN / -1 on constants: SIGFPE at load, while folding."""
    low = numpy_helper.from_array(np.array([np.iinfo(np.int64).min]), "low")
    minus = numpy_helper.from_array(np.array([-1], np.int64), "minus")
    return model(
        [node("Div", ["low", "minus"], ["q"]), node("Add", ["x", "q"], ["y"])],
        [value("x", INT64, (1,))],
        [value("y", INT64, (1,))],
        [low, minus],
    ).SerializeToString()


def memory_bomb() -> bytes:
    """A shape of 2^34 dimensions, doubled 34 times: following it needs 128 GiB."""
    names = ["c0", *(f"c{level + 1}" for level in range(34))]
    doubled = [
        node("Concat", [before, before], [after], axis=0)
        for before, after in itertools.pairwise(names)
    ]
    return model(
        [node("Shape", ["x"], ["c0"]), *doubled, node("ConstantOfShape", [names[-1]], ["y"])],
        [value("x", INT64, (3,))],
    ).SerializeToString()


def function_doubling(levels=26) -> bytes:
    """Each function calls the one below twice: 2^levels nodes once inlined."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = [
        helper.make_function("local", "F0", ["a"], ["b"], [node("Neg", ["a"], ["b"])], imports)
    ]
    for level in range(1, levels):
        below = f"F{level - 1}"
        body = [
            node(below, ["a"], ["m"], domain="local"),
            node(below, ["m"], ["b"], domain="local"),
        ]
        functions.append(helper.make_function("local", f"F{level}", ["a"], ["b"], body, imports))
    return model(
        [node(f"F{levels - 1}", ["x"], ["y"], domain="local")],
        domains=[("local", 1)],
        functions=functions,
    ).SerializeToString()


# Bytes of one element of each data type that has whole bytes.
DTYPE_BYTES = {
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 1),
    **dict.fromkeys((4, 5, 10, 16), 2),
    **dict.fromkeys((1, 6, 12), 4),
    **dict.fromkeys((7, 11, 13, 14), 8),
    15: 16,
}
