"""Small models of old operator sets, and two ways to run them: the runtime and plain numpy."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from runners.engine.opsets import convert

KINDS = {
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


def port(name, array_or_shape, kind=TensorProto.FLOAT):
    if isinstance(array_or_shape, np.ndarray):
        kind, array_or_shape = KINDS[array_or_shape.dtype.name], array_or_shape.shape
    return helper.make_tensor_value_info(name, kind, array_or_shape)


def old(op, opset, feeds, *, constants=None, outputs=1, kind=TensorProto.FLOAT, ir=7, **attributes):
    """One node of an operator over its inputs in order; a constant wins over an input."""
    constants = constants or {}
    names = list(feeds)
    made = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, names, made, name="the_node", **attributes)
    graph = helper.make_graph(
        [node],
        "old",
        [port(name, array) for name, array in feeds.items() if name and name not in constants],
        [helper.make_tensor_value_info(name, kind, None) for name in made],
        initializer=[numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, ir_version=ir, opset_imports=imports)


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = {value.name for value in session.get_inputs()}
    return session.run(None, {name: array for name, array in feeds.items() if name in wanted})


def converted(model, target, *, by=()):
    """Convert and insist that it went, by these rules and no others."""
    done = convert(model, target)
    assert done.model is not None, done.blocking
    assert done.rules == tuple(sorted(by))
    (version,) = [one.version for one in done.model.opset_import if one.domain == ""]
    assert version == target
    return done.model


def close(actual, expected):
    for left, right in zip(actual, expected, strict=True):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
