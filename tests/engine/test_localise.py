"""The first node that diverges: found among many, proved alone, and handed out as a model."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from runners.engine import datasets, generate, localise, runtimes
from runners.engine.localise import Parties, Places
from runners.engine.trials import Form
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
        form = Form(path, tmp_path)
        return localise.find(parties, [form], places, "test_data_set_generated-2")

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
    assert "grows" in found["note"]


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
