"""The first node that diverges: found among many, proved alone, and handed out as a model."""

from __future__ import annotations

import io
import sys
import zipfile
from dataclasses import asdict

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from runners.engine import runtimes
from runners.engine.conformance import verdicts
from runners.engine.onnx_files import bodies, datasets
from runners.engine.runs import answers, body_runs, generate, localise
from runners.engine.runs.child_runs import ModelFile
from runners.engine.runs.localise import Parties, Places
from runners.engine.runtimes.exposing import expose
from tests import samples
from tests.engine.faulty import Faulty

PARTIES = Parties("faulty", "onnx-reference", "onnx-reference", "fp32")


@pytest.fixture
def places(tmp_path):
    for name in ("sets", "work", "out"):
        (tmp_path / name).mkdir()
    return Places(tmp_path / "sets", tmp_path / "work", tmp_path / "out")


@pytest.fixture
def find(places, tmp_path, monkeypatch):
    """Look for the node in a model, with one operator of a runtime gone wrong."""

    def look(model, operator, change=lambda value: value * 1.01, parties=PARTIES):
        path = tmp_path / "model.onnx"
        onnx.save(model, str(path))
        monkeypatch.setattr(runtimes, "of", Faulty.instead(operator, change))
        dataset = generate.datasets(model, sizes=(2,))[0]
        datasets.write(places.sets, dataset, model)
        model_file = ModelFile(path, tmp_path)
        return asdict(localise.find(parties, [model_file], places, "test_data_set_generated-2"))

    return look


@pytest.mark.parametrize(("operator", "index"), [("Gemm", 0), ("Relu", 1), ("Softmax", 3)])
def test_the_guilty_node_is_named(find, operator, index):
    found = find(samples.mlp_proto(), operator)
    node = found["node"]
    assert (node["op"], node["index"], node["alone"]) == (operator, index, True)
    assert node["figures"]["max_rel"] == pytest.approx(0.01, rel=0.1)
    assert not node["figures"]["agrees"]
    assert found["evidence"] == f"diverging-{operator}.zip"


def test_the_evidence_is_a_model_that_shows_it(find, places):
    found = find(samples.mlp_proto(), "Relu")
    with zipfile.ZipFile(places.out / found["evidence"]) as archive:
        assert archive.namelist() == [
            "model.onnx",
            "test_data_set_0/input_0.pb",
            "test_data_set_0/output_0.pb",
        ]
        model = onnx.load(io.BytesIO(archive.read("model.onnx")))
        (x, y) = (
            numpy_helper.to_array(onnx.TensorProto.FromString(archive.read(name)))
            for name in archive.namelist()[1:]
        )
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Relu"]
    assert np.maximum(x, 0).tolist() == y.tolist()
    assert (x < 0).any()


def test_weights_stay_weights_in_the_evidence(find, places):
    found = find(samples.mlp_proto(), "Gemm")
    with zipfile.ZipFile(places.out / found["evidence"]) as archive:
        model = onnx.load(io.BytesIO(archive.read("model.onnx")))
    assert [tensor.name for tensor in model.graph.initializer] == ["w1", "b1"]
    assert [port.name for port in model.graph.input] == ["x"]


def test_runtimes_that_agree_have_no_guilty_node(find, places):
    found = find(samples.mlp_proto(), "NoSuchOperator")
    assert (found["node"], found["evidence"]) == (None, "")
    assert "no value" in found["note"]
    assert list(places.out.iterdir()) == []


def test_a_node_that_only_passes_errors_on_is_not_blamed(find):
    """Exp makes a small error of its input large; alone it is right."""
    model = samples.model(
        [
            samples.node("Relu", ["x"], ["r"]),
            samples.node("Mul", ["r", "twenty"], ["m"]),
            samples.node("Exp", ["m"], ["y"]),
        ],
        initializers=[numpy_helper.from_array(np.array(20, np.float32), "twenty")],
    )
    found = find(model, "Relu", lambda value: value + 3e-6)
    assert found["node"]["op"] == "Relu"
    assert not found["node"]["alone"]
    assert found["is_rounding"]
    assert "grow from node to node" in found["note"]


def test_a_node_that_cannot_run_alone_leaves_open_what_grows(find, monkeypatch):
    monkeypatch.setattr(localise, "cut_out", lambda *_: None)
    assert not find(samples.mlp_proto(), "Relu", lambda value: value + 3e-6)["is_rounding"]


def test_a_body_is_blamed_as_the_node_that_holds_it(find, places):
    model = onnx.load_from_string(samples.with_branches())
    found = find(model, "If")
    assert found["node"]["op"] == "If"
    with zipfile.ZipFile(places.out / found["evidence"]) as archive:
        cut = onnx.load(io.BytesIO(archive.read("model.onnx")))
    assert {port.name for port in cut.graph.input} == {"c", "x"}
    onnx.checker.check_model(cut)


def test_a_node_that_does_not_run_alone_is_named_without_evidence(find, monkeypatch):
    monkeypatch.setattr(localise, "cut_out", lambda *_: None)
    found = find(samples.mlp_proto(), "Relu")
    assert (found["node"]["op"], found["node"]["alone"], found["evidence"]) == ("Relu", False, "")
    assert found["node"]["figures"]["max_rel"] == pytest.approx(0.01, rel=0.1)


def test_external_weights_are_found(find, tmp_path):
    files = samples.with_external_data()
    (tmp_path / "weights.bin").write_bytes(files["weights.bin"])
    model = samples.external_proto("weights.bin")
    assert find(model, "MatMul")["node"]["op"] == "MatMul"


def test_whom_to_believe_decides_what_the_evidence_expects(find, places):
    believed = Parties("faulty", "onnx-reference", "faulty", "fp32")
    found = find(samples.mlp_proto(), "Relu", parties=believed)
    with zipfile.ZipFile(places.out / found["evidence"]) as archive:
        x, y = (
            numpy_helper.to_array(onnx.TensorProto.FromString(archive.read(name)))
            for name in archive.namelist()[1:]
        )
    assert y == pytest.approx(np.maximum(x, 0) * 1.01, rel=1e-5)


class Spoilt:
    """The reference on a graph in which one operator is wrong, in bodies of any depth too."""

    name = "faulty"
    optimises = False

    def __init__(self, operator, scale=1.01):
        self._operator, self._scale = operator, scale

    def open(self, path, *, optimise=True, outputs=(), folder=None):
        model = expose(path, outputs)
        self._spoil(model.graph)
        return _evaluator(model)

    def _spoil(self, graph):
        nodes = list(graph.node)
        del graph.node[:]
        for node in nodes:
            for body in bodies.bodies(node):
                self._spoil(body)
            graph.node.append(node)
            if node.op_type != self._operator:
                continue
            name = node.output[0]
            graph.node[-1].output[0] = f"{name}_sound"
            graph.node.extend(
                [
                    helper.make_node("Constant", [], [f"{name}_by"], value_float=self._scale),
                    helper.make_node("Mul", [f"{name}_sound", f"{name}_by"], [name]),
                ]
            )


def _evaluator(model):
    session = ReferenceEvaluator(model)
    return lambda values: session.run(
        None, {name: values[name] for name in session.input_names if name in values}
    )


@pytest.fixture
def look_inside(places, tmp_path, monkeypatch):
    """As `find`, with an operator that is wrong in bodies too, and inputs of one's own."""

    def look(model, operator, inputs, parties=PARTIES):
        path = tmp_path / "model.onnx"
        onnx.checker.check_model(model)
        onnx.save(model, str(path))
        real = runtimes.of
        spoilt = Spoilt(operator)
        monkeypatch.setattr(runtimes, "of", lambda name: spoilt if name == "faulty" else real(name))
        dataset = datasets.DataSet("test_data_set_0", "bundled", inputs, {})
        datasets.write(places.sets, dataset, model)
        return asdict(
            localise.find(parties, [ModelFile(path, tmp_path)], places, "test_data_set_0")
        )

    return look


def body(nodes, inputs, outputs, initializers=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(initializers))


def f32(name, shape=(4,)):
    return samples.value(name, shape=shape)


X = np.array([-1.0, 2.0, -3.0, 4.0], np.float32)
GO = numpy_helper.from_array(np.array(True), "go")
HALF = numpy_helper.from_array(np.array(0.5, np.float32), "half")


def branch(name, operator, output):
    """A branch that captures x and the stored `half`."""
    nodes = [
        samples.node("Add", ["x", "half"], [f"{name}_sum"]),
        samples.node(operator, [f"{name}_sum"], [output]),
    ]
    return body(nodes, [], [f32(output)])


def test_a_node_in_the_branch_that_was_taken_is_named(look_inside, places):
    node = samples.node(
        "If", ["c"], ["y"], name="choose",
        then_branch=branch("t", "Relu", "then"), else_branch=branch("e", "Neg", "else"),
    )  # fmt: skip
    model = samples.model([node], [f32("x"), samples.value("c", 9, ())], [f32("y")], [HALF])
    found = look_inside(model, "Neg", {"x": X, "c": np.array(False)})
    assert (found["node"]["op"], found["node"]["index"], found["node"]["alone"]) == ("Neg", 1, True)
    assert found["node"]["path"] == [
        {"op": "If", "name": "choose", "index": 0, "body": "else_branch", "iteration": None}
    ]
    with zipfile.ZipFile(places.out / found["evidence"]) as archive:
        cut = onnx.load(io.BytesIO(archive.read("model.onnx")))
    assert [one.op_type for one in cut.graph.node] == ["Neg"]


REAL = Parties("onnxruntime", "faulty", "onnx-reference", "fp32")


@pytest.mark.parametrize("parties", [PARTIES, REAL], ids=["reference", "onnxruntime"])
def test_a_node_in_a_loop_is_named_with_its_first_iteration(look_inside, parties):
    """Relu of what grows from below nought makes a difference from the third iteration on."""
    nodes = [
        samples.node("Identity", ["cond_in"], ["cond_out"]),
        samples.node("Add", ["s_in", "step"], ["sum"]),
        samples.node("Relu", ["sum"], ["bent"]),
        samples.node("Mul", ["bent", "half"], ["s_scan"]),
        samples.node("Identity", ["sum"], ["s_out"]),
    ]
    inner = body(
        nodes,
        [samples.value("i", 7, ()), samples.value("cond_in", 9, ()), f32("s_in")],
        [samples.value("cond_out", 9, ()), f32("s_out"), f32("s_scan")],
        [numpy_helper.from_array(np.array(1.0, np.float32), "step")],
    )
    loop = samples.node("Loop", ["trips", "go", "x"], ["last", "y"], body=inner)
    trips = numpy_helper.from_array(np.array(5, np.int64), "trips")
    model = samples.model(
        [loop], [f32("x", (1,))], [f32("last", (1,)), f32("y", (5, 1))], [trips, GO, HALF]
    )
    found = look_inside(model, "Relu", {"x": np.array([-2.5], np.float32)}, parties)
    assert (found["node"]["op"], found["node"]["index"]) == ("Relu", 2)
    assert found["node"]["path"] == [
        {"op": "Loop", "name": "", "index": 0, "body": "body", "iteration": 2}
    ]
    assert verdicts.place_of(answers.read(answers.Node, found["node"])) == (
        "node 2, Relu, in iteration 2 of the body of node 0, Loop"
    )


def sums(**settings):
    """A Scan that sums rows and bends them."""
    nodes = [
        samples.node("Add", ["s_in", "row"], ["s_out"]),
        samples.node("Relu", ["row"], ["bent"]),
    ]
    inner = body(
        nodes, [f32("s_in", (2,)), f32("row", (2,))], [f32("s_out", (2,)), f32("bent", (2,))]
    )
    return samples.node(
        "Scan", ["start", "x"], ["last", "y"], body=inner, num_scan_inputs=1, **settings
    )


START = numpy_helper.from_array(np.zeros(2, np.float32), "start")


def test_a_node_in_a_scan_is_named_with_its_first_iteration(look_inside):
    outputs = [f32("last", (2,)), f32("y", (3, 2))]
    model = samples.model([sums()], [f32("x", (3, 2))], outputs, [START])
    rows = np.array([[-1, -1], [2, 2], [1, 1]], np.float32)
    found = look_inside(model, "Relu", {"x": rows})
    assert found["node"]["op"] == "Relu"
    # The first row is cut to nought, in which 1 % makes no difference.
    assert found["node"]["path"][0]["iteration"] == 1


def test_a_scan_is_followed_along_its_axis_and_backwards(tmp_path):
    node = sums(scan_input_axes=[-1], scan_input_directions=[1])
    model = samples.model([node], [f32("x", (2, 3))], [f32("y", (3, 2))], [START])
    values = {
        "start": np.zeros(2, np.float32),
        "x": np.array([[1, 2, 3], [4, 5, 6]], np.float32),
    }
    found = body_runs.of(model, node, values.get)
    onnx.save(found.model, tmp_path / "body.onnx")
    runs = list(found.runs(runtimes.of("onnxruntime").open(tmp_path / "body.onnx")))
    assert [run.iteration for run in runs] == [0, 1, 2]
    assert [run.inputs["row"].tolist() for run in runs] == [[3, 6], [2, 5], [1, 4]]
    assert [run.inputs["s_in"].tolist() for run in runs] == [[0, 0], [3, 6], [5, 11]]


@pytest.mark.parametrize("parties", [PARTIES, REAL], ids=["reference", "onnxruntime"])
def test_a_branch_within_a_loop_is_looked_into(look_inside, parties):
    choice = samples.node(
        "If", ["cond_in"], ["s_out"],
        then_branch=branch("t", "Exp", "then"), else_branch=branch("e", "Neg", "else"),
    )  # fmt: skip
    inner = body(
        [samples.node("Identity", ["cond_in"], ["cond_out"]), choice],
        [samples.value("i", 7, ()), samples.value("cond_in", 9, ()), f32("s_in")],
        [samples.value("cond_out", 9, ()), f32("s_out")],
    )
    loop = samples.node("Loop", ["trips", "go", "x"], ["y"], body=inner)
    trips = numpy_helper.from_array(np.array(2, np.int64), "trips")
    model = samples.model([loop], [f32("x")], [f32("y")], [trips, GO, HALF])
    found = look_inside(model, "Exp", {"x": X}, parties)
    assert found["node"]["op"] == "Exp"
    assert [(step["op"], step["body"]) for step in found["node"]["path"]] == [
        ("Loop", "body"),
        ("If", "then_branch"),
    ]


def test_an_output_that_nobody_uses_is_not_compared(look_inside, places):
    """The mask of a Dropout that nobody reads differs; what is used differs later on."""
    nodes = [
        samples.node("Split", ["x", "sizes"], ["used", "unused"]),
        samples.node("Relu", ["used"], ["y"]),
        samples.node("Relu", ["unused"], ["dead"]),
    ]
    sizes = numpy_helper.from_array(np.array([2, 2], np.int64), "sizes")
    model = samples.model(nodes, [f32("x")], [f32("y", (2,))], [sizes])
    assert localise.used_values(model.graph) == ["used", "y"]
    found = look_inside(model, "Relu", {"x": X})
    assert (found["node"]["op"], found["node"]["index"]) == ("Relu", 1)


class Masks(Spoilt):
    """The reference, whose second outputs are inverted wherever they are asked for."""

    def _spoil(self, graph):
        names = {node.output[1] for node in graph.node if len(node.output) > 1}
        for port in graph.output:
            if port.name in names:
                graph.node.append(helper.make_node("Not", [port.name], [f"{port.name}_not"]))
                port.name = f"{port.name}_not"
        super()._spoil(graph)


def test_an_unused_mask_is_not_the_first_node_that_diverges(look_inside, monkeypatch):
    nodes = [
        samples.node("Dropout", ["x"], ["dropped", "mask"]),
        samples.node("Relu", ["dropped"], ["y"]),
    ]
    model = samples.model(nodes, [f32("x")], [f32("y")])
    monkeypatch.setattr(sys.modules[__name__], "Spoilt", Masks)
    found = look_inside(model, "Relu", {"x": X})
    assert (found["node"]["op"], found["node"]["alone"]) == ("Relu", True)
