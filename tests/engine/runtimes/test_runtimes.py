"""Runtimes behind one face: what goes in, what comes out, and how each says no."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import op_run

from hub.protocol.vocabularies import REFERENCE
from runners.engine import runtimes
from runners.engine.runtimes import onnx_reference, probing, windows
from tests import samples
from tests.engine.opset_models import floats, old

INSTALLED = [name for name in runtimes.names() if name in {"onnxruntime", "onnx-reference"}]


@pytest.fixture(params=INSTALLED)
def runtime(request):
    return runtimes.of(request.param)


@pytest.fixture
def save(tmp_path):
    def write(model, **beside):
        path = tmp_path / "model.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        for name, content in beside.items():
            (tmp_path / name).write_bytes(content)
        return path

    return write


def cast(source, target):
    return samples.model(
        [samples.node("Cast", ["x"], ["m"], to=target), samples.node("Identity", ["m"], ["y"])],
        [samples.value("x", source, (2, "n"))],
        [samples.value("y", target, (2, "n"))],
        opset=21,
        ir=10,
    )


def test_the_default_environment_has_both():
    assert INSTALLED == ["onnxruntime", "onnx-reference"]


@pytest.mark.parametrize("name", ["tensorflow", "openvino"])
def test_a_runtime_that_is_not_here_is_missing(monkeypatch, name):
    monkeypatch.setitem(runtimes._MODULES, "openvino", ("openvino_cpu", "no_such_package"))
    assert name not in runtimes.names()
    with pytest.raises(runtimes.MissingRuntimeError, match=name):
        runtimes.of(name)


def test_asking_for_names_imports_nothing():
    before = set(sys.modules)
    runtimes.names()
    assert not {name for name in set(sys.modules) - before if "openvino" in name}


def test_a_model_runs_and_inner_values_can_be_asked_for(runtime, save):
    path = save(samples.mlp())
    x = np.ones((2, 4), np.float32)
    (y,) = runtime.open(path)({"x": x})
    assert y.shape == (2, 3)
    assert y.sum(axis=1) == pytest.approx([1, 1])
    hidden, logits = runtime.open(path, outputs=["r", "logits"])({"x": x})
    assert (hidden.shape, logits.shape) == ((2, 8), (2, 3))
    assert hidden.min() >= 0
    unoptimised = runtime.open(path, optimise=False)({"x": x})
    assert unoptimised[0] == pytest.approx(y, rel=1e-5)


def test_external_data_is_found_beside_and_elsewhere(runtime, save, tmp_path):
    files = samples.with_external_data()
    path = save(files["model.onnx"], **{"weights.bin": files["weights.bin"]})
    x = np.eye(4, dtype=np.float32)[:1]
    for options in ({}, {"outputs": ["y"]}):
        assert runtime.open(path, **options)({"x": x})[0].tolist() == [[0, 1, 2, 3]]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    other = moved / "model.onnx"
    other.write_bytes(files["model.onnx"])
    assert runtime.open(other, folder=tmp_path)({"x": x})[0].tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    "word",
    ["BFLOAT16", "FLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4", "DOUBLE", "BOOL"],
)
def test_every_element_type_goes_in_and_comes_out(runtime, save, word):
    kind = TensorProto.DataType.Value(word)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    for options in ({}, {"outputs": ["m"]}):
        (made,) = runtime.open(save(cast(TensorProto.FLOAT, kind)), **options)({"x": numbers})
        assert (made.dtype, made.tolist()) == (dtype, numbers.astype(dtype).tolist())
    (back,) = runtime.open(save(cast(kind, TensorProto.FLOAT)))({"x": numbers.astype(dtype)})
    assert (back.dtype, back.tolist()) == (np.float32, numbers.astype(dtype).astype(float).tolist())


def test_bfloat16_keeps_what_float16_could_not_hold(save):
    (made,) = runtimes.of("onnxruntime").open(save(cast(1, TensorProto.BFLOAT16)))(
        {"x": np.full((2, 1), 1e30, np.float32)}
    )
    assert made.dtype == ml_dtypes.bfloat16
    assert float(made[0, 0]) == pytest.approx(1e30, rel=1e-2)


def test_text_sequences_and_maps(runtime, save):
    text = samples.model(
        [samples.node("Identity", ["x"], ["y"])],
        [samples.value("x", TensorProto.STRING)],
        [samples.value("y", TensorProto.STRING)],
    )
    (y,) = runtime.open(save(text))({"x": np.array(["ä", "b"], object)})
    assert (y.dtype, y.tolist()) == (object, ["ä", "b"])
    label, scores = runtime.open(save(samples.zip_map()))({"x": np.ones((1, 2), np.float32)})
    assert isinstance(scores[0], dict)
    assert int(label[0]) in scores[0]
    sequence = samples.model(
        [samples.node("SplitToSequence", ["x"], ["y"])],
        outputs=[helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)],
    )
    (parts,) = runtime.open(save(sequence))({"x": np.arange(2, dtype=np.float32)})
    assert [part.tolist() for part in parts] == [[0], [1]]


def test_both_runtimes_give_the_same_map(save):
    path = save(samples.zip_map())
    x = np.array([[0.5, -1.0]], np.float32)
    sides = [runtimes.of(name).open(path)({"x": x})[1] for name in INSTALLED]
    assert sides[0][0].keys() == sides[1][0].keys()
    for key, score in sides[0][0].items():
        assert sides[1][0][key] == pytest.approx(score, rel=1e-5)


def test_sparse_weights_and_the_long_name_of_the_default_domain(runtime, save):
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [5.0])
    places = helper.make_tensor("places", TensorProto.INT64, [1], [2])
    model = samples.model([samples.node("Add", ["x", "w"], ["y"])], opset=13)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    (y,) = runtime.open(save(model))({"x": np.zeros(3, np.float32)})
    assert y.tolist() == [0, 0, 5]
    model = samples.model([samples.node("Relu", ["x"], ["y"])])
    model.opset_import[0].domain = "ai.onnx"
    (y,) = runtime.open(save(model))({"x": np.array([-1, 1], np.float32)})
    assert y.tolist() == [0, 1]


def test_an_unknown_operator_is_unsupported(runtime, save):
    model = samples.model(
        [samples.node("Frobnicate", ["x"], ["y"], domain="com.acme")], domains=[("com.acme", 1)]
    )
    with pytest.raises(runtimes.UnsupportedModelError, match="Frobnicate"):
        runtime.open(save(model))


def test_a_broken_model_is_refused_but_not_as_unsupported(save):
    model = samples.model([samples.node("Relu", ["nowhere"], ["y"])])
    with pytest.raises(runtimes.LoadError) as refusal:
        runtimes.of("onnxruntime").open(save(model))
    assert not isinstance(refusal.value, runtimes.UnsupportedModelError)


def test_the_highest_versions_are_found_by_trying(monkeypatch):
    opset, ir_version = probing.highest("onnxruntime")
    assert 20 <= opset <= onnx.defs.onnx_opset_version()
    assert 10 <= ir_version <= onnx.IR_VERSION
    assert probing.highest("onnx-reference") == (
        onnx.defs.onnx_opset_version(),
        int(onnx.IR_VERSION),
    )

    class Old:
        name, optimises = "old", False

        def open(self, path, **_):
            model = onnx.load(str(path))
            if model.opset_import[0].version > 12 or model.ir_version > 7:
                raise runtimes.LoadError("too new")
            return lambda values: [np.maximum(values["x"], 0)]

    monkeypatch.setattr(runtimes, "of", lambda _: Old())
    assert probing.highest("old") == (12, 7)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("length", [5, 40])
def test_elements_are_gathered_by_indices_shorter_than_the_data(runtime, save, axis, length):
    """Rows of more than 32 values too, of which the reference took one index each."""
    data = np.arange(3 * length, dtype=np.float32).reshape(3, length)
    indices = np.array([[0, 2], [-1, 1]])
    model = samples.model(
        [samples.node("GatherElements", ["x", "i"], ["y"], axis=axis)],
        [samples.value("x", shape=(3, length)), samples.value("i", TensorProto.INT64, (2, 2))],
        [samples.value("y", shape=(2, 2))],
    )
    (value,) = runtime.open(save(model))({"x": data, "i": indices})
    expected = [
        [data[i, k] if axis == 0 else data[row, i] for k, i in enumerate(line)]
        for row, line in enumerate(indices)
    ]
    assert value.tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("shape", [(2, 3, 7), (2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_the_greatest_of_a_channel_is_pooled_in_signals_pictures_and_volumes(runtime, save, shape):
    pooled = (2, 3, *[1] * (len(shape) - 2))
    model = samples.model(
        [samples.node("GlobalMaxPool", ["x"], ["y"])],
        [samples.value("x", shape=shape)],
        [samples.value("y", shape=pooled)],
    )
    x = np.random.default_rng(3).standard_normal(shape, dtype=np.float32)
    (value,) = runtime.open(save(model))({"x": x})
    assert value.shape == pooled
    assert value.ravel().tolist() == x.reshape(2, 3, -1).max(axis=2).ravel().tolist()


@pytest.mark.parametrize("opset", [7, 8, 9, 11, 13, 14, 15])
@pytest.mark.parametrize("attributes", [{}, {"momentum": 0.9}])
def test_batches_are_normalised_by_the_statistics_of_the_file(runtime, save, opset, attributes):
    given = {name: samples.value(name, shape=(3,)) for name in "sbmv"}
    model = samples.model(
        [samples.node("BatchNormalization", ["x", *given], ["y"], **attributes)],
        [samples.value("x", shape=(2, 3, 4, 4)), *given.values()],
        [samples.value("y", shape=(2, 3, 4, 4))],
        opset=opset,
    )
    random = np.random.default_rng(5)
    x = random.standard_normal((2, 3, 4, 4), dtype=np.float32)
    s, b, m, v = random.uniform(0.5, 2, (4, 3)).astype(np.float32)
    (value,) = runtime.open(save(model))({"x": x, "s": s, "b": b, "m": m, "v": v})
    expected = (x.transpose(0, 2, 3, 1) - m) / np.sqrt(v + 1e-5) * s + b
    np.testing.assert_allclose(value, expected.transpose(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


def test_a_batch_normalization_that_trains_is_unsupported(save):
    names = ["s", "b", "m", "v"]
    model = samples.model(
        [samples.node("BatchNormalization", ["x", *names], ["y", "om", "ov", "sm", "sv"])],
        [samples.value("x", shape=(2, 3)), *(samples.value(name, shape=(3,)) for name in names)],
        [samples.value("y", shape=(2, 3))],
        opset=9,
    )
    with pytest.raises(runtimes.UnsupportedModelError, match="outputs for training"):
        runtimes.of("onnx-reference").open(save(model))


@pytest.mark.parametrize("kernel", [(1,), (3,), (2, 3), (3, 3), (2, 1, 3)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [None, 1, 2])
@pytest.mark.parametrize("pads", [(0, 0), (1, 1), (2, 0)])
def test_columns_of_a_convolution_are_those_of_the_reference(kernel, stride, dilation, pads):
    count = len(kernel)
    inputs = np.random.default_rng(7).standard_normal((2, 3, *[6] * count), dtype=np.float32)
    sides = [pads[0]] * count + [pads[1]] * count
    steps = None if dilation is None else [dilation] * count
    arguments = (inputs, kernel, sides, [stride] * count, steps)
    columns, sizes = windows.columns_of_windows(*arguments)
    expected, expected_sizes = windows.PLAIN_COLUMNS(*arguments)
    assert sizes == expected_sizes
    np.testing.assert_array_equal(columns, expected)


def test_a_kernel_larger_than_the_input_is_left_to_the_reference():
    inputs = np.zeros((1, 1, 2, 2), np.float32)
    arguments = (inputs, (4, 4), [0] * 4, [1, 1])
    with pytest.raises(ValueError, match="negative"):
        windows.PLAIN_COLUMNS(*arguments)
    with pytest.raises(ValueError, match="negative"):
        windows.columns_of_windows(*arguments)


@pytest.mark.parametrize("kernel", [(1,), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("pads", [(0, 0), (1, 1), (2, 0), (-1, 0)])
def test_sums_of_a_transposed_convolution_are_those_of_the_reference(
    kernel, stride, dilation, pads
):
    count = len(kernel)
    spans = [(size - 1) * dilation + 1 for size in kernel]
    shape = [4 * stride + span - sum(pads) for span in spans]
    columns = np.random.default_rng(7).standard_normal((int(np.prod(kernel)), 5**count))
    columns = columns.astype(np.float32)
    sides = [pads[0]] * count + [pads[1]] * count
    arguments = (columns, shape, kernel, [dilation] * count, sides, [stride] * count)
    np.testing.assert_array_equal(
        windows.sums_of_windows(*arguments), windows.PLAIN_SUMS(*arguments)
    )


def test_columns_that_do_not_fit_an_image_are_left_to_the_reference():
    arguments = (np.zeros((4, 9), np.float32), (3, 3), (2, 2), (1, 1), [0] * 4, (1, 1))
    with pytest.raises(ValueError, match="sliding blocks"):
        windows.sums_of_windows(*arguments)


def turned(axis, opset):
    nodes = [
        samples.node("Transpose", ["x"], ["m"]),
        samples.node("Concat", ["m"], ["l"], axis=axis),
        samples.node("Transpose", ["l"], ["y"]),
    ]
    ports = [samples.value(name, TensorProto.FLOAT, ("m", "n")) for name in "xy"]
    return samples.model(nodes, ports[:1], ports[1:], opset=opset, ir=10)


@pytest.mark.parametrize(("axes", "computed"), [((0, 0), 3), ((0, 1), 4)])
def test_a_node_of_two_models_is_computed_once(monkeypatch, save, axes, computed):
    ran = []
    plain = op_run.OpRun.run
    monkeypatch.setattr(
        op_run.OpRun, "run", lambda node, *values: ran.append(node) or plain(node, *values)
    )
    reference = runtimes.of("onnx-reference")
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    with onnx_reference.nodes_once():
        for axis, opset in zip(axes, (18, 20), strict=True):
            (output,) = reference.open(save(turned(axis, opset)))(inputs)
            np.testing.assert_array_equal(output, inputs["x"])
    # Along another axis the one input of Concat is the same, and so is that of the last node.
    assert len(ran) == computed


def test_equal_nodes_of_other_inputs_and_random_ones_are_computed_again(save):
    reference = runtimes.of("onnx-reference")
    ports = [samples.value(name, TensorProto.FLOAT, ("m", "n")) for name in "xy"]
    random = samples.model(
        [samples.node("RandomUniformLike", ["x"], ["y"])], ports[:1], ports[1:], opset=21, ir=10
    )
    ones = np.ones((2, 4), np.float32)
    with onnx_reference.nodes_once():
        run = reference.open(save(turned(0, 21)))
        for value in (ones, 2 * ones, ones.reshape(4, 2), ones.view(np.int32)):
            np.testing.assert_array_equal(run({"x": value})[0], value)
        draw = reference.open(save(random))
        assert (draw({"x": ones})[0] != draw({"x": ones})[0]).any()


@pytest.mark.parametrize(
    ("shape", "attributes", "column"),
    [
        ((3,), {"broadcast": 1, "axis": 1}, (3, 1)),
        ((3, 4), {"broadcast": 1, "axis": -2}, (3, 4)),
        ((4,), {"broadcast": 1}, (4,)),
        ((2, 3, 4), {}, (2, 3, 4)),
    ],
)
@pytest.mark.parametrize(("op", "compute"), [("Sub", np.subtract), ("Less", np.less)])
def test_inputs_are_aligned_by_an_axis_before_opset_7(save, op, compute, shape, attributes, column):
    x, s = floats(2, 3, 4), floats(*shape)
    kind = TensorProto.BOOL if op == "Less" else TensorProto.FLOAT
    model = old(op, 6, {"x": x, "s": s}, kind=kind, **attributes)
    [y] = runtimes.of(REFERENCE).open(save(model))({"x": x, "s": s})
    assert (y == compute(x, s.reshape(column))).all()


def test_inputs_of_unequal_shapes_are_refused_without_broadcast_before_opset_7(save):
    feeds = {"x": floats(2, 3), "s": floats(3)}
    run = runtimes.of(REFERENCE).open(save(old("Add", 6, feeds)))
    with pytest.raises(TypeError):
        run(feeds)
