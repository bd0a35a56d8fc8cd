"""Costs of graphs: counted by hand, held against what ONNX Runtime gives, and as functions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.protocol.costs import Costs
from runners.engine.costs.functions import costs_of
from runners.engine.costs.polynomials import Fitter
from runners.engine.costs.shapes import Walker
from runners.engine.graphs import skeleton
from tests import samples
from tests.engine.checks.test_corpus import CORPUS, MODELS

FLOAT = TensorProto.FLOAT


def one_node(operator, shapes, *, outputs=1, domain="", opset=23, weights=(), **attributes):
    """A model of one node whose inputs have these shapes; those in `weights` are stored."""
    names = [f"i{place}" if shape is not None else "" for place, shape in enumerate(shapes)]
    made = [f"o{place}" for place in range(outputs)]
    node = helper.make_node(operator, names, made, domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, FLOAT, shape)
        for place, (name, shape) in enumerate(zip(names, shapes, strict=True))
        if name and place not in weights
    ]
    stored = [
        numpy_helper.from_array(np.zeros(shapes[place], np.float32), names[place])
        for place in weights
    ]
    graph = helper.make_graph(
        [node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in made], stored
    )
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "macs"),
    [
        ("MatMul", [(2, 5, 7), (7, 3)], {}, 2 * 5 * 3 * 7),
        ("MatMul", [(4, 1, 5, 7), (2, 7, 3)], {}, 4 * 2 * 5 * 3 * 7),
        ("Gemm", [(7, 5), (7, 3)], {"transA": 1}, 5 * 3 * 7),
        ("Gemm", [(5, 7), (3, 7), (3,)], {"transB": 1}, 5 * 3 * 7),
        ("Conv", [(1, 8, 10, 10), (6, 4, 3, 3)], {"group": 2}, 6 * 8 * 8 * 4 * 9),
        ("Conv", [(2, 3, 9, 9), (4, 3, 3, 3)], {"strides": [2, 2]}, 2 * 4 * 4 * 4 * 27),
        ("ConvTranspose", [(1, 4, 5, 5), (4, 2, 3, 3)], {}, 100 * 2 * 9),
        ("Einsum", [(2, 3, 4), (4, 5)], {"equation": "bij,jk->bik"}, 2 * 3 * 4 * 5),
        (
            "LSTM",
            [(6, 2, 5), (1, 16, 5), (1, 16, 4)],
            {"hidden_size": 4},
            6 * 2 * 4 * 4 * (5 + 4),
        ),
        (
            "GRU",
            [(6, 2, 5), (2, 12, 5), (2, 12, 4)],
            {"hidden_size": 4, "direction": "bidirectional"},
            2 * 6 * 2 * 3 * 4 * 9,
        ),
        ("Attention", [(1, 4, 6, 8), (1, 4, 9, 8), (1, 4, 9, 5)], {}, 4 * 6 * 9 * (8 + 5)),
        ("Relu", [(3, 4)], {}, 0),
        ("MaxPool", [(1, 2, 8, 8)], {"kernel_shape": [2, 2]}, 0),
    ],
)  # fmt: skip
def test_multiplications_are_those_counted_by_hand(operator, shapes, attributes, macs):
    walk = Walker(one_node(operator, shapes, **attributes)).walk({})
    assert walk.macs.value == macs


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "outputs", "macs", "shape"),
    [
        ("MatMulNBits", [(2, 5, 32), (6, 1, 16), (6,)], {"K": 32, "N": 6, "bits": 4,
         "block_size": 32}, 1, 2 * 5 * 6 * 32, (2, 5, 6)),
        ("FusedMatMul", [(7, 5), (3, 7)], {"transA": 1, "transB": 1}, 1, 5 * 3 * 7, (5, 3)),
        ("Attention", [(2, 6, 8), (8, 24), (24,)], {"num_heads": 2}, 1,
         2 * 6 * 8 * 24 + 2 * 2 * 6 * 6 * 8, (2, 6, 8)),
        ("MultiHeadAttention", [(2, 6, 8), (2, 9, 8), (2, 9, 8)], {"num_heads": 2}, 1,
         2 * 6 * 9 * 16, (2, 6, 8)),
        ("GroupQueryAttention", [(1, 3, 16), (1, 3, 8), (1, 3, 8), (1, 2, 5, 4), (1, 2, 5, 4)],
         {"num_heads": 4, "kv_num_heads": 2}, 3, 2 * 3 * 8 * 16, (1, 3, 16)),
        ("SkipLayerNormalization", [(2, 6, 8), (2, 6, 8), (8,)], {}, 1, 0, (2, 6, 8)),
    ],
)  # fmt: skip
def test_operators_of_the_runtime_have_shapes_too(
    operator, shapes, attributes, outputs, macs, shape
):
    model = one_node(operator, shapes, outputs=outputs, domain="com.microsoft", **attributes)
    walk = Walker(model).walk({})
    assert walk.macs.value == macs
    assert walk.outputs[0].shape == shape


def test_what_an_unknown_operator_costs_is_not_known():
    content = costs_of(one_node("Frobnicate", [(2, 2)], domain="com.acme")).to_json()
    assert content["unknown"] == [{"op": "com.acme.Frobnicate", "count": 1}]
    assert Costs.read(content).unknown == {"com.acme.Frobnicate": 1}


def measured(path, sizes, folder):
    """The shapes of all values that ONNX Runtime gives for these sizes, by name."""
    model = onnx.inliner.inline_local_functions(onnx.load(str(path)))
    names = [name for node in model.graph.node for name in node.output if name]
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {
        one.name: one.type.tensor_type.elem_type
        for one in (*inferred.graph.value_info, *inferred.graph.output)
    }
    known = {one.name for one in model.graph.output}
    for name in names:
        if name not in known and types.get(name):
            port = onnx.ValueInfoProto(name=name)
            port.type.tensor_type.elem_type = types[name]
            model.graph.output.append(port)
    target = folder / "exposed.onnx"
    onnx.save(model, str(target))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(target), options, providers=["CPUExecutionProvider"])
    walker = Walker(model)
    feeds = {}
    for port in session.get_inputs():
        shape = walker.inputs[port.name].at(sizes).shape
        name = port.type.removeprefix("tensor(").removesuffix(")")
        kind = {"float": "float32", "double": "float64"}.get(name, name)
        feeds[port.name] = np.ones(shape, np.dtype(kind))
    outputs = [port.name for port in session.get_outputs()]
    return dict(zip(outputs, (np.shape(one) for one in session.run(None, feeds)), strict=True))


def walked(path, sizes):
    """The shapes that a walk over the skeleton gives, by name."""
    content, _ = skeleton.cut_out(path.read_bytes())
    walker = Walker(onnx.inliner.inline_local_functions(onnx.ModelProto.FromString(content)))
    shapes = {}
    step = walker._node

    def note(bound, number, scope):
        made = step(bound, number, scope)
        shapes.update({name: scope[name].shape for name in bound.node.output if name})
        return made

    walker._node = note
    walker.walk(sizes)
    return shapes


@pytest.mark.parametrize("make", [samples.mlp, samples.conv, samples.with_branches])
def test_shapes_are_those_that_the_runtime_gives(make, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(make())
    sizes = dict.fromkeys(Walker(onnx.load(str(path))).free_dimensions, 3)
    real = measured(path, sizes, tmp_path)
    told = walked(path, sizes)
    assert real
    assert {name: told[name] for name in real} == real


# They read text or pictures, refuse inputs of ones, need another runtime, or give what no shape
# inference tells.
NOT_COMPARED = {
    "bert_tokenizer_contrib_op14", "bf16_matmul", "coreml_onehot_ml1", "custom_domain_unknown_op",
    "espcn_quant_brevitas_op11", "lightgbm_op1_ml1", "loop_scan_outputs", "mnist_softmax_op4",
    "opset28_latest", "sequence_outputs", "silero_vad_16k_op15", "silero_vad_op16_if",
    "sk_gradient_boosting", "sk_svc_rbf", "sk_tfidf_text_logreg",
    "sklearn_random_forest_zipmap_op9", "string_tfidf", "style_candy_op7_crop",
    "super_resolution_ir1_no_opset", "super_resolution_prepost_op18", "svm_ai_onnx_domain_op18",
    "test_BatchNorm2d_eval", "test_PReLU_2d_multiparam", "test_expand_shape_model1",
    "test_gradient_of_add_and_mul", "test_operator_addmm", "test_sequence_model1",
    "test_sequence_model4", "test_strnorm_model_monday_insensintive_upper_twodim",
    "tiny_gpt2_com_microsoft_op11", "tract_qtdnn_op10", "vespa_random_decoder_op12",
}  # fmt: skip


@pytest.mark.corpus
@pytest.mark.skipif(not MODELS, reason="HUB_MODEL_CORPUS names no folder with a manifest.json")
@pytest.mark.parametrize(
    "model",
    [model for model in MODELS if model["name"] not in NOT_COMPARED],
    ids=lambda model: model["name"],
)
def test_shapes_of_real_models_are_those_that_the_runtime_gives(model, tmp_path):
    path = CORPUS / model["dir"] / "model.onnx"
    names = Walker(onnx.load(str(path), load_external_data=False)).free_dimensions
    sizes = dict(zip(names, itertools.cycle((2, 4, 3)), strict=False))
    real = measured(path, sizes, tmp_path)
    told = {name: shape for name, shape in walked(path, sizes).items() if shape is not None}
    compared = {name: shape for name, shape in real.items() if name in told}
    assert {name: told[name] for name in compared} == compared
    assert len(compared) >= 0.9 * len(real)


def attention_model():
    """Scores and sums over a sequence, with a shape that is computed on the way."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"], "project"),
        helper.make_node("Shape", ["q"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["steps"]),
        helper.make_node("Concat", ["minus", "steps", "two", "eight"], ["target"], axis=0),
        helper.make_node("Reshape", ["q", "target"], ["split"]),
        helper.make_node("Transpose", ["split"], ["heads"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["split"], ["keys"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["heads", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"]),
        helper.make_node("MatMul", ["weights", "heads"], ["y"]),
    ]
    numbers = {"one": [1], "minus": [-1], "two": [2], "eight": [8]}
    stored = [numpy_helper.from_array(np.array(n, np.int64), name) for name, n in numbers.items()]
    stored.append(samples.tensor("w", (16, 16)))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["batch", "steps", 16])],
        [onnx.ValueInfoProto(name="y")],
        stored,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_costs_are_functions_of_the_free_dimensions():
    costs = Costs.read(costs_of(attention_model()).to_json())
    assert costs.symbols == ("batch", "steps")
    assert costs.holds == "everywhere"
    for batch, steps in ((1, 1), (2, 7), (5, 33)):
        sizes = {"batch": batch, "steps": steps}
        project, scores = batch * steps * 16 * 16, batch * 2 * steps * steps * 8
        assert costs.macs.at(sizes) == project + 2 * scores
        walk = Walker(attention_model()).walk(sizes)
        assert costs.bytes.at(sizes) == walk.bytes.value
        assert costs.activations(sizes) == max(walk.live())
    assert str(costs.macs) == "256 · batch · steps + 32 · batch · steps²"
    assert costs.weights == 4 * 16 * 16 + 4 * 8
    longest = costs.largest("steps", {"batch": 1, "steps": 1}, 10**6)
    assert costs.memory({"batch": 1, "steps": longest}) <= 10**6
    assert costs.memory({"batch": 1, "steps": longest + 1}) > 10**6


def test_strides_round_where_no_multiple_fits():
    model = one_node(
        "Conv", [("n", 3, "h", "w"), (4, 3, 3, 3)], weights=(1,), strides=[2, 2], pads=[1, 1, 1, 1]
    )
    costs = Costs.read(costs_of(model).to_json())
    assert (costs.holds, costs.lattice) == ("multiples", 64)
    assert costs.macs.at({"n": 1, "h": 128, "w": 64}) == 4 * 64 * 32 * 27
    assert costs.nodes[0].parameters == 4 * 3 * 9


def test_sizes_that_are_sums_of_others_follow_them():
    past, new = ["b", 2, "past", 4], ["b", 2, "new", 4]
    node = helper.make_node("Concat", ["p", "x"], ["all"], axis=2)
    scores = helper.make_node("MatMul", ["x", "m"], ["y"])
    graph = helper.make_graph(
        [node, scores],
        "g",
        [
            helper.make_tensor_value_info("p", FLOAT, past),
            helper.make_tensor_value_info("x", FLOAT, new),
            helper.make_tensor_value_info("m", FLOAT, ["b", 2, 4, "past + new"]),
        ],
        [onnx.ValueInfoProto(name="all"), onnx.ValueInfoProto(name="y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    costs = Costs.read(costs_of(model).to_json())
    assert costs.symbols == ("b", "past", "new")
    assert costs.macs.at({"b": 2, "past": 5, "new": 3}) == 2 * 2 * 3 * (5 + 3) * 4


def test_branches_count_the_dearer_and_scans_each_step():
    given = [samples.value("z", shape=(4, 4))]
    cheap = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "a", [], given)
    dear = helper.make_graph([helper.make_node("MatMul", ["x", "x"], ["z"])], "b", [], given)
    fork = helper.make_node("If", ["c"], ["y"], then_branch=cheap, else_branch=dear)
    graph = helper.make_graph(
        [fork],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", FLOAT, [4, 4]),
        ],
        [onnx.ValueInfoProto(name="y")],
    )
    imports = [helper.make_opsetid("", 17)]
    assert Walker(helper.make_model(graph, opset_imports=imports)).walk({}).macs.value == 64
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["row", "w"], ["next"]),
            helper.make_node("Add", ["next", "state"], ["sum"]),
            helper.make_node("Identity", ["sum"], ["given"]),
        ],
        "body",
        [samples.value("state", shape=(1, 3)), samples.value("row", shape=(1, 3))],
        [samples.value("sum", shape=(1, 3)), samples.value("given", shape=(1, 3))],
    )
    scan = helper.make_node(
        "Scan", ["first", "rows"], ["last", "all"], body=body, num_scan_inputs=1
    )
    graph = helper.make_graph(
        [scan],
        "g",
        [
            helper.make_tensor_value_info("first", FLOAT, [1, 3]),
            helper.make_tensor_value_info("rows", FLOAT, ["steps", 1, 3]),
        ],
        [onnx.ValueInfoProto(name="last"), onnx.ValueInfoProto(name="all")],
        [samples.tensor("w", (3, 3))],
    )
    walk = Walker(helper.make_model(graph, opset_imports=imports)).walk({"steps": 7})
    assert walk.macs.value == 7 * 9
    assert [value.shape for value in walk.outputs] == [(1, 3), (7, 1, 3)]


def test_memory_is_what_is_alive_at_once():
    """x (64 B) → a (64) → b (64) → y: at most three values at once, views share their bytes."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Flatten", ["a"], ["flat"]),
        helper.make_node("Neg", ["flat"], ["b"]),
        helper.make_node("Add", ["b", "a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [samples.value("x", shape=(4, 4))], [onnx.ValueInfoProto(name="y")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    # The input stays alive to the end, since the caller holds it.
    assert Walker(model).walk({}).live() == [128, 128, 192, 256]


def test_a_view_shares_the_bytes_of_its_first_input_whatever_the_names():
    """Eight of them, since a set of two names has the right order by chance half of the time."""
    nodes = []
    for place in range(8):
        nodes += [
            helper.make_node("Relu", ["x"], [f"data{place}"]),
            helper.make_node("Shape", [f"data{place}"], [f"shape{place}"]),
            helper.make_node("Reshape", [f"data{place}", f"shape{place}"], [f"view{place}"]),
            helper.make_node("Relu", [f"view{place}"], [f"y{place}"]),
        ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, (100,))],
        [helper.make_tensor_value_info("y7", FLOAT, (100,))],
    )  # fmt: skip
    live = Walker(helper.make_model(graph)).walk({}).live()
    # x and a copy; its shape of eight bytes beside it; x, the copy through its view, and y.
    assert live == [800, 808, 808, 1200] * 8


def test_a_fit_is_exact_for_its_degree():
    fitter = Fitter(2, 8)
    function = fitter.fit([3 * a * a * b - 2 * b + 7 for a, b in fitter.points])
    assert dict(function.terms) == {(2, 1): 3, (0, 1): -2, (0, 0): 7}
    assert function.at((5, 9)) == Fraction(3 * 25 * 9 - 18 + 7)


def loop(condition, *, trips=5, start="", extra=(), given=()):
    """A Loop whose body multiplies a state of (1, 4) by W; `condition` makes its last condition."""
    body = helper.make_graph(
        [condition, helper.make_node("MatMul", ["state", "W"], ["next"], "product"), *extra],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            samples.value("state", shape=(1, 4)),
        ],
        [
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            samples.value("next", shape=(1, 4)),
        ],
    )
    stored = [samples.tensor("W", (4, 4))]
    if trips is not None:
        stored.append(numpy_helper.from_array(np.array(trips, np.int64), "trips"))
    node = helper.make_node("Loop", ["trips", start, "x"], ["y"], "loop", body=body)
    graph = helper.make_graph(
        [node], "g", [*given, samples.value("x", shape=(1, 4))], [onnx.ValueInfoProto(name="y")],
        stored,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def stated(value):
    content = numpy_helper.from_array(np.array(value))
    return helper.make_node("Constant", [], ["more"], value=content)


DATA = [helper.make_tensor_value_info("trips", TensorProto.INT64, [])]
FLAG = [helper.make_tensor_value_info("start", TensorProto.BOOL, [])]
PASSED = helper.make_node("Identity", ["on"], ["more"])
COMPUTED = helper.make_node("Less", ["i", "i"], ["more"])


@pytest.mark.parametrize(
    ("options", "macs", "exactness"),
    [
        ({"condition": stated(False)}, 16, "exact"),
        ({"condition": stated(True)}, 80, "exact"),
        ({"condition": PASSED}, 80, "exact"),
        ({"condition": stated(True), "trips": 0}, 0, "exact"),
        ({"condition": COMPUTED}, 80, "at-most"),
        ({"condition": PASSED, "start": "start", "given": FLAG}, 80, "at-most"),
        ({"condition": stated(False), "trips": None, "given": DATA}, 16, "at-most"),
        ({"condition": stated(True), "trips": None, "given": DATA}, 16, "per-iteration"),
        ({"condition": COMPUTED, "trips": None, "given": DATA}, 16, "per-iteration"),
    ],
)
def test_a_loop_counts_as_often_as_its_conditions_let_it_run(options, macs, exactness):
    costs = Costs.read(costs_of(loop(**options)).to_json())
    assert costs.macs.at({}) == macs
    assert costs.nodes[0].exactness == exactness
    assert costs.at_most == ({"Loop": 1} if exactness == "at-most" else {})
    assert costs.per_iteration == ({"Loop": 1} if exactness == "per-iteration" else {})
    assert costs.is_exact == (exactness == "exact")


def test_a_node_in_a_body_whose_costs_are_unknown_is_named():
    acme = helper.make_node("Frobnicate", ["next"], ["strange"], domain="com.acme")
    costs = Costs.read(costs_of(loop(stated(True), extra=[acme])).to_json())
    assert costs.unknown == {"com.acme.Frobnicate": 1}
    assert costs.macs.at({}) == 80


def test_a_state_that_grows_has_an_unknown_size_after_the_first_iteration():
    """The body doubles its state, so that one iteration costs more than the one before."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["more"]),
            helper.make_node("MatMul", ["rows", "W"], ["product"]),
            helper.make_node("Concat", ["product", "product"], ["twice"], axis=0),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("rows", FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            helper.make_tensor_value_info("twice", FLOAT, None),
        ],
    )
    model = loop(PASSED)
    model.graph.node[0].attribute[0].g.CopyFrom(body)
    assert Costs.read(costs_of(model).to_json()).unknown == {"MatMul": 1}


def branches(then_shape, else_shape):
    """Two branches that data select: products whose sizes depend on different dimensions."""
    names = {"then_branch": ("a", then_shape), "else_branch": ("b", else_shape)}
    graphs = {
        branch: helper.make_graph(
            [helper.make_node("MatMul", [name, f"w{name}"], ["z"])],
            branch,
            [],
            [helper.make_tensor_value_info("z", FLOAT, None)],
            [samples.tensor(f"w{name}", (shape[-1], 8))],
        )
        for branch, (name, shape) in names.items()
    }
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["y"], "choose", **graphs),
            helper.make_node("MatMul", ["y", "w"], ["out"]),
        ],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a", FLOAT, then_shape),
            helper.make_tensor_value_info("b", FLOAT, else_shape),
        ],
        [onnx.ValueInfoProto(name="out")],
        [samples.tensor("w", (8, 2))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_of_branches_that_data_select_the_dearer_counts_for_all_sizes():
    """A polynomial fitted to a maximum is negative for some sizes: that of the parts is not."""
    costs = Costs.read(costs_of(branches(["n", 16], ["m", 4])).to_json())
    assert costs.symbols == ("n", "m")
    assert costs.at_most == {"If": 1}
    assert costs.unknown == {"MatMul": 1}  # n or m rows: the greater is no polynomial
    for n, m in ((1, 1), (1, 4), (1, 1000), (1000, 1), (64, 640)):
        first = costs.nodes[0].macs.at({"n": n, "m": m})
        assert first == max(n * 16 * 8, m * 4 * 8)
    assert str(costs.nodes[0].macs) == "max(128 · n, 32 · m)"
    assert not costs.is_exact


def test_what_follows_branches_is_bounded_by_the_branch_that_is_always_larger():
    costs = Costs.read(costs_of(branches(["n", 16], [1, 4])).to_json())
    assert costs.at_most == {"If": 1, "MatMul": 1}
    assert costs.nodes[1].macs.at({"n": 7}) == 7 * 8 * 2


def test_equal_branches_are_no_bound():
    costs = Costs.read(costs_of(branches([3, 16], [3, 16])).to_json())
    assert costs.is_exact
    assert costs.macs.at({}) == 3 * 16 * 8 + 3 * 8 * 2


def test_the_order_of_nodes_in_the_file_changes_no_cost():
    model = attention_model()
    shuffled = onnx.ModelProto.FromString(model.SerializeToString())
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(reversed(model.graph.node))
    before, after = (costs_of(each).to_json() for each in (model, shuffled))
    assert after == before


def test_sizes_without_a_run_have_no_costs():
    model = one_node("Conv", [(1, 3, "length"), (4, 3, 5)], weights=(1,))
    costs = Costs.read(costs_of(model).to_json())
    assert costs.runs_at({"length": 5})
    assert not costs.runs_at({"length": 3})
