"""Model repositories of Triton: files, configurations, and what is refused."""

from __future__ import annotations

import json

import onnx
import pytest
from onnx import TensorProto, helper

from hub.bridges import triton
from hub.cli import command
from hub.protocol import problems
from tests.unit.client.conftest import make_model


def model(inputs, outputs):
    """A model with these inputs and outputs, each a name, a type and a shape."""
    nodes = [
        helper.make_node("Identity", [one[0]], [other[0]])
        for one, other in zip(inputs, outputs, strict=True)
    ]
    values = [[helper.make_tensor_value_info(*one) for one in ports] for ports in (inputs, outputs)]
    graph = helper.make_graph(nodes, "graph", *values)
    return helper.make_model(graph).SerializeToString()


def test_a_version_becomes_a_numbered_folder_with_a_configuration(fake, client, tmp_path):
    ports = [("x", TensorProto.FLOAT, ["N", 3, None]), ("n\n", TensorProto.STRING, ["N"])]
    outputs = [("y", TensorProto.FLOAT, ["N", 3, 4]), ("m", TensorProto.STRING, ["N"])]
    fake.add("zoo/net", {"onnx/net.onnx": model(ports, outputs), "notes.txt": b"notes"})
    folder = triton.write(client, "zoo/net@1", tmp_path / "repository", max_batch_size=8)
    assert folder == tmp_path / "repository" / "net"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        *("1", "1/model.onnx", "config.pbtxt"),
    ]
    assert (folder / "config.pbtxt").read_text() == (
        'name: "net"\nbackend: "onnxruntime"\nmax_batch_size: 8\n'
        'input { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] }\n'
        'input { name: "n\\n" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }\n'
        'output { name: "y" data_type: TYPE_FP32 dims: [ 3, 4 ] }\n'
        'output { name: "m" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }\n'
    )


def test_external_data_lies_beside_the_model(fake, client, tmp_path):
    files = make_model(location="data/weights.bin")
    placed = {f"onnx/{path}": content for path, content in files.items()}
    fake.add("zoo/net", placed, entry=next(path for path in placed if path.endswith(".onnx")))
    folder = triton.write(client, "zoo/net", tmp_path)
    loaded = onnx.load(folder / "1" / "model.onnx")
    assert (folder / "1" / "data" / "weights.bin").read_bytes() == files["data/weights.bin"]
    assert loaded.graph.initializer[0].raw_data


def test_versions_share_a_configuration_that_may_be_edited(fake, client, tmp_path):
    first = model([("x", TensorProto.FLOAT, ["N", 3])], [("y", TensorProto.FLOAT, ["N", 3])])
    other = model([("x", TensorProto.INT64, ["N", 3])], [("y", TensorProto.INT64, ["N", 3])])
    for content in (first, first, other):
        fake.add("zoo/net", {"model.onnx": content})
    folder = triton.write(client, "zoo/net@1", tmp_path)
    configuration = folder / "config.pbtxt"
    edited = configuration.read_text() + "instance_group [ { count: 2 } ]\n"
    configuration.write_text(edited)
    for _ in range(2):
        triton.write(client, "zoo/net@2", tmp_path)
    assert configuration.read_text() == edited
    with pytest.raises(
        problems.InvalidRequest, match="not for the inputs and outputs of zoo/net@3"
    ):
        triton.write(client, "zoo/net@3", tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["1", "2", "config.pbtxt"]


def test_what_triton_does_not_take_is_refused(fake, client, tmp_path):
    fixed = model([("x", TensorProto.FLOAT, [1, 3])], [("y", TensorProto.FLOAT, [1, 3])])
    shapeless = model([("x", TensorProto.FLOAT, None)], [("y", TensorProto.FLOAT, None)])
    for name, content in (("fixed", fixed), ("shapeless", shapeless)):
        fake.add(f"zoo/{name}", {"model.onnx": content})
    with pytest.raises(problems.InvalidRequest, match="cannot be batched"):
        triton.write(client, "zoo/fixed", tmp_path, max_batch_size=4)
    with pytest.raises(problems.InvalidRequest, match="does not state the shape of 'x'"):
        triton.write(client, "zoo/shapeless", tmp_path)
    assert list(tmp_path.glob("fixed/*")) == []


@pytest.mark.usefixtures("default")
def test_the_command_writes_a_repository(fake, tmp_path, capsys):
    fake.add("zoo/net", make_model())
    assert command.main(["get", "zoo/net", "--layout", "triton", "--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "net")
    assert (tmp_path / "net" / "1" / "model.onnx").exists()
    words = ["get", "zoo/net", "--layout", "triton", "--to", str(tmp_path), "--json"]
    assert command.main(words) == 0
    row = {"ref": "zoo/net", "layout": "triton", "folder": str(tmp_path / "net")}
    assert json.loads(capsys.readouterr().out) == row
    assert command.main(["get", "zoo/net", "--layout", "triton"]) == 2
    assert "--layout needs --to" in capsys.readouterr().err
