"""Order of nodes: by what they read, whatever the order of the file."""

from __future__ import annotations

from onnx import helper

from runners.engine.onnx_files import bodies
from runners.engine.upgrades import evidence
from tests import samples


def test_nodes_follow_the_makers_of_what_they_read():
    nodes = [
        samples.node("Relu", ["b"], ["y"], name="last"),
        samples.node("Neg", ["x"], ["a"], name="first"),
        samples.node("Abs", ["x"], ["c"], name="apart"),
        samples.node("Add", ["a", "c"], ["b"], name="middle"),
    ]
    names = [node.name for node in bodies.ordered(nodes)]
    assert names == ["first", "apart", "middle", "last"]
    assert [node.name for node in bodies.ordered(bodies.ordered(nodes))] == names


def test_a_body_reads_what_it_captures():
    inner = helper.make_graph(
        [samples.node("Neg", ["a"], ["z"])], "then", [], [samples.value("z", shape=(4,))]
    )
    fork = samples.node("If", ["c"], ["y"], name="fork", then_branch=inner, else_branch=inner)
    maker = samples.node("Relu", ["x"], ["a"], name="maker")
    assert [node.name for node in bodies.ordered([fork, maker])] == ["maker", "fork"]


def test_nodes_on_a_cycle_come_last():
    nodes = [
        samples.node("Add", ["x", "b"], ["a"], name="one"),
        samples.node("Neg", ["a"], ["b"], name="two"),
        samples.node("Abs", ["x"], ["y"], name="free"),
    ]
    assert [node.name for node in bodies.ordered(nodes)] == ["free", "one", "two"]


def test_an_output_depends_on_inputs_whatever_the_order_of_nodes():
    nodes = [samples.node("Relu", ["a"], ["y"]), samples.node("Neg", ["x"], ["a"])]
    names, operators = evidence._ancestors(samples.model(nodes), "y")
    assert names == {"x", "a", "y"}
    assert operators == {"Relu", "Neg"}
