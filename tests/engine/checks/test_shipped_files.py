"""Forms that files of released models have: each is checked, proven and upgraded as any other.

The files behind them: docs/starter.md. Each model here is made by the test.
"""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from runners.sandbox import Request
from tests.engine.conftest import SUBJECT
from tests.engine.evaluation import tiny

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


def unused_imports():
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    ports = [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["n", 3])]
    return tiny.model(nodes, *ports, opsets=(("", 17), ("Paddle", 1), ("com.example.none", 7)))


def names_with_colons():
    nodes = [
        helper.make_node("Relu", ["serving_default_input_2:0"], ["StatefulPartitionedCall:1"]),
        helper.make_node("Neg", ["StatefulPartitionedCall:1"], ["537"]),
    ]
    return tiny.model(
        nodes,
        [("serving_default_input_2:0", FLOAT, ["n", 3])],
        [("StatefulPartitionedCall:1", FLOAT, ["n", 3]), ("537", FLOAT, ["n", 3])],
    )


def doubles_and_scalars():
    nodes = [
        helper.make_node("Cast", ["low"], ["least"], to=DOUBLE),
        helper.make_node("Cast", ["x"], ["wide"], to=DOUBLE),
        helper.make_node("Max", ["wide", "least"], ["y"]),
    ]
    ports = [("x", FLOAT, [1, "samples"]), ("low", FLOAT, [])]
    return tiny.model(nodes, ports, [("y", DOUBLE, [1, "samples"])])


def whole_if():
    """A graph that is one If, whose branches read the inputs of the graph."""

    def branch(name, op):
        made = [helper.make_node(op, ["x"], [f"{name}_y"], name=f"{name}_{op}")]
        out = helper.make_tensor_value_info(f"{name}_y", FLOAT, ["n", 3])
        return helper.make_graph(made, name, [], [out])

    nodes = [
        helper.make_node("Constant", [], ["expected"], value_int=16000),
        helper.make_node("Equal", ["rate", "expected"], ["is_known"]),
        helper.make_node(
            "If",
            ["is_known"],
            ["y"],
            then_branch=branch("known", "Sigmoid"),
            else_branch=branch("other", "Tanh"),
        ),
    ]
    return tiny.model(
        nodes, [("x", FLOAT, ["n", 3]), ("rate", INT64, [])], [("y", FLOAT, ["n", 3])]
    )


def initializers_as_inputs():
    weights = np.eye(3, dtype=np.float32)
    return tiny.model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", FLOAT, ["n", 3]), ("w", FLOAT, [3, 3])],
        [("y", FLOAT, ["n", 3])],
        [("w", weights)],
    )


def carried_state():
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Add", ["mean", "state"], ["stateN"]),
        helper.make_node("Sigmoid", ["stateN"], ["output"]),
    ]
    return tiny.model(
        nodes,
        [("x", FLOAT, [None, None]), ("state", FLOAT, [None, 1])],
        [("output", FLOAT, [None, 1]), ("stateN", FLOAT, [None, 1])],
    )


FORMS = [
    unused_imports, names_with_colons, doubles_and_scalars, whole_if, initializers_as_inputs,
    carried_state,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_checked_and_proven(run, sandbox, stored, form):
    content = form()
    report = run("check", content)
    assert report.outcome == "passed", report.findings
    assert not [finding for finding in report.findings if finding.severity == "error"]
    options = {"runtime": "onnxruntime"}
    files = stored({"model.onnx": content})
    proof = sandbox.run(Request("conformance", "model.onnx", files, SUBJECT, options))
    assert proof.outcome == "passed", proof.findings
    outcomes = {row["check"]: row["outcome"] for row in proof.measures if "check" in row}
    assert outcomes["reference"] == "passed"


def false_shapes():
    """Declares ten rows of 32 values; the operators take any number of both."""
    ports = [("x", FLOAT, [10, 32])], [("y", FLOAT, [1])]
    return tiny.model([helper.make_node("Relu", ["x"], ["y"])], *ports)


def test_an_output_whose_declared_shape_is_not_true_is_a_finding(run):
    report = run("check", false_shapes())
    assert any("shape" in finding.message for finding in report.findings), report.findings
