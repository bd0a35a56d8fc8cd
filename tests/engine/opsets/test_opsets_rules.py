"""Each rule against what the operator of the old set is defined to give, or gave in the runtime."""

from __future__ import annotations

import importlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from runners.engine.opsets import convert
from tests.engine.opset_models import close, converted, floats, old, run

X = floats(2, 3, 4)


def coerced(x, axis, how):
    """Do what Softmax, LogSoftmax and Hardmax meant up to opset 12: over all axes from one on."""
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
    if how == "Hardmax":
        made = (np.arange(rows.shape[1]) == rows.argmax(1)[:, None]).astype(x.dtype)
    else:
        raised = np.exp(rows - rows.max(1, keepdims=True))
        made = raised / raised.sum(1, keepdims=True)
        made = np.log(made) if how == "LogSoftmax" else made
    return made.reshape(x.shape)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("source", [7, 11])
def test_softmax_family_over_all_axes_from_one_on(op, axis, source):
    given = {} if axis is None else {"axis": axis}
    model = old(op, source, {"x": X}, **given)
    expected = coerced(X, 1 if axis is None else axis, op)
    for target in (13, 26):
        made = converted(model, target, by=["softmax-flattened"])
        close(run(made, {"x": X}), [expected])


def test_softmax_family_needs_no_known_rank():
    model = old("Hardmax", 11, {"x": X}, axis=1)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    made = converted(model, 26, by=["softmax-flattened"])
    close(run(made, {"x": X}), [coerced(X, 1, "Hardmax")])


ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
COMPARISONS = {"Less": np.less, "Greater": np.greater}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, *LOGIC, "Pow", "Equal"])
@pytest.mark.parametrize(("axis", "shape"), [(0, (2,)), (1, (3,)), (1, (3, 4)), (None, (4,))])
def test_second_input_laid_along_an_axis(op, axis, shape):
    left, right = X, floats(*shape, seed=1)
    kind = TensorProto.BOOL
    if op in LOGIC:
        left, right = left > 0, right > 0
    elif op == "Equal":
        left, right = np.rint(left).astype(np.int64), np.rint(right).astype(np.int64)
    elif op == "Pow":
        left = np.abs(left) + 1
    if op in ARITHMETIC or op == "Pow":
        kind = TensorProto.FLOAT
    how = {**ARITHMETIC, **COMPARISONS, **LOGIC, "Pow": np.power, "Equal": np.equal}[op]
    placed = {} if axis is None else {"axis": axis}
    model = old(op, 6, {"a": left, "b": right}, kind=kind, broadcast=1, **placed)
    spread = right if axis is None else right.reshape(shape + (1,) * (3 - axis - len(shape)))
    made = converted(model, 26, by=["broadcast-axis"])
    close(run(made, {"a": left, "b": right}), [how(left, spread)])


def test_an_unknown_rank_blocks_an_axis_and_nothing_else():
    model = old("Add", 6, {"a": X, "b": floats(3)}, broadcast=1, axis=1)
    model.graph.input[1].type.tensor_type.ClearField("shape")
    (blocking,) = convert(model, 26).blocking
    assert (blocking.node, blocking.op, blocking.source) == ("the_node", "Add", 6)
    assert "rank of 'b'" in blocking.reason


def test_slope_of_prelu_lies_along_channels():
    slope = floats(3, seed=1)
    made = converted(old("PRelu", 6, {"x": X, "s": slope}), 26, by=["slope-per-channel"])
    expected = np.where(X < 0, X * slope.reshape(3, 1), X)
    close(run(made, {"x": X, "s": slope}), [expected])


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_nodes_lose_the_attribute_about_their_outputs(op, gates):
    feeds = {
        "x": floats(5, 2, 3),
        "w": floats(1, gates * 4, 3, seed=1),
        "r": floats(1, gates * 4, 4, seed=2),
    }
    expected = run(old(op, 14, feeds, hidden_size=4), feeds)
    for source in (3, 6):
        model = old(op, source, feeds, hidden_size=4, output_sequence=1)
        made = converted(model, 26, by=["sequence-always-given"])
        close(run(made, feeds), expected)


def test_cast_names_its_type_by_number():
    model = old("Cast", 5, {"x": X}, kind=TensorProto.INT64, to="INT64")
    made = converted(model, 26, by=["cast-by-number"])
    close(run(made, {"x": X}), [X.astype(np.int64)])
    (blocking,) = convert(old("Cast", 5, {"x": X}, to="FLOAT99"), 26).blocking
    assert "FLOAT99" in blocking.reason


def test_tile_along_one_axis():
    constants = {"times": np.array([3], np.int64), "axis": np.array([1], np.int64)}
    model = old("Tile", 5, {"x": X, **constants}, constants=constants)
    made = converted(model, 26, by=["tile-by-repeats"])
    close(run(made, {"x": X}), [np.tile(X, (1, 3, 1))])
    (blocking,) = convert(old("Tile", 5, {"x": X, **constants}), 26).blocking
    assert "not a constant" in blocking.reason


def test_reshape_by_input():
    model = old("Reshape", 4, {"x": X}, shape=[0, -1], consumed_inputs=[0, 0])
    made = converted(model, 26, by=["reshape-by-input"])
    close(run(made, {"x": X}), [X.reshape(2, 12)])


def test_pad_and_split_of_the_first_set():
    model = old("Pad", 1, {"x": X}, paddings=[0, 0, 1, 0, 0, 2], value=7.0)
    expected = np.pad(X, ((0, 0), (0, 0), (1, 2)), constant_values=7.0)
    close(run(converted(model, 26, by=["pads-renamed"]), {"x": X}), [expected])

    model = old("Split", 1, {"x": X}, outputs=2, axis=2, split=[1, 3])
    made = converted(model, 26, by=["split-axis"])
    close(run(made, {"x": X}), np.split(X, [1], axis=2))
    (blocking,) = convert(old("Split", 1, {"x": X}, outputs=2), 26).blocking
    assert "no default" in blocking.reason


def test_power_of_lp_pool_is_a_whole_number():
    x = floats(1, 2, 6)
    expected = np.sqrt((x**2).reshape(1, 2, 3, 2).sum(-1))
    model = old("LpPool", 1, {"x": x}, kernel_shape=[2], strides=[2], p=2.0)
    close(run(converted(model, 26, by=["lp-as-integer"]), {"x": x}), [expected])
    (blocking,) = convert(old("LpPool", 1, {"x": x}, kernel_shape=[2], p=2.5), 26).blocking
    assert "2.5" in blocking.reason


@pytest.mark.parametrize("across", [0, 1])
@pytest.mark.parametrize("scaled", [0, 1])
def test_mean_variance_normalization(across, scaled):
    x = floats(2, 3, 4, 5)
    axes = (0, 1, 2, 3) if across else (0, 2, 3)
    expected = x - x.mean(axes, keepdims=True)
    expected = expected / x.std(axes, keepdims=True) if scaled else expected
    model = old(
        "MeanVarianceNormalization",
        8,
        {"x": x},
        across_channels=across,
        normalize_variance=scaled,
    )
    close(run(converted(model, 26, by=["mvn-axes"]), {"x": x}), [expected])


WRITTEN_OUT = {
    "Affine": ({"alpha": 2.0, "beta": 0.5}, lambda x: 2 * x + 0.5, "affine-written-out"),
    "Scale": ({"scale": 3.0}, lambda x: 3 * x, "scale-written-out"),
    "ScaledTanh": (
        {"alpha": 2.0, "beta": 0.5},
        lambda x: 2 * np.tanh(x / 2),
        "scaled-tanh-written-out",
    ),
    "ParametricSoftplus": (
        {"alpha": 2.0, "beta": 0.5},
        lambda x: 2 * np.log1p(np.exp(x / 2)),
        "parametric-softplus-written-out",
    ),
    "ImageScaler": (
        {"scale": 2.0, "bias": [1.0, 2.0, 3.0]},
        lambda x: 2 * x + np.array([1, 2, 3], np.float32).reshape(3, 1, 1),
        "image-scaler-written-out",
    ),
    "Crop": ({"border": [1, 2, 0, 1]}, lambda x: x[:, :, 2:-1, 1:], "crop-as-slice"),
}


@pytest.mark.parametrize("op", WRITTEN_OUT)
@pytest.mark.parametrize("source", [7, 11])
def test_operators_that_left_every_set(op, source):
    x = floats(1, 3, 6, 7)
    attributes, how, name = WRITTEN_OUT[op]
    made = converted(old(op, source, {"x": x}, **attributes), 26, by=[name])
    close(run(made, {"x": x}), [how(x).astype(np.float32)])


def test_crop_to_a_size():
    x = floats(1, 3, 6, 7)
    model = old("Crop", 7, {"x": x}, border=[1, 2, 0, 0], scale=[3, 4])
    made = converted(model, 26, by=["crop-as-slice"])
    close(run(made, {"x": x}), [x[:, :, 2:5, 1:5]])


def test_dynamic_slice():
    bounds = {
        "starts": np.array([0, 1], np.int64),
        "ends": np.array([1, -1], np.int64),
        "axes": np.array([0, 2], np.int64),
    }
    made = converted(old("DynamicSlice", 9, {"x": X, **bounds}), 26, by=["dynamic-slice-as-slice"])
    close(run(made, {"x": X, **bounds}), [X[0:1, :, 1:-1]])


def test_thresholded_relu():
    model = old("ThresholdedRelu", 7, {"x": X}, alpha=0.5)
    made = converted(model, 26, by=["thresholded-relu-carried"])
    close(run(made, {"x": X}), [np.where(X > 0.5, X, 0)])


def test_an_operator_of_no_set_is_named():
    (blocking,) = convert(old("ATen", 9, {"x": X}), 26).blocking
    assert (blocking.op, blocking.reason) == ("ATen", "no operator set defines it")


SCALES = ([1, 1, 2, 2], [1, 1, 0.6, 0.5], [1, 1, 1.5, 0.6], [1, 1, 2.7, 1])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("known", [True, False])
def test_resize_finds_the_places_it_found_before(mode, scales, known):
    """The definition left rounding open: what counts is what the runtime made of it."""
    feeds = {"x": floats(1, 2, 5, 6), "s": np.array(scales, np.float32)}
    constants = {"s": feeds["s"]} if known else {}
    model = old("Resize", 10, feeds, constants=constants, mode=mode)
    made = converted(model, 26, by=["resize-asymmetric", "resize-one-measure"])
    close(run(made, feeds), run(model, feeds))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_finds_the_places_it_found_before(mode):
    feeds = {"x": floats(1, 2, 3, 4)}
    model = old("Upsample", 7, feeds, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])
    by = ["resize-asymmetric", "resize-one-measure", "upsample-as-resize"]
    close(run(converted(model, 26, by=by), feeds), run(model, feeds))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 20, 24, 25, 32])
def test_resize_that_shrinks_one_axis_moves_positions_of_another_that_keeps_its_size(size, known):
    """Below 25, `floor(size * 1.04)` is the size, but position 1 reads position 0."""
    feeds = {"x": floats(1, 2, size, size), "s": np.array([1, 1, 0.5, 1.04], np.float32)}
    constants = {"s": feeds["s"]} if known else {}
    model = old("Resize", 10, feeds, constants=constants, mode="nearest")
    made = converted(model, 26, by=["resize-asymmetric", "resize-one-measure"])
    np.testing.assert_array_equal(run(made, feeds)[0], run(model, feeds)[0])


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("op", "scales"),
    [
        ("Upsample", [1, 1, 1, 1.25]),
        ("Upsample", [1, 1, 1.25, 1.25]),
        ("Resize", [1, 1, 1, 1.25]),
        ("Resize", [1, 1, 1.25, 1.25]),
        ("Resize", [1, 1, 0.5, 1.25]),
    ],
)
def test_resize_by_scales_that_are_not_known_returns_its_input_where_it_did(op, scales, size):
    feeds = {"x": floats(1, 2, size, size), "s": np.array(scales, np.float32)}
    model = old(op, 9 if op == "Upsample" else 10, feeds, mode="nearest")
    by = ["resize-asymmetric", "resize-one-measure"]
    made = converted(model, 26, by=by + ["upsample-as-resize"] * (op == "Upsample"))
    np.testing.assert_array_equal(run(made, feeds)[0], run(model, feeds)[0])


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_products_of_attention_are_the_same_or_refused(causal, mode):
    feeds = {
        "q": floats(2, 3, 4, 8),
        "k": floats(2, 3, 6, 8, seed=1),
        "v": floats(2, 3, 6, 8, seed=2),
    }
    settings = {"is_causal": causal, "qk_matmul_output_mode": mode}
    model = old("Attention", 23, feeds, outputs=4, ir=11, **settings)
    model.graph.node[0].output[1] = model.graph.node[0].output[2] = ""
    del model.graph.output[1:3]
    conversion = convert(model, 26)
    if causal and mode == 2:
        assert "another mask" in conversion.blocking[0].reason
        del model.graph.output[1]
        conversion = convert(model, 26)
    close(run(conversion.model, feeds), run(model, feeds))


@pytest.mark.parametrize("opset", [7, 9, 10, 11])
def test_a_mask_of_dropout_keeps_its_values_and_its_type(opset):
    model = old("Dropout", opset, {"x": X}, outputs=2, ratio=0.3)
    model.graph.output[1].type.tensor_type.elem_type = (
        TensorProto.BOOL if opset >= 10 else TensorProto.FLOAT
    )
    made = converted(model, 26, by=["mask-of-inference"])
    for new, before in zip(run(made, {"x": X}), run(model, {"x": X}), strict=True):
        assert new.dtype == before.dtype
        np.testing.assert_array_equal(new, before)


def test_a_mask_of_dropout_that_nothing_reads_is_left_out():
    model = old("Dropout", 9, {"x": X}, outputs=2)
    del model.graph.output[1]
    made = converted(model, 26, by=["mask-of-inference"])
    assert {node.op_type for node in made.graph.node} == {"Constant", "Dropout"}
    close(run(made, {"x": X}), [X])


def test_resize_by_sizes_leaves_scales_out():
    constants = {
        "roi": np.zeros(0, np.float32),
        "scales": np.zeros(0, np.float32),
        "sizes": np.array([1, 2, 7, 3], np.int64),
    }
    feeds = {"x": floats(1, 2, 5, 6), **constants}
    model = old("Resize", 11, feeds, constants=constants, mode="cubic")
    made = converted(model, 26, by=["resize-one-measure"])
    close(run(made, feeds), run(model, feeds))
    assert "scales" not in {tensor.name for tensor in made.graph.initializer}


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("known", [True, False])
def test_group_scales_become_channel_scales(groups, known):
    feeds = {"x": floats(2, 4, 3), "s": floats(groups, seed=1), "b": floats(groups, seed=2)}
    model = old("GroupNormalization", 18, feeds, num_groups=groups)
    if not known:
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "C"
    parts = feeds["x"].reshape(2, groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    expected = parts * feeds["s"].reshape(1, -1, 1) + feeds["b"].reshape(1, -1, 1)
    made = converted(model, 26, by=["group-scale-per-channel"])
    close(run(made, feeds), [expected.reshape(2, 4, 3).astype(np.float32)])


@pytest.mark.parametrize("source", [10, 13, 19, 20])
def test_quantising_leaves_the_type_to_the_zero_point(source):
    feeds = {"x": X, "s": np.array(0.1, np.float32), "z": np.array(3, np.int8)}
    model = old("QuantizeLinear", source, feeds, kind=TensorProto.INT8)
    by = ["quantising-carried", *(["one-scale-is-scalar"] if source < 13 else [])]
    made = converted(model, 26, by=by)
    # The converter alone writes an output_dtype, which inside a Scan is the wrong one.
    assert not made.graph.node[0].attribute
    close(run(made, feeds), [np.clip(np.rint(X / 0.1) + 3, -128, 127).astype(np.int8)])


@pytest.mark.parametrize("known", [True, False])
def test_a_list_of_one_scale_stays_one_for_all(known):
    feeds = {"x": X, "s": np.array([0.1], np.float32), "z": np.array([3], np.uint8)}
    constants = {name: feeds[name] for name in "sz"} if known else {}
    model = old("QuantizeLinear", 10, feeds, constants=constants, kind=TensorProto.UINT8)
    made = converted(model, 26, by=["one-scale-is-scalar", "quantising-carried"])
    close(run(made, feeds), run(model, feeds))
    onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True)


def test_scan_over_a_batch_by_the_operators_own_test():
    """The one node test of Scan-8 that the installed package has."""
    module = importlib.import_module("onnx.backend.test.case.node.scan")
    cases = importlib.import_module("onnx.backend.test.case.node")._NodeTestCases
    case = next(one for one in cases if one.name == "test_scan_sum")
    assert module.Scan
    ((inputs, outputs),) = case.data_sets
    names = [value.name for value in case.model.graph.input]
    made = converted(case.model, 26, by=["scan-over-batch"])
    close(run(made, dict(zip(names, inputs, strict=True))), outputs)


def test_scan_with_lengths_is_blocked():
    body = helper.make_graph([], "body", [], [])
    feeds = {"lengths": np.array([1], np.int64), "x": X}
    (blocking,) = convert(old("Scan", 8, feeds, body=body, num_scan_inputs=1), 26).blocking
    assert "length" in blocking.reason


def test_loop_is_carried_over():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "state"], ["state_out"]),
            helper.make_node("Identity", ["going"], ["going_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [2, 3, 4]),
        ],
        [
            helper.make_tensor_value_info("going_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state_out", TensorProto.FLOAT, [2, 3, 4]),
        ],
    )
    feeds = {"count": np.array(3, np.int64), "go": np.array(True), "x": X}
    model = old("Loop", 10, feeds, body=body)
    close(run(converted(model, 26, by=["loop-carried"]), feeds), [X * 8])
