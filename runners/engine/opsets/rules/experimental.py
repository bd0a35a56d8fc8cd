"""Experimental operators that were removed from every opset but exist in old models."""

from __future__ import annotations

import numpy as np
import onnx

from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import ANYWHERE, rule

_LAST_WITH_SLICE_ATTRIBUTES = 9
_TO_THE_END = int(np.iinfo(np.int32).max)


def _scalar(case: Case, attribute: str, default: float) -> str:
    kind = case.dtype(case.input(0)) or onnx.TensorProto.FLOAT
    return case.value(case.attribute(attribute, default), kind)


@rule("image-scaler-written-out", "ImageScaler", source=ANYWHERE, target=7)
def scale_image(case: Case) -> None:
    kind = case.dtype(case.input(0)) or onnx.TensorProto.FLOAT
    scaled = case.add("Mul", [case.input(0), _scalar(case, "scale", 1.0)])
    bias = np.asarray(case.attribute("bias", [0.0])).reshape(-1, 1, 1)
    case.add("Add", [scaled, case.value(bias, kind)], case.output(0))


@rule("affine-written-out", "Affine", source=ANYWHERE, target=7)
def affine(case: Case) -> None:
    scaled = case.add("Mul", [case.input(0), _scalar(case, "alpha", 1.0)])
    case.add("Add", [scaled, _scalar(case, "beta", 0.0)], case.output(0))


@rule("scale-written-out", "Scale", source=ANYWHERE, target=7)
def scale(case: Case) -> None:
    case.add("Mul", [case.input(0), _scalar(case, "scale", 1.0)], case.output(0))


@rule("scaled-tanh-written-out", "ScaledTanh", source=ANYWHERE, target=7)
def scaled_tanh(case: Case) -> None:
    inner = case.add("Tanh", [case.add("Mul", [case.input(0), _scalar(case, "beta", 1.0)])])
    case.add("Mul", [inner, _scalar(case, "alpha", 1.0)], case.output(0))


@rule("parametric-softplus-written-out", "ParametricSoftplus", source=ANYWHERE, target=7)
def parametric_softplus(case: Case) -> None:
    inner = case.add("Softplus", [case.add("Mul", [case.input(0), _scalar(case, "beta", 1.0)])])
    case.add("Mul", [inner, _scalar(case, "alpha", 1.0)], case.output(0))


@rule("crop-as-slice", "Crop", source=ANYWHERE, target=7)
def crop(case: Case) -> None:
    left, top, right, bottom = case.attribute("border", [0, 0, 0, 0])
    size = case.attribute("scale")
    if size:
        ends = [top + size[0], left + size[1]]
    else:
        ends = [-edge if edge else _TO_THE_END for edge in (bottom, right)]
    if case.version <= _LAST_WITH_SLICE_ATTRIBUTES:
        case.add(
            "Slice", [case.input(0)], case.output(0), starts=[top, left], ends=ends, axes=[2, 3]
        )
        return
    bounds = [case.value(values) for values in ([top, left], ends, [2, 3])]
    case.add("Slice", [case.input(0), *bounds], case.output(0))


@rule("dynamic-slice-as-slice", "DynamicSlice", source=9, target=10, accepts=1)
def dynamic_slice(case: Case) -> None:
    case.add("Slice", list(case.node.input), case.output(0))


@rule("thresholded-relu-carried", "ThresholdedRelu", source=9, target=10, accepts=1)
def thresholded_relu(case: Case) -> None:
    case.again()
