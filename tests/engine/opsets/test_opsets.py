"""A whole model through a conversion: what changes, what stays, and what is said when it cannot."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.opsets import convert, normal
from tests import samples
from tests.engine.opset_models import close, floats, old, port, run

X = floats(2, 3)


def opset(model, domain=""):
    (version,) = [one.version for one in model.opset_import if one.domain == domain]
    return version


def test_the_model_given_stays_as_it_is():
    model = old("Softmax", 9, {"x": X})
    before = model.SerializeToString()
    done = convert(model, 21)
    assert (done.source, done.target, done.untouched) == (9, 21, False)
    assert model.SerializeToString() == before


def test_both_spellings_of_the_default_domain_are_one():
    model = old("Softmax", 9, {"x": X})
    model.opset_import[0].domain = "ai.onnx"
    model.opset_import.append(helper.make_opsetid("", 9))
    model.graph.node[0].domain = "ai.onnx"
    done = convert(model, 13)
    assert [(one.domain, one.version) for one in done.model.opset_import] == [("", 13)]
    close(run(done.model, {"x": X}), run(old("Softmax", 9, {"x": X}), {"x": X}))


def test_contradicting_imports_are_refused():
    model = old("Softmax", 9, {"x": X})
    model.opset_import.append(helper.make_opsetid("ai.onnx", 11))
    done = convert(model, 13)
    assert done.model is None
    assert "versions 9 and 11" in done.blocking[0].reason


def test_no_import_means_the_first_set_before_ir_3_and_nothing_after():
    model = old("Relu", 1, {"x": X}, ir=2, consumed_inputs=[0])
    del model.opset_import[:]
    done = convert(model, 26)
    assert (done.source, opset(done.model)) == (1, 26)
    close(run(done.model, {"x": X}), [np.maximum(X, 0)])
    model.ir_version = 8
    assert "imports no version" in convert(model, 26).blocking[0].reason


def test_a_model_without_default_operators_has_nothing_to_convert():
    model = old("Normalizer", 1, {"x": X}, norm="L2")
    model.opset_import[0].domain = model.graph.node[0].domain = "ai.onnx.ml"
    done = convert(model, 26)
    assert (done.source, done.model) == (0, model)


@pytest.mark.parametrize("target", [0, 29, 1 << 40])
def test_a_target_that_nobody_knows(target):
    assert "operator sets 1 to 28" in convert(old("Relu", 9, {"x": X}), target).blocking[0].reason


def test_a_source_that_nobody_knows():
    assert "imports operator set 99" in convert(old("Relu", 99, {"x": X}), 26).blocking[0].reason


def test_untouched_is_proven_from_the_registry():
    assert convert(old("Gelu", 20, {"x": X}, ir=9), 26).untouched
    assert not convert(old("Relu", 13, {"x": X}), 14).untouched
    assert convert(old("Relu", 14, {"x": X}), 26).untouched


def test_blocking_names_every_node_that_blocks():
    text = TensorProto.STRING
    model = samples.model(
        [
            helper.make_node("StringConcat", ["x", "x"], ["a"], name="join"),
            helper.make_node("Identity", ["a"], ["b"]),
            helper.make_node("RegexFullMatch", ["b"], ["y"], pattern="a*"),
        ],
        [port("x", (2,), text)],
        [port("y", (2,), TensorProto.BOOL)],
        opset=20,
    )
    done = convert(model, 17)
    assert done.model is None
    assert {(one.node, one.op, one.source, one.target) for one in done.blocking} == {
        ("join", "StringConcat", 20, 17),
        ("y", "RegexFullMatch", 20, 17),
    }


def test_one_bad_node_among_many_is_found_and_alone_blamed():
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axes"], [f"h{k}"], name=f"good{k}") for k in range(40)
    ]
    nodes.insert(17, helper.make_node("Unsqueeze", ["x", "where"], ["y"], name="bad"))
    model = samples.model(
        nodes,
        [port("x", (2, 3)), port("where", (1,), TensorProto.INT64)],
        [port("y", (1, 2, 3))],
        [numpy_helper.from_array(np.array([0]), "axes")],
    )
    assert [one.node for one in convert(model, 11).blocking] == ["bad"]


@pytest.mark.parametrize(
    ("op", "source", "attributes"),
    [
        ("Constant", 12, {}),
        ("Crop", 9, {"border": [1]}),
        ("GroupNormalization", 18, {}),
        ("Cast", 5, {"to": 7}),
    ],
)
def test_a_node_that_no_checker_would_accept_is_blocked_not_crashed_on(op, source, attributes):
    done = convert(old(op, source, {"x": X}, **attributes), 11 if op == "Constant" else 26)
    assert [one.op for one in done.blocking] == [op]


RICH = {"purpose": "test"}


def rich_model():
    """Everything that converters are known to lose, around a node that has to change."""
    weights = numpy_helper.from_array(floats(3, 3, seed=1), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product", doc_string="weights"),
        helper.make_node("Add", ["h", "sparse"], ["k"]),
        helper.make_node("Softmax", ["k"], ["y"], name="soft", doc_string="why", axis=0),
    ]
    for key, value in RICH.items():
        nodes[2].metadata_props.add(key=key, value=value)
    model = samples.model(
        nodes, [port("x", (2, 3))], [port("y", (2, 3))], [weights], opset=11, ir=10
    )
    graph = model.graph
    graph.doc_string, model.doc_string, model.domain, model.model_version = "g", "m", "com.x", 7
    graph.metadata_props.add(key="in", value="graph")
    model.metadata_props.add(key="in", value="model")
    graph.input[0].type.denotation = "TENSOR"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.quantization_annotation.add(tensor_name="h").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="w"
    )
    values = numpy_helper.from_array(np.array([5], np.float32), "sparse")
    indices = numpy_helper.from_array(np.array([1], np.int64), "sparse_places")
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    graph.value_info.append(port("h", (2, 3)))
    graph.value_info[0].doc_string = "hidden"
    training = model.training_info.add()
    training.algorithm.name = "step"
    training.algorithm.node.append(helper.make_node("Softmax", ["x"], ["z"], axis=1))
    training.algorithm.input.append(port("x", (2, 3)))
    training.update_binding.add(key="w", value="z")
    return model


def test_nothing_is_lost_that_converters_lose():
    model = rich_model()
    made = convert(model, 26).model
    assert made.metadata_props == model.metadata_props
    assert (made.doc_string, made.domain, made.model_version) == ("m", "com.x", 7)
    for part in (
        "doc_string",
        "metadata_props",
        "quantization_annotation",
        "sparse_initializer",
        "input",
        "output",
        "value_info",
        "initializer",
    ):
        assert getattr(made.graph, part) == getattr(model.graph, part), part
    assert made.graph.node[:2] == model.graph.node[:2]
    (soft,) = [node for node in made.graph.node if node.op_type == "Softmax"]
    assert (soft.name, soft.doc_string) == ("soft", "why")
    assert {entry.key: entry.value for entry in soft.metadata_props} == RICH
    assert made.training_info[0].update_binding == model.training_info[0].update_binding
    (trained,) = [n for n in made.training_info[0].algorithm.node if n.op_type == "Softmax"]
    assert helper.get_node_attr_value(trained, "axis") == -1
    close(run(made, {"x": X}), run(model, {"x": X}))


def branching(opset_version):
    """An If whose branches use a value of the graph around them, and hold what has to change."""
    then = helper.make_graph(
        [helper.make_node("Softmax", ["outer"], ["t"], axis=0)], "then", [], [port("t", (2, 3))]
    )
    inner = helper.make_graph(
        [helper.make_node("Squeeze", ["wide"], ["s"], axes=[0])], "inner", [], [port("s", (2, 3))]
    )
    other = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["outer"], ["wide"], axes=[0]),
            helper.make_node("If", ["c"], ["e"], then_branch=inner, else_branch=inner),
        ],
        "other",
        [],
        [port("e", (2, 3))],
    )
    return samples.model(
        [
            helper.make_node("Abs", ["x"], ["outer"]),
            helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        ],
        [port("x", (2, 3)), port("c", (), TensorProto.BOOL)],
        [port("y", (2, 3))],
        opset=opset_version,
    )


@pytest.mark.parametrize("taken", [True, False])
def test_branches_are_converted_at_any_depth(taken):
    model = branching(11)
    feeds = {"x": X, "c": np.array(taken)}
    done = convert(model, 26)
    assert done.rules == ("softmax-flattened",)
    close(run(done.model, feeds), run(model, feeds))


def test_a_function_in_which_nothing_changed_stays_a_function():
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("local", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    calls = [helper.make_node("F", ["x"], ["y"], domain="local")]
    model = samples.model(calls, domains=[("local", 1)], functions=[function])
    done = convert(model, 26)
    assert (len(done.model.functions), done.rules) == (1, ())
    assert opset(done.model.functions[0]) == 26
    close(run(done.model, {"x": X[0]}), [np.maximum(X[0], 0)])


@pytest.mark.parametrize("own", [11, 12])
def test_a_function_in_which_something_changed_is_inlined(own):
    body = [
        helper.make_node("Softmax", ["a"], ["s"], axis=0),
        helper.make_node("Unsqueeze", ["s"], ["b"], axes=[0]),
    ]
    function = helper.make_function(
        "local", "F", ["a"], ["b"], body, [helper.make_opsetid("", own)]
    )
    calls = [helper.make_node("F", ["x"], ["y"], domain="local")]
    model = samples.model(
        calls,
        [port("x", (2, 3))],
        [port("y", None)],
        domains=[("local", 1)],
        functions=[function],
        opset=own,
    )
    done = convert(model, 26)
    assert done.rules == ("local-functions-inlined", "softmax-flattened")
    assert not done.model.functions
    raised = np.exp(X - X.max())
    close(run(done.model, {"x": X}), [(raised / raised.sum())[None]])


def test_constants_that_became_attributes_leave_no_orphans():
    constants = {"axes": np.array([0], np.int64)}
    model = old("Unsqueeze", 13, {"x": X, **constants}, constants=constants)
    made = convert(model, 11).model
    assert not made.graph.initializer
    close(run(made, {"x": X}), [X[None]])


def test_initializers_stop_being_inputs_when_the_ir_version_passes_4():
    model = old("Add", 7, {"x": X, "w": X}, ir=3)
    model.graph.initializer.append(numpy_helper.from_array(X, "w"))
    model.graph.output[0].CopyFrom(port("y0", (2, 3)))
    made = convert(model, 26).model
    assert [value.name for value in made.graph.input] == ["x"]
    assert made.ir_version == helper.find_min_ir_version_for([helper.make_opsetid("", 26)])
    onnx.checker.check_model(made)
    close(run(made, {"x": X}), [X + X])


def test_a_downgrade_lowers_the_ir_version_as_far_as_the_model_allows():
    made = convert(old("Relu", 28, {"x": X}, ir=14), 26)
    assert (made.model.ir_version, made.rules) == (13, ())
    rich = rich_model()
    rich.ir_version = 14
    # Metadata of nodes and graphs came with IR 10.
    assert convert(rich, 10).model.ir_version == 10


def test_the_ir_version_alone_can_be_lowered():
    model = old("Relu", 26, {"x": X}, ir=14)
    assert normal.lower_ir(model, 13)
    assert model.ir_version == 13
    model.graph.initializer.add(name="w", data_type=TensorProto.INT2, dims=[0])
    model.ir_version = 14
    assert not normal.lower_ir(model, 12)


def test_new_names_do_not_collide():
    nodes = [
        helper.make_node("Softmax", ["x"], ["y"], axis=0),
        helper.make_node("Neg", ["y"], ["y_flatten"]),
    ]
    model = samples.model(nodes, [port("x", (2, 3))], [port("y_flatten", (2, 3))], opset=11)
    made = convert(model, 26).model
    onnx.checker.check_model(made, full_check=True)
    close(run(made, {"x": X}), run(model, {"x": X}))


def test_large_weights_are_not_looked_at_and_come_back():
    weights = floats(64, 64)
    model = old("MatMul", 9, {"x": floats(2, 64), "w": weights}, constants={"w": weights})
    made = convert(model, 26).model
    assert made.graph.initializer[0] == model.graph.initializer[0]
