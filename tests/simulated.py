"""What `hub training simulate` reads: a small model, its data, and the code of a device."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CODE = """
import numpy as np


def logits(tensors, x):
    return x @ tensors["w"] + tensors["b"]


def train(tensors, x, y, seed):
    for _ in range(20):
        odds = np.exp(logits(tensors, x))
        error = odds / odds.sum(axis=1, keepdims=True)
        error[np.arange(len(y)), y] -= 1
        tensors["w"] -= (0.5 * x.T @ error / len(y)).astype("f4")
        tensors["b"] -= (0.5 * error.mean(axis=0)).astype("f4")
    return tensors


def right(tensors, x, y):
    return int((logits(tensors, x).argmax(axis=1) == y).sum())
"""


def write(folder):
    """Write a linear model of three classes, their data in two groups, and a device's code."""
    draw = np.random.default_rng(5)
    y = draw.integers(0, 3, 600)
    x = np.eye(3)[y] * 2 + draw.standard_normal((600, 3))
    np.savez(folder / "digits.npz", x=x.astype("f4"), y=y, group=y % 2)
    (folder / "device.py").write_text(CODE)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["logits"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 3])],
        [
            numpy_helper.from_array(np.zeros((3, 3), "f4"), "w"),
            numpy_helper.from_array(np.zeros(3, "f4"), "b"),
        ],
    )
    onnx.save(helper.make_model(graph), folder / "digits.onnx")
