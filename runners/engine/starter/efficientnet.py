"""EfficientNet-Lite0 as ONNX, from the weights of its PyTorch release.

Source of the blocks: efficientnet_lite0 of the TensorFlow TPU models, as ported by
`efficientnet-lite-pytorch`. Normalisation is folded into the convolutions in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from runners.engine.starter.torch_weights import WeightsError

OPSET, IR_VERSION = 13, 8
SIDE, CLASSES = 224, 1000
EPSILON = 1e-3
_HEAD_CHANNELS = 1280


@dataclass(frozen=True, slots=True)
class Stage:
    """Blocks of one kind: how often, kernel, stride of the first, expansion, channels."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    channels: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
_STEM_CHANNELS = 32

Weights = Mapping[str, npt.NDArray[np.generic]]


@dataclass(slots=True)
class _Writer:
    """The nodes and initializers of the graph so far."""

    weights: Weights
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, array: npt.NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def weight(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """A float weight of this shape as float64; raises WeightsError."""
        array = self.weights.get(name)
        if array is None or array.shape != shape or array.dtype != np.float32:
            raise WeightsError(f"The file has no float32 weight {name} of the shape {shape}.")
        return array.astype(np.float64)

    def convolution(
        self,
        source: str,
        name: str,
        norm: str,
        shape: tuple[int, int, int],
        *,
        stride: int = 1,
        groups: int = 1,
        is_clipped: bool = True,
    ) -> str:
        """A convolution of channels out, channels in and kernel, with its normalisation."""
        channels, _, kernel = shape
        weight = self.weight(f"{name}.weight", (*shape, kernel))
        scale = self.weight(f"{norm}.weight", (channels,)) / np.sqrt(
            self.weight(f"{norm}.running_var", (channels,)) + EPSILON
        )
        mean = self.weight(f"{norm}.running_mean", (channels,))
        bias = self.weight(f"{norm}.bias", (channels,)) - mean * scale
        folded = (weight * scale[:, None, None, None]).astype(np.float32)
        before, after = padding(kernel, stride)
        output = self.node(
            "Conv",
            [
                source,
                self.constant(f"{name}.weight", folded),
                self.constant(f"{name}.bias", bias.astype(np.float32)),
            ],
            f"{name}.out",
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=groups,
        )
        return self.node("Clip", [output, "low", "high"], f"{name}.relu6") if is_clipped else output

    def block(self, source: str, name: str, channels: int, stage: Stage, stride: int) -> str:
        """An inverted bottleneck; ``channels`` are those of its input. Gives its output's name."""
        wide, output = channels * stage.expansion, source
        if stage.expansion > 1:
            output = self.convolution(
                output, f"{name}._expand_conv", f"{name}._bn0", (wide, channels, 1)
            )
        output = self.convolution(
            output,
            f"{name}._depthwise_conv",
            f"{name}._bn1",
            (wide, 1, stage.kernel),
            stride=stride,
            groups=wide,
        )
        output = self.convolution(
            output,
            f"{name}._project_conv",
            f"{name}._bn2",
            (stage.channels, wide, 1),
            is_clipped=False,
        )
        if stride == 1 and channels == stage.channels:
            output = self.node("Add", [output, source], f"{name}.sum")
        return output


def padding(kernel: int, stride: int) -> tuple[int, int]:
    """Pixels before and after, as TensorFlow's SAME pads a side that the stride divides."""
    whole = kernel - stride
    return whole // 2, whole - whole // 2


def blocks() -> Iterator[tuple[Stage, int, int]]:
    """Each block in order: its stage, its channels in and its stride."""
    channels = _STEM_CHANNELS
    for stage in STAGES:
        for repeat in range(stage.repeats):
            yield stage, channels, stage.stride if repeat == 0 else 1
            channels = stage.channels


def convert(weights: Weights) -> onnx.ModelProto:
    """The model of `image` [batch, 3, 224, 224] and `logits` [batch, 1000]; raises WeightsError."""
    graph = _Writer(weights)
    graph.constant("low", np.array(0, np.float32))
    graph.constant("high", np.array(6, np.float32))
    output = graph.convolution("image", "_conv_stem", "_bn0", (_STEM_CHANNELS, 3, 3), stride=2)
    last = _STEM_CHANNELS
    for number, (stage, channels, stride) in enumerate(blocks()):
        output = graph.block(output, f"_blocks.{number}", channels, stage, stride)
        last = stage.channels
    output = graph.convolution(output, "_conv_head", "_bn1", (_HEAD_CHANNELS, last, 1))
    output = graph.node("GlobalAveragePool", [output], "pooled")
    output = graph.node("Flatten", [output], "features", axis=1)
    weight = graph.weight("_fc.weight", (CLASSES, _HEAD_CHANNELS)).astype(np.float32)
    bias = graph.weight("_fc.bias", (CLASSES,)).astype(np.float32)
    graph.node(
        "Gemm",
        [output, graph.constant("_fc.weight", weight), graph.constant("_fc.bias", bias)],
        "logits",
        transB=1,
    )
    float32 = onnx.TensorProto.FLOAT
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "efficientnet-lite0",
            [helper.make_tensor_value_info("image", float32, ["batch", 3, SIDE, SIDE])],
            [helper.make_tensor_value_info("logits", float32, ["batch", CLASSES])],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="onnx-model-hub",
        doc_string="EfficientNet-Lite0, converted from PyTorch weights with folded normalisation.",
    )
