"""Conversion to older opsets: removes features of newer versions that a node does not use."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from runners.engine.opsets.outcome import CannotConvertError
from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule

_END = int(np.iinfo(np.int64).max)
# (operators, from, to, new attributes with the only values that older versions support)
_ADDED: tuple[tuple[tuple[str, ...], int, int, dict[str, tuple[Any, ...]]], ...] = (
    (("Reshape",), 14, 13, {"allowzero": (0,)}),
    (("BatchNormalization",), 14, 13, {"training_mode": (0,)}),
    (("GatherND",), 12, 11, {"batch_dims": (0,)}),
    (("Erf",), 13, 12, {}),
    (("RoiAlign",), 16, 15, {"coordinate_transformation_mode": ("output_half_pixel",)}),
    (("DepthToSpace",), 11, 10, {"mode": ("DCR",)}),
    (("TopK",), 11, 10, {"largest": (1,), "sorted": (0, 1)}),
    (("MaxPool", "AveragePool"), 10, 9, {"ceil_mode": (0,), "dilations": ([1], [1, 1], [1, 1, 1])}),
    (("LpPool",), 18, 17, {"ceil_mode": (0,), "dilations": ([1], [1, 1], [1, 1, 1])}),
)
# Defaults of these attributes if they differ from the older behaviour.
_DEFAULTS = {"coordinate_transformation_mode": "half_pixel"}


def _leave_out(added: dict[str, tuple[Any, ...]]) -> Any:
    def rewrite(case: Case) -> None:
        for name, fitting in added.items():
            value = case.attribute(name, _DEFAULTS.get(name, fitting[0]))
            value = list(value) if isinstance(value, (list, tuple)) else value
            if value not in fitting:
                raise CannotConvertError(f"{name} = {value} has no equal")
        case.again(*added)

    return rewrite


for _ops, _source, _target, _added in _ADDED:
    rule("newer-attribute-left-out", *_ops, source=_source, target=_target)(_leave_out(_added))


def _ints(case: Case, place: int) -> list[int] | None:
    name = case.input(place)
    return [int(value) for value in case.values(name).reshape(-1)] if name else None


@rule("shape-then-slice", "Shape", source=15, target=14)
def shape(case: Case) -> None:
    start, end = case.attribute("start", 0), case.attribute("end")
    if start == 0 and end is None:
        case.again("start", "end")
        return
    whole = case.add("Shape", [case.input(0)])
    bounds = [case.value([start]), case.value([_END if end is None else end])]
    case.add("Slice", [whole, *bounds], case.output(0))


@rule("constant-as-tensor", "Constant", source=12, target=11)
def constant(case: Case) -> None:
    attribute = case.node.attribute[0]
    kinds = {"value_float": np.float32, "value_int": np.int64, "value_string": np.object_}
    for word, kind in kinds.items():
        if attribute.name.startswith(word):
            value = onnx.helper.get_attribute_value(attribute)
            tensor = numpy_helper.from_array(np.array(value, kind))
            case.put("Constant", [], list(case.node.output), value=tensor)
            return
    case.again()


@rule("dropout-by-attribute", "Dropout", source=12, target=11)
def dropout(case: Case) -> None:
    if case.input(2) and bool(case.values(case.input(2)).item()):
        raise CannotConvertError("Dropout that trains has no equal")
    ratio = float(case.values(case.input(1)).item()) if case.input(1) else None
    case.again("seed", inputs=[case.input(0)], ratio=ratio)


@rule("pads-for-all-axes", "Pad", source=18, target=17)
def pad_axes(case: Case) -> None:
    axes = _ints(case, 3)
    inputs = list(case.node.input)[:3]
    if axes is not None:
        pads, rank = _ints(case, 1) or [], case.rank(case.input(0))
        whole = [0] * (2 * rank)
        for place, axis in enumerate(axes):
            whole[axis % rank] = pads[place]
            whole[axis % rank + rank] = pads[place + len(axes)]
        inputs[1] = case.value(whole)
    if case.attribute("mode") == "wrap":
        raise CannotConvertError("the mode wrap has no equal")
    case.again(inputs=inputs)


@rule("split-by-sizes", "Split", source=18, target=17)
def split(case: Case) -> None:
    count, inputs = case.attribute("num_outputs"), list(case.node.input)
    if count is not None:
        shape = case.shape(inputs[0])
        axis = case.attribute("axis", 0)
        size = None if shape is None else shape[axis]
        if size is None:
            raise CannotConvertError("the size that is split is not known")
        each = -(-size // count)
        sizes = [max(0, min(each, size - each * place)) for place in range(count)]
        inputs = [inputs[0], case.value(sizes)]
    case.again("num_outputs", inputs=inputs)


@rule("mode-renamed", "GridSample", source=20, target=19)
def grid_sample(case: Case) -> None:
    if case.rank(case.input(0)) != 4:
        raise CannotConvertError("only images have an equal")
    mode = case.attribute("mode", "linear")
    case.again(mode={"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode))


@rule("one-scale-is-scalar", "QuantizeLinear", "DequantizeLinear", source=13, target=12)
def quantise(case: Case) -> None:
    if case.rank(case.input(1)) != 0:
        raise CannotConvertError("a scale for each channel has no equal")
    case.again("axis")


@rule("softmax-transposed", "Softmax", "LogSoftmax", "Hardmax", source=13, target=12)
def soften_last(case: Case) -> None:
    rank, axis = case.rank(case.input(0)), case.attribute("axis", -1)
    if axis % rank == rank - 1:
        case.again(axis=rank - 1)
        return
    order = list(range(rank))
    order[axis % rank], order[-1] = order[-1], order[axis % rank]
    turned = case.add("Transpose", [case.input(0)], perm=order)
    soft = case.add(case.node.op_type, [turned], axis=rank - 1)
    case.add("Transpose", [soft], case.output(0), perm=order)


@rule("bounds-as-attributes", "Clip", source=11, target=10)
def clip(case: Case) -> None:
    low, high = (
        float(case.values(name).item()) if name else None for name in (case.input(1), case.input(2))
    )
    case.again(inputs=[case.input(0)], min=low, max=high)


@rule("pads-as-attributes", "Pad", source=11, target=10)
def pad(case: Case) -> None:
    value = float(case.values(case.input(2)).item()) if case.input(2) else None
    case.again(inputs=[case.input(0)], pads=_ints(case, 1), value=value)


@rule("count-as-attribute", "TopK", source=10, target=9)
def top_k(case: Case) -> None:
    case.again(inputs=[case.input(0)], k=(_ints(case, 1) or [0])[0])


@rule("slice-by-attributes", "Slice", source=10, target=9)
def slice_(case: Case) -> None:
    if any(step != 1 for step in _ints(case, 4) or []):
        raise CannotConvertError("a step other than 1 has no equal")
    case.again(
        inputs=[case.input(0)], starts=_ints(case, 1), ends=_ints(case, 2), axes=_ints(case, 3)
    )


@rule("zero-added", "Gemm", source=11, target=10)
def gemm(case: Case) -> None:
    inputs = [case.input(0), case.input(1), case.input(2)]
    if not inputs[2]:
        inputs[2] = case.value(0, case.dtype(inputs[0]) or onnx.TensorProto.FLOAT)
    case.again(inputs=inputs)


@rule("resize-all-measures", "Resize", source=13, target=12)
def resize(case: Case) -> None:
    inputs = [case.input(place) for place in range(4)]
    for place in (1, 2):
        inputs[place] = inputs[place] or case.value([], onnx.TensorProto.FLOAT)
    case.again(inputs=inputs)
