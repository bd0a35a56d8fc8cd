"""Parameters: which stored values count, which are settings, and what changes neither."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from runners.engine.onnx_files import parameters, scan
from runners.engine.opsets import conversion
from tests import samples

MS = [("com.microsoft", 1)]
QUANTISED = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]


def counted(nodes, stored, **settings):
    made = samples.model(nodes, initializers=stored, **settings)
    return parameters.count(scan.walk_of(made.SerializeToString()))


def node(operator, inputs, outputs=("y",), **attributes):
    return samples.node(operator, list(inputs), list(outputs), **attributes)


WEIGHT = samples.tensor("w", (4, 4))


@pytest.mark.parametrize(
    ("nodes", "stored", "count"),
    [
        pytest.param(
            [node("MatMul", ["x", "w"], ["h"]), node("Resize", ["h", "", "s"])],
            [WEIGHT, samples.tensor("s", (2,))], (16, 2), id="scales of a Resize",
        ),
        pytest.param(
            [node("MatMul", ["x", "w"], ["h"]), node("Concat", ["s", "t"], ["all"], axis=0),
             node("Identity", ["all"], ["scales"]), node("Resize", ["h", "", "scales"])],
            [WEIGHT, samples.tensor("s", (2,)), samples.tensor("t", (2,))], (16, 4),
            id="scales that are put together",
        ),
        pytest.param(
            [node("DequantizeLinear", ["w", "s", "z"], ["f"]), node("MatMul", ["x", "f"])],
            [samples.tensor("w", (4, 4), dtype="int8"), samples.tensor("s", (4,)),
             samples.tensor("z", (4,), dtype="int8")], (16, 8), id="scale and zero point",
        ),
        pytest.param(
            [node("QLinearConv", QUANTISED)],
            [samples.tensor("w", (2, 3, 3, 3), dtype="int8"), samples.tensor("ws", (2,)),
             samples.tensor("wz", (2,), dtype="int8"), samples.tensor("b", (2,), dtype="int32")],
            (54 + 2, 4), id="quantised convolution with a bias",
        ),
        pytest.param(
            [node("DynamicQuantizeLinear", ["x"], ["q", "xs", "xz"]),
             node("MatMulInteger", ["q", "w", "xz"], ["i"]), node("Cast", ["i"], ["f"], to=1),
             node("Mul", ["xs", "ws"], ["s"]), node("Mul", ["f", "s"])],
            [samples.tensor("w", (4, 4), dtype="int8"), samples.tensor("ws", (4,))], (16, 4),
            id="scale of weights times the scale of inputs",
        ),
        pytest.param(
            [node("RotaryEmbedding", ["x", "ids", "c", "s"], domain="com.microsoft")],
            [samples.tensor("c", (8, 2)), samples.tensor("s", (8, 2))], (0, 32),
            id="rotary tables",
        ),
        pytest.param(
            [node("Add", ["x", "epsilon"], ["h"]), node("Mul", ["h", "w"])],
            [samples.tensor("epsilon", ()), samples.tensor("w", (1,))], (1, 1),
            id="a number without a dimension",
        ),
        pytest.param(
            [node("Cast", ["mask"], ["m"], to=9), node("Where", ["m", "x", "w"])],
            [WEIGHT, samples.tensor("mask", (4, 4), dtype="uint8")], (16, 16), id="a stored mask",
        ),
        pytest.param(
            [node("Less", ["x", "threshold"], ["m"]), node("Where", ["m", "w", "x"])],
            [WEIGHT, samples.tensor("threshold", (4,))], (20, 0), id="thresholds of inputs",
        ),
        pytest.param(
            [node("Identity", ["x"])], [WEIGHT], (0, 16), id="a value that nothing reads",
        ),
        pytest.param(
            [node("Constant", [], ["c"], value_floats=[1.0, 2.0]), node("Mul", ["x", "c"])],
            [], (2, 0), id="numbers in an attribute",
        ),
        pytest.param(
            [node("Clip", ["x", "w", "l"], domain="acme")], [WEIGHT, samples.tensor("l", (3,))],
            (19, 0), id="an operator of the same name elsewhere",
        ),
    ],
)  # fmt: skip
def test_settings_are_constants_and_no_parameters(nodes, stored, count):
    domains = [*MS, ("acme", 1)]
    assert counted(nodes, stored, domains=domains) == count


def test_weights_that_fill_up_their_last_block_count_as_rows_times_columns():
    """40 columns in blocks of 32 of four bits: 2 blocks of 16 bytes for each of 8 rows."""
    options = {"K": 40, "N": 8, "bits": 4, "block_size": 32}
    product = node("MatMulNBits", ["x", "w", "s"], domain="com.microsoft", **options)
    stored = [samples.tensor("w", (8, 2, 16), dtype="uint8"), samples.tensor("s", (16,))]
    assert counted([product], stored, domains=MS).parameters == 8 * 40


def test_weights_of_branches_and_of_the_graph_around_count():
    inner = helper.make_graph(
        [node("Mul", ["x", "outer"], ["h"]), node("Add", ["h", "own"], ["z"])],
        "then", [], [samples.value("z", shape=(4,))], [samples.tensor("own", (4,))],
    )  # fmt: skip
    other = helper.make_graph(
        [node("Identity", ["x"], ["z"])], "else", [], [samples.value("z", shape=(4,))]
    )
    fork = node("If", ["c"], then_branch=inner, else_branch=other)
    assert counted([fork], [samples.tensor("outer", (4,))]).parameters == 8


@pytest.mark.parametrize("target", [11, 13, 19])
def test_an_upgrade_changes_no_count(target):
    """Upsample keeps its scales in an attribute, in an input, and as the third input of Resize."""
    made = samples.model(
        [node("Conv", ["x", "w"], ["h"]), node("Upsample", ["h"], scales=[1.0, 1.0, 2.0, 2.0])],
        [samples.value("x", shape=(1, 3, 8, 8))],
        [samples.value("y", shape=(1, 2, 12, 12))],
        initializers=[samples.tensor("w", (2, 3, 3, 3))],
        opset=8,
    )
    made.ir_version = 4
    upgraded = conversion.convert(made, target).model
    assert upgraded is not None
    counts = [parameters.count(scan.walk_of(each.SerializeToString())) for each in (made, upgraded)]
    assert [count.parameters for count in counts] == [54, 54]
    assert onnx.checker.check_model(upgraded) is None
