"""The network: 64 pixels, 64 hidden units, 10 digits, and its ONNX file with random weights.

Its tensors bear the names that a PyTorch module of the same shape gives them.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

HIDDEN = 64


def beginning(seed: int = 0) -> dict[str, np.ndarray]:
    """Give the weights before any training."""
    rng = np.random.default_rng(seed)

    def spread(outputs: int, inputs: int) -> np.ndarray:
        return (rng.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs)).astype(np.float32)

    return {
        "hidden.weight": spread(HIDDEN, 64),
        "hidden.bias": np.zeros(HIDDEN, np.float32),
        "output.weight": spread(10, HIDDEN),
        "output.bias": np.zeros(10, np.float32),
    }


def to_onnx(weights: dict[str, np.ndarray]) -> bytes:
    """Write the network as an ONNX file."""
    number = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["pixels", "hidden.weight", "hidden.bias"], ["h"], transB=1),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Gemm", ["r", "output.weight", "output.bias"], ["logits"], transB=1),
        ],
        "digits",
        [helper.make_tensor_value_info("pixels", number, ["n", 64])],
        [helper.make_tensor_value_info("logits", number, ["n", 10])],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
