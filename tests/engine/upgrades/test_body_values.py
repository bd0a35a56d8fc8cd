"""Values inside bodies are compared with those of the original, each iteration on equal inputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.onnx_files.datasets import DataSet, write
from runners.engine.runs.child_runs import ModelFile
from runners.engine.upgrades import body_values, candidates
from tests import samples
from tests.engine.opset_models import port

X = np.full((3, 2), 0.5, np.float32)
WHOLE, TRUTH = TensorProto.INT64, TensorProto.BOOL


def hidden(operator, source):
    """Nodes whose value `z` no output shows, and one that lowers the source by 1."""
    return [
        helper.make_node(operator, [source], ["z"], name="hidden"),
        helper.make_node("Mul", ["z", "nought"], ["nothing"]),
        helper.make_node("Sub", [source, "one"], ["lower"]),
        helper.make_node("Add", ["lower", "nothing"], ["low"]),
    ]


def loop(operator, source="x", output="y"):
    """Three iterations; the values are below 0 from the second one on."""
    body = helper.make_graph(
        [*hidden(operator, "state"), helper.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [port("turn", (), WHOLE), port("go", (), TRUTH), port("state", (3, 2))],
        [port("go_on", (), TRUTH), port("low", (3, 2))],
    )
    return [helper.make_node("Loop", ["three", "", source], [output], name="again", body=body)]


def scan(operator):
    """Three slices, the state below 0 from the second one on."""
    nodes = [*hidden(operator, "state"), helper.make_node("Add", ["low", "slice"], ["out"])]
    body = helper.make_graph(
        nodes,
        "body",
        [port("state", (2,)), port("slice", (2,))],
        [port("low", (2,)), port("out", (2,))],
    )
    start = helper.make_node("Gather", ["x", "first"], ["start"], axis=0)
    node = helper.make_node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1)
    return [start, node]


def branch(operator):
    """A branch that is entered, below 0."""
    nodes = [helper.make_node("Neg", ["x"], ["below"]), *hidden(operator, "below")]
    taken = helper.make_graph(nodes, "taken", [], [port("low", (3, 2))])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"])], "other", [], [port("same", (3, 2))]
    )
    return [helper.make_node("If", ["yes"], ["y"], then_branch=taken, else_branch=other)]


def loop_in_a_branch(operator):
    nodes = [helper.make_node("Abs", ["x"], ["above"]), *loop(operator, "above", "inner")]
    taken = helper.make_graph(nodes, "taken", [], [port("inner", (3, 2))])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"])], "other", [], [port("same", (3, 2))]
    )
    return [helper.make_node("If", ["yes"], ["y"], then_branch=taken, else_branch=other)]


STORED = {
    "nought": np.float32(0),
    "one": np.float32(1),
    "three": np.array(3),
    "first": np.array(0),
    "yes": np.array(True),
}


@pytest.fixture
def compare(tmp_path):
    """Compare the values inside two models on `X`."""

    def go(before, after):
        files = []
        for name, nodes in (("old", before), ("new", after)):
            stored = [numpy_helper.from_array(np.asarray(STORED[key]), key) for key in STORED]
            model = samples.model(nodes, [port("x", (3, 2))], [port("y", (3, 2))], stored)
            onnx.checker.check_model(model)
            onnx.save(model, tmp_path / f"{name}.onnx")
            files.append(ModelFile(tmp_path / f"{name}.onnx", tmp_path))
        source = (tmp_path / "sets", tmp_path / "results")
        write(source[0], DataSet("test_data_set_0", "bundled", {"x": X}), model)
        write(source[1], DataSet("test_data_set_0", "bundled", {}, {"y": X}), model)
        return candidates.inner_values(*files, [source], "fp32", tmp_path / "bodies")

    return go


@pytest.mark.parametrize("build", [loop, scan, branch, loop_in_a_branch])
def test_a_difference_that_no_output_shows_is_named(compare, build):
    same = compare(build("Abs"), build("Abs"))
    assert (same.node, same.is_complete) == (None, True)
    # Two values differ by 1 at the second iteration, and in the branch at once.
    found = compare(build("Abs"), build("Identity"))
    assert (found.node.node, found.node.op, found.node.worst) == ("hidden", "Identity", 1.0)
    assert found.compared <= same.compared


def test_every_iteration_counts(compare):
    # y; z, nothing, lower, low and go_on of three iterations
    assert compare(loop("Abs"), loop("Abs")).compared == 1 + 3 * 5


def test_a_branch_that_is_not_entered_is_not_compared(compare):
    before, after = branch("Abs"), branch("Abs")
    for nodes, operator in ((before, "Abs"), (after, "Neg")):
        other = next(one.g for one in nodes[0].attribute if one.name == "else_branch")
        other.node[0].op_type = operator
    assert compare(before, after).node is None


def test_what_time_leaves_out_is_stated(compare, monkeypatch):
    monkeypatch.setattr(body_values, "SECONDS", -1.0)
    left = compare(loop("Abs"), loop("Identity"))
    assert (left.node, left.is_complete) == (None, False)
