"""Models whose upgrade is wrong behind a gate that generated inputs seldom open, built in code.

The gate multiplies the input of `evidence_models.residue` by 0 or 1: while it is closed, every
value inside is equal in both opsets.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests import samples
from tests.engine import evidence_models
from tests.engine.opset_models import port

SHAPE = evidence_models.SHAPE
_WHOLE = TensorProto.INT64


def stored(value, name):
    return numpy_helper.from_array(np.array(value), name)


def _gated(condition, constants=(), *, inputs=(), shape=SHAPE, extra=()):
    """A model whose residue counts where the nodes of ``condition`` make `open` true."""
    nodes = [
        *condition,
        helper.make_node("Cast", ["open"], ["gate"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "gate"], ["seen"]),
    ]
    rest, numbers = evidence_models.residue("seen")
    nodes += [
        *rest,
        helper.make_node("GlobalMaxPool", ["x"], ["usual"]),
        helper.make_node("Add", ["z", "usual"], ["y"]),
        *extra,
    ]
    return samples.model(
        nodes,
        [port("x", shape), *inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [*numbers, *constants],
        opset=10,
    )


def _magnitude(nodes, *constants):
    """A gate on the values of x, of which `value` is one number."""
    return _gated(nodes, constants)


def _above(limit):
    return [helper.make_node("Greater", ["value", "limit"], ["open"])], stored(
        np.float32(limit), "limit"
    )


def above_any_sweep():
    """Open where each value exceeds 1e36."""
    nodes, limit = _above(1e36)
    least = helper.make_node("ReduceMin", ["x"], ["value"], keepdims=0)
    return _magnitude([least, *nodes], limit)


def within_a_narrow_band():
    """Open where the largest value lies from 12345 to 12346."""
    return _magnitude(
        [
            helper.make_node("ReduceMax", ["x"], ["value"], keepdims=0),
            helper.make_node("Greater", ["value", "low"], ["above"]),
            helper.make_node("Less", ["value", "high"], ["below"]),
            helper.make_node("And", ["above", "below"], ["open"]),
        ],
        stored(np.float32(12345), "low"),
        stored(np.float32(12346), "high"),
    )


def of_one_sign():
    """Open where the mean of all values is below -1e5."""
    return _magnitude(
        [
            helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0),
            helper.make_node("Neg", ["mean"], ["value"]),
            helper.make_node("Greater", ["value", "limit"], ["open"]),
        ],
        stored(np.float32(1e5), "limit"),
    )


def of_subnormal_numbers():
    """Open where the largest value is positive and below 1e-39."""
    return _magnitude(
        [
            helper.make_node("ReduceMax", ["x"], ["value"], keepdims=0),
            helper.make_node("Greater", ["value", "nought"], ["above"]),
            helper.make_node("Less", ["value", "high"], ["below"]),
            helper.make_node("And", ["above", "below"], ["open"]),
        ],
        stored(np.float32(0), "nought"),
        stored(np.float32(1e-39), "high"),
    )


def of_equal_values():
    """Open where all values are equal and not 0."""
    return _magnitude(
        [
            helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
            helper.make_node("ReduceMin", ["x"], ["least"], keepdims=0),
            helper.make_node("Sub", ["most", "least"], ["spread"]),
            helper.make_node("Abs", ["most"], ["size"]),
            helper.make_node("Mul", ["size", "tenth"], ["part"]),
            helper.make_node("Less", ["spread", "part"], ["open"]),
        ],
        stored(np.float32(0.1), "tenth"),
    )


def _size(nodes, *constants):
    """A gate on the number of rows of a second input."""
    shape = helper.make_node("Shape", ["rows"], ["sizes"])
    count = helper.make_node("Gather", ["sizes", "first"], ["count"], axis=0)
    numbers = (stored(0, "first"), *constants)
    return _gated([shape, count, *nodes], numbers, inputs=[port("rows", ("n", 2))])


def more_rows_than_swept():
    """Open for more than 5000 rows."""
    node = helper.make_node("Greater", ["count", "limit"], ["open"])
    return _size([node], stored(5000, "limit"))


def exactly_61_rows():
    return _size([helper.make_node("Equal", ["count", "limit"], ["open"])], stored(61, "limit"))


def a_multiple_of_11_rows():
    return _size(
        [
            helper.make_node("Mod", ["count", "eleven"], ["left"]),
            helper.make_node("Equal", ["left", "nought"], ["open"]),
        ],
        stored(11, "eleven"),
        stored(0, "nought"),
    )


def rows_between_33_and_47():
    return _size(
        [
            helper.make_node("Greater", ["count", "low"], ["above"]),
            helper.make_node("Less", ["count", "high"], ["below"]),
            helper.make_node("And", ["above", "below"], ["open"]),
        ],
        stored(33, "low"),
        stored(47, "high"),
    )


def as_many_rows_as_the_square_of_9():
    return _size([helper.make_node("Equal", ["count", "limit"], ["open"])], stored(81, "limit"))


def _integer(nodes, *constants):
    """A gate on an integer input `k` of one element, of which `whole` is the value."""
    scalar = helper.make_node("ReduceMax", ["kf"], ["whole"], keepdims=0)
    cast = helper.make_node("Cast", ["k"], ["kf"], to=TensorProto.DOUBLE)
    return _gated([cast, scalar, *nodes], constants, inputs=[port("k", (1,), _WHOLE)])


def a_timestamp():
    """Open for 1.7e9 and more, as seconds since 1970 are."""
    node = helper.make_node("Greater", ["whole", "limit"], ["open"])
    return _integer([node], stored(np.float64(1.7e9), "limit"))


def beyond_32_bits():
    node = helper.make_node("Greater", ["whole", "limit"], ["open"])
    return _integer([node], stored(np.float64(2.0**40), "limit"))


def far_below_zero():
    node = helper.make_node("Less", ["whole", "limit"], ["open"])
    return _integer([node], stored(np.float64(-(2.0**33)), "limit"))


def a_product_that_overflows():
    """Open where the square of an integer wraps around below 0."""
    nodes = [
        helper.make_node("Mul", ["k", "k"], ["square"]),
        helper.make_node("Cast", ["square"], ["sf"], to=TensorProto.DOUBLE),
        helper.make_node("ReduceMax", ["sf"], ["whole"], keepdims=0),
        helper.make_node("Less", ["whole", "limit"], ["open"]),
    ]
    return _gated(nodes, [stored(np.float64(-1), "limit")], inputs=[port("k", (1,), _WHOLE)])


def one_integer_alone():
    """Open for 123457 alone."""
    return _integer(
        [
            helper.make_node("Greater", ["whole", "low"], ["above"]),
            helper.make_node("Less", ["whole", "high"], ["below"]),
            helper.make_node("And", ["above", "below"], ["open"]),
        ],
        stored(np.float64(123456.5), "low"),
        stored(np.float64(123457.5), "high"),
    )


def for_not_a_number():
    """Open where a second input holds NaN."""
    return _gated(
        [
            helper.make_node("IsNaN", ["rows"], ["is_nan"]),
            helper.make_node("Cast", ["is_nan"], ["nans"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMax", ["nans"], ["some"], keepdims=0),
            helper.make_node("Greater", ["some", "half"], ["open"]),
        ],
        [stored(np.float32(0.5), "half")],
        inputs=[port("rows", ("n", 2))],
    )


def for_infinity():
    return _gated(
        [
            helper.make_node("IsInf", ["rows"], ["is_inf"]),
            helper.make_node("Cast", ["is_inf"], ["infinities"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMax", ["infinities"], ["some"], keepdims=0),
            helper.make_node("Greater", ["some", "half"], ["open"]),
        ],
        [stored(np.float32(0.5), "half")],
        inputs=[port("rows", ("n", 2))],
    )


def for_one_text():
    """Open where a text of the input is `open sesame`, by its place after normalising."""
    normal = helper.make_node(
        "StringNormalizer",
        ["words"],
        ["left"],
        stopwords=["open sesame"],
        case_change_action="NONE",
    )
    return _gated(
        [
            normal,
            helper.make_node("Shape", ["left"], ["sizes"]),
            helper.make_node("Gather", ["sizes", "first"], ["count"], axis=0),
            helper.make_node("Shape", ["words"], ["all_sizes"]),
            helper.make_node("Gather", ["all_sizes", "first"], ["all"], axis=0),
            helper.make_node("Less", ["count", "all"], ["open"]),
        ],
        [stored(0, "first")],
        inputs=[port("words", (4,), TensorProto.STRING)],
    )


def for_ties():
    """Open where the two largest values of a row are equal, other than 0."""
    return _gated(
        [
            helper.make_node("Reshape", ["x", "flat"], ["row"]),
            helper.make_node("TopK", ["row", "two"], ["best", "places"], axis=0),
            helper.make_node("ReduceMax", ["best"], ["most"], keepdims=0),
            helper.make_node("ReduceMin", ["best"], ["next"], keepdims=0),
            helper.make_node("Equal", ["most", "next"], ["same"]),
            helper.make_node("Abs", ["most"], ["large"]),
            helper.make_node("Greater", ["large", "nought"], ["some"]),
            helper.make_node("And", ["same", "some"], ["open"]),
        ],
        [
            stored(np.array([-1]), "flat"),
            stored(np.array([2]), "two"),
            stored(np.float32(0), "nought"),
        ],
    )


ATTACKS = {
    attack.__name__: attack
    for attack in (
        above_any_sweep, within_a_narrow_band, of_one_sign, of_subnormal_numbers, of_equal_values,
        more_rows_than_swept, exactly_61_rows, a_multiple_of_11_rows, rows_between_33_and_47,
        as_many_rows_as_the_square_of_9, a_timestamp, beyond_32_bits, far_below_zero,
        a_product_that_overflows, one_integer_alone, for_not_a_number, for_infinity, for_one_text,
        for_ties,
    )
}  # fmt: skip
