"""Test data sets: found by name, read without trust, written as they are read."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.onnx_files import datasets
from runners.engine.onnx_files.datasets import DataSet, UnreadableDataError
from tests import samples


def two_inputs():
    return samples.model(
        [samples.node("Add", ["a", "b"], ["y"])], [samples.value("a"), samples.value("b")]
    )


def put(folder, **files):
    home = folder / "test_data_set_0"
    home.mkdir(exist_ok=True)
    for name, proto in files.items():
        (home / f"{name}.pb").write_bytes(proto.SerializeToString())
    return home


def tensor(*numbers, name=""):
    return numpy_helper.from_array(np.array(numbers, np.float32), name)


def test_paths_are_those_beside_the_entry():
    files = [
        "a/model.onnx",
        "a/test_data_set_0/input_0.pb",
        "a/test_data_set_0/output_0.pb",
        "a/test_data_set_1/inputs.npz",
        "a/test_data_set_0/notes.txt",
        "a/deeper/test_data_set_0/input_0.pb",
        "test_data_set_0/input_0.pb",
        "a/test_data_0/input_0.pb",
    ]
    assert datasets.paths(files, "a/model.int8.onnx") == files[1:4]
    assert datasets.paths(files, "model.onnx") == ["test_data_set_0/input_0.pb"]


def test_tensors_are_read_by_place_and_by_name(tmp_path):
    put(tmp_path, input_0=tensor(1), input_1=tensor(2), output_0=tensor(3, name="strange"))
    (one,) = datasets.read(tmp_path, two_inputs())
    assert (one.name, one.origin) == ("test_data_set_0", "bundled")
    assert {name: value.tolist() for name, value in one.inputs.items()} == {"a": [1], "b": [2]}
    assert one.outputs["y"].tolist() == [3]
    put(tmp_path, input_0=tensor(1, name="b"), input_1=tensor(2, name="a"))
    (one,) = datasets.read(tmp_path, two_inputs())
    assert one.inputs["b"].tolist() == [1]


def test_missing_outputs_and_inputs_stay_missing(tmp_path):
    put(tmp_path, input_1=tensor(2))
    (one,) = datasets.read(tmp_path, two_inputs())
    assert (list(one.inputs), one.outputs) == (["b"], {})


def test_inputs_with_defaults_are_passed_over(tmp_path):
    model = samples.model(
        [samples.node("Add", ["w", "x"], ["y"])],
        [samples.value("w"), samples.value("x")],
        initializers=[samples.tensor("w", (1,))],
    )
    put(tmp_path, input_0=tensor(7))
    (one,) = datasets.read(tmp_path, model)
    assert list(one.inputs) == ["x"]
    put(tmp_path, input_1=tensor(8))
    (one,) = datasets.read(tmp_path, model)
    assert list(one.inputs) == ["w", "x"]


def test_sets_come_in_natural_order(tmp_path):
    for name in ("test_data_set_10", "test_data_set_2", "other"):
        (tmp_path / name).mkdir()
    assert [one.name for one in datasets.read(tmp_path, two_inputs())] == [
        "test_data_set_2",
        "test_data_set_10",
    ]


@pytest.mark.parametrize("spoiled", ["garbage", "external", "too-many", "npz-pickle", "npz-names"])
def test_bad_data_is_refused_by_name(tmp_path, spoiled):
    home = put(tmp_path, input_0=tensor(1))
    match spoiled:
        case "garbage":
            (home / "input_1.pb").write_bytes(b"\xff" * 9)
        case "external":
            outside = TensorProto(name="b", data_type=1, dims=[1])
            outside.external_data.add(key="location", value="/etc/hostname")
            put(tmp_path, input_1=outside)
        case "too-many":
            put(tmp_path, input_5=tensor(1))
        case "npz-pickle":
            np.savez(home / "inputs.npz", a=np.array([{}], object))
        case "npz-names":
            np.savez(home / "inputs.npz", q=np.zeros(1))
    with pytest.raises(UnreadableDataError, match="test_data_set_0/"):
        datasets.read(tmp_path, two_inputs())


def test_external_data_inside_a_sequence_is_refused(tmp_path):
    kind = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    model = samples.model([samples.node("SequenceAt", ["s", "i"], ["y"])], [kind])
    sequence = numpy_helper.from_list([np.zeros(1, np.float32)])
    sequence.tensor_values[0].external_data.add(key="location", value="x")
    put(tmp_path, input_0=sequence)
    with pytest.raises(UnreadableDataError, match="outside"):
        datasets.read(tmp_path, model)


def test_archives_are_read_by_name_and_by_place(tmp_path):
    home = put(tmp_path)
    np.savez(home / "inputs.npz", b=np.ones(2))
    np.savez(home / "outputs.npz", np.zeros(3))
    (one,) = datasets.read(tmp_path, two_inputs())
    assert one.inputs["b"].tolist() == [1, 1]
    assert one.outputs["y"].tolist() == [0, 0, 0]


def ports(*kinds):
    return [onnx.ValueInfoProto(name=f"p{k}", type=kind) for k, kind in enumerate(kinds)]


def test_what_is_written_is_read_back(tmp_path):
    plain = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    text = helper.make_tensor_type_proto(TensorProto.STRING, None)
    half = helper.make_tensor_type_proto(TensorProto.BFLOAT16, None)
    scores = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, plain))
    maybe = helper.make_optional_type_proto(plain)
    model = samples.model([], ports(plain, text, half), ports(plain))
    model.graph.output.extend(
        [
            onnx.ValueInfoProto(name="scores", type=scores),
            onnx.ValueInfoProto(name="none", type=maybe),
            onnx.ValueInfoProto(name="some", type=maybe),
        ]
    )
    made = DataSet(
        "test_data_set_a b",
        "generated",
        {
            "p0": np.array(2.5, np.float32),
            "p1": np.array([["ä", ""]], object),
            "p2": np.array([1.5, 2], ml_dtypes.bfloat16),
        },
        {
            "scores": [{1: 0.5, 2: 0.25}, {1: 1.0, 2: 0.0}],
            "none": None,
            "some": np.ones((0, 2), np.float32),
        },
    )
    datasets.write(tmp_path, made, model)
    (back,) = datasets.read(tmp_path, model)
    assert (back.inputs["p0"].shape, float(back.inputs["p0"])) == ((), 2.5)
    assert back.inputs["p1"].tolist() == [["ä", ""]]
    assert back.inputs["p2"].dtype == ml_dtypes.bfloat16
    assert back.outputs["scores"] == made.outputs["scores"]
    assert back.outputs["none"] is None
    assert back.outputs["some"].shape == (0, 2)
