"""Files read without their weights and written with them again: every byte of them comes back."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from runners.engine.opsets import convert, weights
from tests import samples
from tests.engine.opset_models import close, floats, old, port, run

BIG = floats(40, 40)


def large_model():
    """Weights in every place and form a tensor may have, each above what a skeleton keeps."""
    plain = TensorProto(name="plain", data_type=TensorProto.FLOAT, dims=[40, 40])
    plain.float_data.extend(BIG.flatten().tolist())
    half = TensorProto(name="half", data_type=TensorProto.FLOAT16, dims=[1600])
    half.int32_data.extend(range(1600))
    long = TensorProto(name="long", data_type=TensorProto.INT64, dims=[400])
    long.int64_data.extend(range(-200, 200))
    double = TensorProto(name="double", data_type=TensorProto.DOUBLE, dims=[400])
    double.double_data.extend(float(k) for k in range(400))
    words = TensorProto(name="words", data_type=TensorProto.STRING, dims=[400])
    words.string_data.extend(b"word" for _ in range(400))
    inner = helper.make_graph(
        [helper.make_node("Add", ["h", "inside"], ["t"])],
        "inner",
        [],
        [port("t", (2, 40))],
        initializer=[numpy_helper.from_array(BIG[:1], "small")],
    )
    inner.initializer.append(numpy_helper.from_array(floats(10, 2, 40, seed=2)[0], "inside"))
    inner.initializer.append(numpy_helper.from_array(floats(20, 40, seed=3), "unused"))
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(BIG)),
        helper.make_node("MatMul", ["x", "plain"], ["p"]),
        helper.make_node("MatMul", ["p", "c"], ["q"]),
        helper.make_node("MatMul", ["q", "raw"], ["h"]),
        helper.make_node("If", ["go"], ["s"], then_branch=inner, else_branch=inner),
        helper.make_node("Softmax", ["s"], ["y"], axis=0),
    ]
    model = samples.model(
        nodes,
        [port("x", (2, 40)), port("go", (), TensorProto.BOOL)],
        [port("y", (2, 40))],
        [plain, half, long, double, words, numpy_helper.from_array(BIG, "raw")],
        opset=11,
    )
    values, places = floats(400, seed=4), np.arange(400, dtype=np.int64) * 2
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(
            numpy_helper.from_array(values, "thin"), numpy_helper.from_array(places, "at"), [1600]
        )
    )
    return model


def tensors_of(model):
    return {tensor.name: tensor for tensor in model.graph.initializer}


def test_a_skeleton_is_small_and_becomes_the_same_model_again(tmp_path):
    model = large_model()
    origin, target = tmp_path / "model.onnx", tmp_path / "again.onnx"
    origin.write_bytes(model.SerializeToString())
    skeleton = weights.read(origin)
    assert len(skeleton.SerializeToString()) < 20_000 < origin.stat().st_size
    weights.write(skeleton, origin, target)
    assert onnx.load(target) == model


def test_a_converted_skeleton_gets_its_weights_back(tmp_path):
    model = large_model()
    origin, target = tmp_path / "model.onnx", tmp_path / "new.onnx"
    origin.write_bytes(model.SerializeToString())
    weights.write(convert(weights.read(origin), 26).model, origin, target)
    made = onnx.load(target)
    assert tensors_of(made) == tensors_of(model)
    feeds = {"x": floats(2, 40, seed=5), "go": np.array(True)}
    close(run(made, feeds), run(convert(model, 26).model, feeds))


def test_external_data_stay_where_they_are(tmp_path):
    model = old("MatMul", 9, {"x": floats(2, 40), "w": BIG}, constants={"w": BIG})
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin")
    before = (tmp_path / "w.bin").read_bytes()
    skeleton = weights.read(tmp_path / "m.onnx")
    weights.write(convert(skeleton, 26).model, tmp_path / "m.onnx", tmp_path / "n.onnx")
    made = onnx.load(tmp_path / "n.onnx", load_external_data=False)
    assert external_data_helper.uses_external_data(made.graph.initializer[0])
    assert (tmp_path / "w.bin").read_bytes() == before
    loaded = onnx.load(tmp_path / "n.onnx")
    np.testing.assert_array_equal(numpy_helper.to_array(loaded.graph.initializer[0]), BIG)


def test_a_file_that_shrank_meanwhile_is_not_filled_up(tmp_path):
    origin = tmp_path / "model.onnx"
    origin.write_bytes(large_model().SerializeToString())
    skeleton = weights.read(origin)
    with origin.open("r+b") as file:
        file.truncate(3000)
    with pytest.raises(ValueError, match="ends before its values do"):
        weights.write(skeleton, origin, tmp_path / "again.onnx")


def test_an_existing_file_is_never_overwritten(tmp_path):
    origin = tmp_path / "model.onnx"
    origin.write_bytes(large_model().SerializeToString())
    with pytest.raises(FileExistsError):
        weights.write(weights.read(origin), origin, origin)
