"""Inputs that enter branches: which inputs decide, their values, and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from runners.engine.runs import branch_inputs
from tests import samples
from tests.engine.opset_models import port


def branching(nodes, ports, stored=()):
    """A model whose `If` has the condition `c`."""
    outputs = {name: samples.value(name, TensorProto.FLOAT, (None,)) for name in ("a", "b")}
    bodies = [
        helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [outputs[name]])
        for name, op in (("a", "Abs"), ("b", "Neg"))
    ]
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    return samples.model(
        [*nodes, chosen], [port("x", ("N",)), *ports], [port("y", None)], stored, opset=17
    )


X = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize(
    ("dtype", "nodes", "stored", "values"),
    [
        pytest.param(TensorProto.BOOL, [("Not", ["d"], "c")], None, [False, True], id="truth"),
        pytest.param(
            TensorProto.INT64, [("Greater", ["d", "k"], "c")], np.int64(100), [99, 101, 100],
            id="an integer and a bound",
        ),
        pytest.param(
            TensorProto.FLOAT, [("Less", ["d", "k"], "c")], np.float32(2.0), [1.98, 2.02, 2.0],
            id="a number and a bound",
        ),
        pytest.param(
            TensorProto.UINT8, [("Equal", ["d", "k"], "c")], np.uint8(0), [1, 0],
            id="the end of a type",
        ),
    ],
)  # fmt: skip
def test_inputs_that_decide_get_values_on_both_sides(dtype, nodes, stored, values):
    made = [helper.make_node(op, names, [output]) for op, names, output in nodes]
    constants = [] if stored is None else [numpy_helper.from_array(np.array(stored), "k")]
    model = branching(made, [port("d", (), dtype)], constants)
    base = {"x": X, "d": np.zeros((), helper.tensor_dtype_to_np_dtype(dtype))}
    sets = branch_inputs.varied(model, base)
    assert np.unique([each.inputs["d"] for each in sets]) == pytest.approx(np.unique(values))
    assert {each.inputs["d"].dtype for each in sets} == {base["d"].dtype}
    assert {each.inputs["x"].size for each in sets} == {6, 3, 12}
    assert len({each.name for each in sets}) == len(sets)


def test_an_input_that_decides_nothing_stays_as_it_is():
    model = branching(
        [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
         helper.make_node("Exp", ["m"], ["e"]),
         helper.make_node("Greater", ["e", "k"], ["c"])],
        [], [numpy_helper.from_array(np.float32(5), "k")],
    )  # fmt: skip
    assert branch_inputs.varied(model, {"x": X}) == []
