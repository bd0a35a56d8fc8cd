"""Rules that lead down: what the runtime gives before and after, and what has no equal."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from runners.engine.opsets import convert
from tests.engine.opset_models import close, converted, floats, old, run

X = floats(2, 4, 6)
IMAGE = floats(1, 2, 6, 6)
INT64 = TensorProto.INT64


def longs(*values):
    return np.array(values, np.int64)


# (rule, operator, from, to, feeds with constants by upper-case names, attributes, type of output)
CASES = {
    "reshape": ("newer-attribute-left-out", "Reshape", 14, 13, {"x": X, "S": longs(0, -1)}, {}),
    "gather": (
        "newer-attribute-left-out",
        "GatherND",
        12,
        11,
        {"x": X, "i": longs(0, 1).reshape(1, 2)},
        {"batch_dims": 0},
    ),
    "erf": ("newer-attribute-left-out", "Erf", 13, 12, {"x": X}, {}),
    "depth": (
        "newer-attribute-left-out",
        "DepthToSpace",
        11,
        10,
        {"x": floats(1, 4, 2, 2)},
        {"blocksize": 2, "mode": "DCR"},
    ),
    "pool": (
        "newer-attribute-left-out",
        "MaxPool",
        10,
        9,
        {"x": IMAGE},
        {"kernel_shape": [2, 2], "dilations": [1, 1]},
    ),
    "shape": ("shape-then-slice", "Shape", 15, 14, {"x": X}, {"start": -2, "end": 9}, INT64),
    "whole shape": ("shape-then-slice", "Shape", 15, 13, {"x": X}, {}, INT64),
    "constant": ("constant-as-tensor", "Constant", 12, 11, {}, {"value_ints": [1, 2]}, INT64),
    "dropout": (
        "dropout-by-attribute",
        "Dropout",
        12,
        11,
        {"x": X, "R": np.array(0.3, np.float32)},
        {},
    ),
    "pad": (
        "pads-for-all-axes",
        "Pad",
        18,
        17,
        {"x": X, "P": longs(1, 0, 2, 3), "V": np.array(7, np.float32), "A": longs(2, 0)},
        {},
    ),
    "split": ("split-by-sizes", "Split", 18, 17, {"x": X}, {"num_outputs": 3, "axis": 2}),
    "uneven split": ("split-by-sizes", "Split", 18, 17, {"x": floats(5)}, {"num_outputs": 3}),
    "grid": (
        "mode-renamed",
        "GridSample",
        20,
        19,
        {"x": IMAGE, "g": floats(1, 3, 3, 2, seed=1) / 3},
        {"mode": "cubic"},
    ),
    "quantise": (
        "one-scale-is-scalar",
        "QuantizeLinear",
        13,
        12,
        {"x": X, "s": np.array(0.1, np.float32), "z": np.array(3, np.int8)},
        {"axis": 0},
        TensorProto.INT8,
    ),
    "softmax": ("softmax-transposed", "Softmax", 13, 9, {"x": X}, {"axis": 1}),
    "last softmax": ("softmax-transposed", "LogSoftmax", 13, 9, {"x": X}, {}),
    "hardmax": ("softmax-transposed", "Hardmax", 13, 12, {"x": X}, {"axis": 0}),
    "clip": (
        "bounds-as-attributes",
        "Clip",
        11,
        10,
        {"x": X, "L": np.array(-0.5, np.float32)},
        {},
    ),
    "old pad": (
        "pads-as-attributes",
        "Pad",
        11,
        10,
        {"x": X, "P": longs(0, 0, 1, 0, 1, 0), "V": np.array(7, np.float32)},
        {},
    ),
    "slice": (
        "slice-by-attributes",
        "Slice",
        10,
        9,
        {"x": X, "S": longs(0, 1), "E": longs(2, -1), "A": longs(1, 2), "T": longs(1, 1)},
        {},
    ),
    "gemm": ("zero-added", "Gemm", 11, 10, {"a": X[0], "b": floats(6, 3)}, {}),
    "resize": (
        "resize-all-measures",
        "Resize",
        13,
        11,
        {"x": IMAGE, "": None, "C": np.array([1, 1, 2, 0.5], np.float32)},
        {"mode": "linear"},
    ),
}


def build(op, source, feeds, attributes, kind=TensorProto.FLOAT):
    given = {name: array for name, array in feeds.items() if name}
    constants = {name: array for name, array in given.items() if name.isupper()}
    outputs = attributes.get("num_outputs", 1)
    model = old(
        op, source, given, constants=constants, outputs=outputs, kind=kind, ir=8, **attributes
    )
    del model.graph.node[0].input[:]
    model.graph.node[0].input.extend(feeds)
    return model, given


@pytest.mark.parametrize("name", CASES)
def test_the_older_form_gives_the_same(name):
    rule, op, source, target, feeds, attributes, *kind = CASES[name]
    model, given = build(op, source, feeds, attributes, *kind)
    made = converted(model, target, by=[rule])
    close(run(made, given), run(model, given))


def test_top_k_by_attribute():
    model, given = build("TopK", 11, {"x": X, "K": longs(2)}, {"largest": 1})
    model.graph.node[0].output.append("places")
    made = converted(model, 9, by=["count-as-attribute", "newer-attribute-left-out"])
    close(run(made, given), run(model, given))


REFUSED = {
    "allowzero": ("Reshape", 14, 13, {"x": X, "S": longs(0, -1)}, {"allowzero": 1}),
    "half_pixel": (
        "RoiAlign",
        16,
        15,
        {"x": IMAGE, "r": floats(1, 4), "b": longs(0)},
        {},
    ),
    "trains": (
        "Dropout",
        12,
        11,
        {"x": X, "R": np.array(0.3, np.float32), "T": np.array(True)},
        {},
    ),
    "wrap": ("Pad", 19, 17, {"x": X, "P": longs(0, 0, 1, 0, 0, 1)}, {"mode": "wrap"}),
    "not a constant": ("Clip", 11, 10, {"x": X, "l": np.array(-0.5, np.float32)}, {}),
    "step": (
        "Slice",
        10,
        9,
        {"x": X, "S": longs(0), "E": longs(4), "A": longs(1), "T": longs(2)},
        {},
    ),
    "each channel": (
        "QuantizeLinear",
        13,
        12,
        {"x": X, "s": np.ones(4, np.float32)},
        {},
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_equal_is_blocked_and_says_why(why):
    op, source, target, feeds, attributes = REFUSED[why]
    model, _ = build(op, source, feeds, attributes)
    done = convert(model, target)
    assert done.model is None
    assert why in done.blocking[0].reason


@pytest.mark.parametrize(
    ("op", "source", "target"), [("Mish", 18, 17), ("Gelu", 20, 13), ("HardSwish", 14, 13)]
)
def test_an_operator_that_is_a_function_is_written_out(op, source, target):
    model = old(op, source, {"x": X}, ir=8)
    model.graph.value_info.append(model.graph.input[0])
    model.graph.value_info[0].name = f"{op}_clash"
    made = converted(model, target, by=["function-written-out"])
    close(run(made, {"x": X}), run(model, {"x": X}))


def test_a_written_out_function_is_not_taken_upwards():
    done = convert(old("Mish", 18, {"x": X}, ir=8), 26)
    assert [node.op_type for node in done.model.graph.node] == ["Mish"]
    assert done.rules == ()


def test_constants_that_are_words():
    model = old("Constant", 12, {}, kind=TensorProto.STRING, value_string="word", ir=8)
    made = converted(model, 11, by=["constant-as-tensor"])
    value = made.graph.node[0].attribute[0].t
    assert numpy_helper.to_array(value).item() == "word"
