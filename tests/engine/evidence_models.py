"""Models whose upgrade is wrong where a careless proof does not look, built in code.

`AveragePool` of operator set 10 and of today's round in other orders, whatever is optimised, and
`residue` multiplies what that leaves: its values differ by as much as they are large.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests import samples
from tests.engine.opset_models import port

# No multiple of 8 or 16 channels: the kernels that runtimes use for those round like the later set.
SHAPE = (1, 42, 7, 7)
# No generated input has all its values above this.
FAR = 1e7
_AMPLIFIED = np.float32(1e8)


def residue(source="x", *, name="z"):
    """Nodes that give the rounding of an average, amplified: (nodes, initializers)."""
    nodes = [
        helper.make_node(
            "AveragePool", [source], [f"{name}_pooled"], kernel_shape=[7, 7], name=f"{name}_pool"
        ),
        helper.make_node("ReduceMean", [source], [f"{name}_mean"], axes=[2, 3], keepdims=1),
        helper.make_node("Sub", [f"{name}_pooled", f"{name}_mean"], [f"{name}_rest"]),
        helper.make_node("Mul", [f"{name}_rest", "amplified"], [name]),
    ]
    return nodes, [numpy_helper.from_array(_AMPLIFIED, "amplified")]


def _model(nodes, stored, outputs=("y",), opset=10, kind=TensorProto.FLOAT):
    return samples.model(
        nodes,
        [port("x", SHAPE)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        stored,
        opset=opset,
    )


def _number(value, name):
    return numpy_helper.from_array(np.array(value, np.float32), name)


def plain():
    """The residue itself: wrong on every input."""
    nodes, stored = residue(name="y")
    return _model(nodes, stored)


def hidden_by_quantisation():
    """The residue beside large values, and one QuantizeLinear that has nothing to do with it."""
    nodes, stored = residue()
    nodes += [
        helper.make_node("ReduceMean", ["x"], ["m"], keepdims=1, axes=[2, 3]),
        helper.make_node("Mul", ["m", "thousand"], ["large"]),
        helper.make_node("Add", ["z", "large"], ["shifted"]),
        helper.make_node("Add", ["shifted", "thousand"], ["y"]),
        helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["q"]),
    ]
    stored += [_number(1000, "thousand"), _number(1, "one")]
    stored.append(numpy_helper.from_array(np.array(0, np.uint8), "zero"))
    model = _model(nodes, stored)
    model.graph.output.append(helper.make_tensor_value_info("q", TensorProto.UINT8, None))
    return model


def hidden_in_a_branch(threshold=FAR, by="ReduceMin"):
    """The residue in a branch that is entered only above a threshold."""
    nodes, stored = residue()
    taken = helper.make_graph(
        nodes, "far", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    )
    other = helper.make_graph(
        [helper.make_node("GlobalAveragePool", ["x"], ["near"])],
        "near",
        [],
        [helper.make_tensor_value_info("near", TensorProto.FLOAT, None)],
    )
    main = [
        helper.make_node(by, ["x"], ["least"], keepdims=0),
        # No comparison with a stored number: the threshold is not for a search to find.
        helper.make_node("Sub", ["least", "threshold"], ["above"]),
        helper.make_node("Sub", ["threshold", "threshold"], ["nought"]),
        helper.make_node("Greater", ["above", "nought"], ["is_far"]),
        helper.make_node("If", ["is_far"], ["y"], name="far", then_branch=taken, else_branch=other),
    ]
    return _model(main, [*stored, _number(threshold, "threshold")])


def hidden_by_a_mask():
    """The residue where the input lies far out, the input itself elsewhere."""
    nodes, stored = residue()
    nodes += [
        helper.make_node("ReduceMin", ["x"], ["least"], axes=[2, 3], keepdims=1),
        helper.make_node("Sub", ["least", "threshold"], ["above"]),
        helper.make_node("Sub", ["threshold", "threshold"], ["nought"]),
        helper.make_node("Greater", ["above", "nought"], ["far"]),
        helper.make_node("Where", ["far", "z", "least"], ["y"]),
    ]
    return _model(nodes, [*stored, _number(FAR, "threshold")])


def hidden_but_for_one_number():
    """The residue of inputs whose largest value is 12345.5, which no output shows."""
    nodes, stored = residue("seen")
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Sub", ["most", "number"], ["apart"]),
        helper.make_node("Abs", ["apart"], ["distance"]),
        helper.make_node("Sub", ["most", "most"], ["nought"]),
        helper.make_node("Equal", ["distance", "nought"], ["open"]),
        helper.make_node("Cast", ["open"], ["gate"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "gate"], ["seen"]),
        *nodes,
        helper.make_node("GlobalMaxPool", ["x"], ["usual"]),
        helper.make_node("Greater", ["nought", "number"], ["never"]),
        helper.make_node("Where", ["never", "z", "usual"], ["y"]),
    ]
    return _model(nodes, [*stored, _number(12345.5, "number")], opset=11)


def hidden_in_a_loop():
    """The mask above in the body of a loop, whose state is the input."""
    inner = hidden_by_a_mask().graph
    copies = [("go", "go_on"), ("state", "same")]
    body = helper.make_graph(
        [*inner.node, *(helper.make_node("Identity", [old], [new]) for old, new in copies)],
        "body",
        [
            port("turn", (), TensorProto.INT64),
            port("go", (), TensorProto.BOOL),
            port("state", SHAPE),
        ],
        [
            port("go_on", (), TensorProto.BOOL),
            port("same", SHAPE),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["count", "", "x"], ["last", "turns"], name="again", body=body)
    ]
    count = numpy_helper.from_array(np.array(2), "count")
    return _model(nodes, [*inner.initializer, count], outputs=("last", "turns"))


def hidden_by_not_a_number():
    """The residue plus a root of what is negative on everything but far values."""
    nodes, stored = residue()
    nodes += [
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=1),
        helper.make_node("Sub", ["least", "threshold"], ["below"]),
        helper.make_node("Sqrt", ["below"], ["root"]),
        helper.make_node("Add", ["z", "root"], ["y"]),
    ]
    return _model(nodes, [*stored, _number(FAR, "threshold")])


def hidden_by_half():
    """The input beside what is not a number on everything but far values."""
    nodes, stored = residue()
    nodes += [
        helper.make_node("ReduceMin", ["x"], ["least"], keepdims=1),
        helper.make_node("Sub", ["least", "threshold"], ["below"]),
        helper.make_node("Sqrt", ["below"], ["root"]),
        helper.make_node("Add", ["z", "root"], ["hidden"]),
        helper.make_node("GlobalMaxPool", ["x"], ["shown"]),
        helper.make_node("Concat", ["shown", "hidden"], ["y"], axis=1),
    ]
    return _model(nodes, [*stored, _number(FAR, "threshold")])


def hidden_by_emptiness():
    """Those elements of the residue whose input lies far out."""
    nodes, stored = residue()
    flat = numpy_helper.from_array(np.array([-1]), "flat")
    nodes += [
        helper.make_node("ReduceMin", ["x"], ["least"], axes=[2, 3], keepdims=1),
        helper.make_node("Sub", ["least", "threshold"], ["above"]),
        helper.make_node("Sub", ["threshold", "threshold"], ["nought"]),
        helper.make_node("Greater", ["above", "nought"], ["far"]),
        helper.make_node("Reshape", ["far", "flat"], ["all_far"]),
        helper.make_node("Reshape", ["z", "flat"], ["all"]),
        helper.make_node("Compress", ["all", "all_far"], ["y"], axis=0),
    ]
    return _model(nodes, [*stored, _number(FAR, "threshold"), flat])


def branch_for_another_rate(rate=16000):
    """Eight samples at one rate, and four at all others, each with a Softmax of opset 11."""
    weights = [
        numpy_helper.from_array(np.ones((size, 2), np.float32), f"w{size}") for size in (8, 4)
    ]
    bodies = [
        helper.make_graph(
            [
                helper.make_node("MatMul", ["x", f"w{size}"], [f"p{size}"]),
                helper.make_node("Softmax", [f"p{size}"], [f"s{size}"], axis=1),
                helper.make_node("Add", [f"p{size}", f"s{size}"], [f"y{size}"]),
            ],
            f"of {size}",
            [],
            [helper.make_tensor_value_info(f"y{size}", TensorProto.FLOAT, None)],
        )
        for size in (8, 4)
    ]
    nodes = [
        helper.make_node("Equal", ["rate", "usual"], ["is_usual"]),
        helper.make_node(
            "If", ["is_usual"], ["y"], name="rates", then_branch=bodies[0], else_branch=bodies[1]
        ),
    ]
    return samples.model(
        nodes,
        [port("x", (None, None)), port("rate", (), TensorProto.INT64)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [*weights, numpy_helper.from_array(np.array(rate, np.int64), "usual")],
        opset=11,
    )
