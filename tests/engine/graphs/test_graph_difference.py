"""The task "difference": which nodes of a graph are new, gone or other than before."""

from __future__ import annotations

import copy

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes


@pytest.fixture
def compared(sandbox, stored):
    """Compare two models, each as bytes or as a map of paths to bytes; gives the report."""

    def go(before, after):
        files = {}
        for folder, given in ((".against/", before), ("", after)):
            content = given.SerializeToString() if hasattr(given, "graph") else given
            one = content if isinstance(content, dict) else {"model.onnx": content}
            files |= {folder + path: content for path, content in one.items()}
        options = {"against": ".against/model.onnx"}
        request = Request("difference", "model.onnx", stored(files), SUBJECT, options, SMALL)
        return sandbox.run(request)

    return go


def counts(report):
    told = report.facts["counts"]
    return {name: told[name] for name in ("added", "removed", "changed")}


def changes(report):
    return [change for row in report.facts["changed"] for change in row["changes"]]


def weights(model, name):
    return next(one for one in model.graph.initializer if one.name == name)


def named(model):
    """The same model, its nodes named."""
    for place, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{place}"
    return model


def test_the_same_model_has_no_difference(compared):
    report = compared(samples.mlp(), samples.mlp())
    assert (report.outcome, codes(report)) == ("passed", [])
    assert counts(report) == {"added": 0, "removed": 0, "changed": 0}
    assert report.facts["weights"] == {"compared": 4, "equal": 4, "norm": 0.0}
    assert report.facts["model"] == []
    assert report.facts["before"]["marks"] == [0, 0, 0, 0]


def test_weights_moved_by_a_share_of_their_norm(compared):
    before, after = samples.mlp_proto(), samples.mlp_proto()
    moved = weights(after, "w1")
    values = numpy_helper.to_array(moved)
    moved.CopyFrom(numpy_helper.from_array(values * np.float32(1.25), "w1"))
    report = compared(before, after)
    assert counts(report) == {"added": 0, "removed": 0, "changed": 1}
    (change,) = changes(report)
    assert (change["what"], change["name"]) == ("weight", "w1")
    assert change["norm"] == pytest.approx(0.25, rel=1e-5)
    told = report.facts["weights"]
    assert (told["compared"], told["equal"]) == (4, 3)
    everything = np.concatenate(
        [numpy_helper.to_array(one).reshape(-1) for one in before.graph.initializer]
    )
    share = 0.25 * np.linalg.norm(values) / np.linalg.norm(everything)
    assert told["norm"] == pytest.approx(share, rel=1e-5)
    assert report.facts["after"]["marks"] == [1, 0, 0, 0]


def test_attributes_and_shapes_one_by_one(compared):
    def conv(pads, stride):
        return samples.model(
            [samples.node("Conv", ["x", "w"], ["y"], name="c", pads=pads, strides=stride)],
            [samples.value("x", shape=(1, 1, 8, 8))],
            [samples.value("y", shape=None)],
            [samples.tensor("w", (4, 1, 3, 3))],
        )

    report = compared(conv([1] * 4, [1, 1]), conv([1] * 4, [2, 2]))
    told = {(row["what"], row["name"]): (row["before"], row["after"]) for row in changes(report)}
    assert told == {
        ("attribute", "strides"): ("[1, 1]", "[2, 2]"),
        ("shape", "y"): ("float32[1, 4, 8, 8]", "float32[1, 4, 4, 4]"),
    }


def test_a_node_put_between_is_the_only_one_added(compared):
    before, after = named(samples.mlp_proto()), named(samples.mlp_proto())
    nodes = list(after.graph.node)
    nodes[3].input[0] = "scaled"
    del after.graph.node[:]
    between = samples.node("Neg", ["logits"], ["scaled"], name="between")
    after.graph.node.extend([*nodes[:3], between, nodes[3]])
    report = compared(before, after)
    assert counts(report) == {"added": 1, "removed": 0, "changed": 1}
    assert report.facts["added"][0]["name"] == "between"
    (change,) = changes(report)
    assert (change["what"], change["before"][:6], change["after"][:6]) == (
        "input", "logits", "scaled",
    )  # fmt: skip
    assert report.facts["after"]["marks"] == [0, 0, 0, 2, 1]
    turned = compared(after, before)
    assert counts(turned) == {"added": 0, "removed": 1, "changed": 1}
    assert turned.facts["before"]["marks"] == [0, 0, 0, 2, 1]


def rename(model, *, values):
    """Give every node another name, and with ``values`` every value inside, too."""
    kept = {port.name for port in (*model.graph.input, *model.graph.output)}
    for place, node in enumerate(model.graph.node):
        node.name = f"other{place}"
        for names in (node.input, node.output):
            for slot, name in enumerate(names):
                if values and name and name not in kept:
                    names[slot] = f"t.{name}"
    for tensor in model.graph.initializer:
        tensor.name = f"t.{tensor.name}" if values else tensor.name
    return model


def test_names_alone_are_no_change(compared):
    before = named(samples.mlp_proto())
    report = compared(before, rename(copy.deepcopy(before), values=False))
    assert counts(report) == {"added": 0, "removed": 0, "changed": 0}
    assert (report.facts["counts"]["by_output"], report.facts["counts"]["renamed"]) == (4, 4)


def test_without_any_equal_name_structure_tells(compared):
    before = named(samples.mlp_proto())
    after = rename(copy.deepcopy(before), values=True)
    moved = weights(after, "t.w2")
    values = numpy_helper.to_array(moved)
    moved.CopyFrom(numpy_helper.from_array(values + np.float32(1), "t.w2"))
    report = compared(before, after)
    assert counts(report) == {"added": 0, "removed": 0, "changed": 1}
    # The last node keeps the name of the graph's output.
    told = report.facts["counts"]
    assert (told["by_structure"], told["by_output"]) == (3, 1)
    # What tells a node in a drawing; the changed one stands first.
    outputs = report.facts["outputs"]
    assert outputs[0] == ["logits", "t.logits"]
    assert {was for was, _ in outputs} == {"h", "r", "logits"}
    (change,) = changes(report)
    assert change["norm"] == pytest.approx(
        np.linalg.norm(np.ones_like(values)) / np.linalg.norm(values), rel=1e-5
    )


def test_numbers_in_names_do_not_pair_different_operators(compared):
    """An exporter numbers its nodes: one more in front moves every number."""
    before = named(samples.mlp_proto())
    after = rename(copy.deepcopy(before), values=True)
    first = samples.node("Neg", ["x"], ["t.x"])
    after.graph.node[0].input[0] = "t.x"
    nodes = [first, *after.graph.node]
    del after.graph.node[:]
    after.graph.node.extend(nodes)
    for place, node in enumerate(after.graph.node):
        node.name = f"n{place}"
    for place, node in enumerate(before.graph.node):
        node.name = f"n{place}"
    report = compared(before, after)
    assert [row["op"] for row in report.facts["added"]] == ["Neg"]
    assert report.facts["counts"]["removed"] == 0


def test_an_operator_replaced_under_its_name(compared):
    before, after = named(samples.mlp_proto()), named(samples.mlp_proto())
    after.graph.node[1].op_type = "Tanh"
    report = compared(before, after)
    assert counts(report) == {"added": 0, "removed": 0, "changed": 1}
    assert changes(report) == [
        {"what": "operator", "name": "", "before": "Relu", "after": "Tanh"},
    ]


def test_external_weights_are_compared_with_inline_ones(compared):
    outside = samples.with_external_data()
    inline = onnx.ModelProto.FromString(outside["model.onnx"])
    values = np.frombuffer(outside["weights.bin"], np.float32).reshape(4, 4)
    inline.graph.initializer[0].CopyFrom(numpy_helper.from_array(values.copy(), "w"))
    report = compared(outside, inline)
    assert counts(report) == {"added": 0, "removed": 0, "changed": 0}
    other = dict(outside, **{"weights.bin": (values * 2).astype(np.float32).tobytes()})
    (change,) = changes(compared(outside, other))
    assert change["norm"] == pytest.approx(1.0)


def test_weights_of_other_shapes_or_types_are_named_so(compared):
    report = compared(samples.mlp_proto(), samples.mlp_proto(hidden=16))
    told = {(row["what"], row["name"]): (row["before"], row["after"]) for row in changes(report)}
    assert told["weight", "w1"] == ("float32[4, 8]", "float32[4, 16]")
    assert told["shape", "h"] == ("float32[N, 8]", "float32[N, 16]")


def test_numbers_that_are_none_do_not_break_it(compared):
    before, after = samples.mlp_proto(), samples.mlp_proto()
    for model, value in ((before, np.nan), (after, np.inf)):
        broken = weights(model, "b2")
        broken.CopyFrom(numpy_helper.from_array(np.full(3, value, np.float32), "b2"))
    report = compared(before, after)
    assert report.outcome == "passed"
    assert [change["norm"] for change in changes(report)] == [None]
    assert counts(compared(before, before)) == {"added": 0, "removed": 0, "changed": 0}


def test_inside_functions_and_branches(compared):
    before = onnx.ModelProto.FromString(samples.with_functions())
    after = copy.deepcopy(before)
    after.functions[0].node[0].op_type = "Elu"
    report = compared(before, after)
    (row,) = report.facts["changed"]
    assert row["path"] == "function local.Leak"
    assert row["changes"][0]["after"] == "Elu"


def test_opsets_and_ports_of_the_model(compared):
    after = samples.mlp_proto()
    after.opset_import[0].version = 18
    after.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    told = {row["name"]: (row["before"], row["after"]) for row in
            compared(samples.mlp(), after).facts["model"]}  # fmt: skip
    assert told["ai.onnx"] == ("17", "18")
    assert told["input x"] == ("float32[N, 4]", "float32[batch, 4]")


def test_lists_are_bounded_and_counts_are_not(compared):
    def chain(length):
        nodes = [samples.node("Relu", [f"v{n}"], [f"v{n + 1}"]) for n in range(length)]
        return samples.model(nodes, [samples.value("v0")], [samples.value(f"v{length}")])

    report = compared(chain(1), chain(800))
    assert report.facts["counts"]["added"] == 799
    assert len(report.facts["added"]) == 500
    assert len(report.facts["after"]["marks"]) == 200


def test_a_hostile_side_ends_it(compared):
    report = compared(samples.pickle_file(), samples.mlp())
    assert report.outcome == "failed"
    report = compared(samples.mlp(), samples.pickle_file())
    assert report.outcome == "failed"


def test_trees_are_compared_by_their_numbers(compared):
    def tree(last):
        values = [0.5] * 4999 + [last]
        node = helper.make_node("X", ["x"], ["y"], domain="d", many=values, name="t")
        return samples.model([node], domains=[("d", 1)])

    assert counts(compared(tree(0.5), tree(0.5)))["changed"] == 0
    (change,) = changes(compared(tree(0.5), tree(1.5)))
    assert change["norm"] == pytest.approx(1 / np.linalg.norm([0.5] * 5000))
