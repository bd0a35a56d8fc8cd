"""The task "skeleton": a graph without its weights, and the table of its nodes."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.protocol.costs import Costs
from runners.engine.graphs import skeleton
from runners.engine.onnx_files import nodes
from runners.sandbox import Request
from tests import samples
from tests.engine.conftest import SMALL, SUBJECT, codes
from tests.engine.costs.test_costs import attention_model


@pytest.fixture
def drawn(sandbox, stored):
    """Draw a version's files; gives the report, the skeleton and the table."""

    def go(files, entry="model.onnx"):
        files = {entry: files} if isinstance(files, bytes) else files
        request = Request("skeleton", entry, stored(files), SUBJECT, {}, SMALL)
        made = {}

        def keep(report, folder):
            for output in report.outputs:
                made[output.name] = (folder / output.name).read_bytes()
            return report

        report = sandbox.run(request, keep=keep)
        table = json.loads(made["nodes.json"]) if made else None
        return report, made.get("skeleton.onnx"), table

    return go


def large():
    """An MLP whose first weights are larger than a skeleton keeps."""
    return samples.mlp(hidden=400)


def test_weights_go_and_shapes_stay(drawn):
    content = large()
    report, made, table = drawn(content)
    assert (report.outcome, codes(report)) == ("passed", [])
    names = [output.name for output in report.outputs]
    assert names == ["skeleton.onnx", "nodes.json", "costs.json"]
    model, whole = onnx.ModelProto.FromString(made), onnx.ModelProto.FromString(content)
    assert [(one.name, one.dims, one.data_type) for one in model.graph.initializer] == [
        (one.name, one.dims, one.data_type) for one in whole.graph.initializer
    ]
    by_name = {one.name: one for one in model.graph.initializer}
    assert not by_name["w1"].raw_data
    assert by_name["b1"].raw_data == whole.graph.initializer[1].raw_data  # 1,600 bytes
    assert model.graph.node == whole.graph.node
    assert report.facts["skeleton"]["left_out"]["tensors"] == 2
    assert len(made) < len(content) / 4
    assert [row["op"] for row in table["nodes"]] == ["Gemm", "Relu", "Gemm", "Softmax"]
    assert table["nodes"][0]["in"] == [
        ["x", "float32[N, 4]"], ["w1", "float32[4, 400]"], ["b1", "float32[400]"],
    ]  # fmt: skip
    assert table["nodes"][1]["out"] == [["r", "float32[N, 400]"]]
    assert table["nodes"][3]["attrs"] == [["axis", "int", "1"]]
    assert (table["total"], table["cut"], table["inferred"]) == (4, False, True)


def test_costs_are_counted_in_the_sandbox(sandbox, stored):
    """Folding of shapes too, for which the reference is loaded in the child."""
    files = {"model.onnx": attention_model().SerializeToString()}
    request = Request("skeleton", "model.onnx", stored(files), SUBJECT, {}, SMALL)
    report = sandbox.run(request)
    assert codes(report) == []
    costs = Costs.read(report.facts["costs"])
    assert str(costs.macs) == "256 · batch · steps + 32 · batch · steps²"


def test_external_weights_are_not_needed_and_not_named(drawn):
    files = samples.with_external_data()
    report, made, _ = drawn(files)
    (tensor,) = onnx.ModelProto.FromString(made).graph.initializer
    assert not tensor.external_data
    assert tensor.data_location == TensorProto.DEFAULT
    assert b"weights.bin" not in made
    assert report.facts["skeleton"]["left_out"]["external"] == 1


def test_functions_and_subgraphs_are_listed_with_their_place(drawn):
    report, _, table = drawn(samples.with_functions())
    assert report.outcome == "passed"
    inside = [row for row in table["nodes"] if row.get("path") == "function local.Leak"]
    assert [row["op"] for row in inside] == ["LeakyRelu"]
    assert inside[0]["attrs"] == [["alpha", "float", "of the function: slope"]]
    body = helper.make_graph([samples.node("Relu", ["x"], ["z"])], "b", [], [samples.value("z")])
    other = helper.make_graph([samples.node("Neg", ["x"], ["z"])], "b", [], [samples.value("z")])
    branch = helper.make_node("If", ["c"], ["y"], name="fork", then_branch=body, else_branch=other)
    true = numpy_helper.from_array(np.array(True), "c")
    _, _, table = drawn(samples.model([branch], initializers=[true]).SerializeToString())
    assert {(row.get("path", ""), row["op"]) for row in table["nodes"]} == {
        ("", "If"), ("fork/then_branch", "Relu"), ("fork/else_branch", "Neg"),
    }  # fmt: skip


def test_weights_in_attributes_go_too():
    value = numpy_helper.from_array(np.ones(5000, np.float32), "w")
    constant = samples.node("Constant", [], ["y"], value=value)
    tree = samples.node("X", ["y"], ["z"], domain="d", many=[0.5] * 5000, few=[1.0, 2.0])
    text = samples.node("X", ["z"], ["y2"], domain="d", words=b"x" * 5000)
    content = samples.model([constant, tree, text], domains=[("d", 1)]).SerializeToString()
    made, cut = skeleton.cut_out(content)
    model = onnx.ModelProto.FromString(made)
    assert list(model.graph.node[0].attribute[0].t.dims) == [5000]
    kept = {one.name: one for node in model.graph.node for one in node.attribute}
    assert (len(kept["many"].floats), list(kept["few"].floats)) == (0, [1.0, 2.0])
    assert kept["words"].s == b""
    assert len(made) < 1000
    assert (cut.tensors, cut.attributes) == (1, 2)


def test_many_small_tensors_are_bounded_together():
    tensors = [samples.tensor(f"w{place}", (1000,)) for place in range(600)]
    adds = samples.node("Sum", [one.name for one in tensors], ["y"])
    shape = numpy_helper.from_array(np.array([1, -1]), "shape")
    made, cut = skeleton.cut_out(
        samples.model([adds], initializers=[*tensors, shape]).SerializeToString()
    )
    assert len(made) < skeleton.MOST_DATA_TOGETHER + 200_000
    assert cut.tensors > 300
    last = onnx.ModelProto.FromString(made).graph.initializer[-1]
    assert list(numpy_helper.to_array(last)) == [1, -1]


@pytest.mark.parametrize(
    ("field", "kind"),
    [("float_data", 1), ("int64_data", 7), ("double_data", 11), ("int32_data", 6)],
)
def test_every_way_of_writing_numbers_is_cut(field, kind):
    tensor = TensorProto(name="w", data_type=kind, dims=[5000])
    getattr(tensor, field).extend([1] * 5000)
    model = samples.model([samples.node("Relu", ["w"], ["y"])], initializers=[tensor])
    made, cut = skeleton.cut_out(model.SerializeToString())
    (kept,) = onnx.ModelProto.FromString(made).graph.initializer
    assert (len(getattr(kept, field)), list(kept.dims), cut.tensors) == (0, [5000], 1)


def test_stack_traces_and_training_go():
    node = samples.node("Relu", ["x"], ["y"])
    node.doc_string = 'File "/home/ada/train.py"\n' * 100
    model = samples.model([node])
    model.training_info.add().algorithm.name = "sgd"
    made, cut = skeleton.cut_out(model.SerializeToString())
    assert b"somebody" not in made
    assert not onnx.ModelProto.FromString(made).training_info
    assert cut.texts == 1


def test_a_table_is_bounded_and_says_so(monkeypatch):
    chain = [samples.node("Relu", [f"v{n}"], [f"v{n + 1}"]) for n in range(50)]
    model = samples.model(chain, [samples.value("v0")], [samples.value("v50")])
    monkeypatch.setattr(nodes, "MOST_NODES", 20)
    table = nodes.table_of(model, inferred=False)
    assert (table["total"], table["listed"], table["cut"], len(table["nodes"])) == (
        50,
        20,
        True,
        20,
    )
    monkeypatch.setattr(nodes, "MOST_NODES", 1000)
    monkeypatch.setattr(nodes, "MOST_BYTES", 500)
    table = nodes.table_of(model, inferred=False)
    assert table["cut"]
    assert len(json.dumps(table["nodes"], separators=(",", ":"))) <= 500


def test_where_nothing_can_be_inferred_the_nodes_are_still_listed(drawn):
    model = samples.model([samples.node("Nothing", ["x"], ["y"])])
    report, _, table = drawn(model.SerializeToString())
    assert report.outcome == "passed"
    assert [row["op"] for row in table["nodes"]] == ["Nothing"]


def test_what_the_scan_refuses_is_not_drawn(drawn):
    report, made, table = drawn(samples.pickle_file())
    assert (report.outcome, made, table) == ("failed", None, None)


def test_equal_bytes_make_equal_skeletons(drawn):
    assert drawn(samples.conv())[1:] == drawn(samples.conv())[1:]


def test_what_is_not_text_does_not_break_the_table(drawn):
    node = samples.node("Relu", ["x"], ["y"], odd=b"\xff\x00\xfe")
    report, _, table = drawn(samples.model([node]).SerializeToString())
    assert report.outcome == "passed"
    assert "\x00" not in json.dumps(table)
