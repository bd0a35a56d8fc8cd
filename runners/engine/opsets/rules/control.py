"""Loop, Scan, Dropout, Attention and recurrent operators in their old versions."""

from __future__ import annotations

from typing import Any

import onnx

from runners.engine.opsets.outcome import CannotConvertError
from runners.engine.opsets.rules.case import Case
from runners.engine.opsets.rules.rule import rule


@rule("loop-carried", "Loop", source=10, target=11, accepts=1)
def loop(case: Case) -> None:
    # Opset 11 only allows to omit the carried values.
    case.again()


@rule("scan-over-batch", "Scan", source=8, target=9)
def scan(case: Case) -> None:
    """Replace the batch dimension of Scan-8 by an outer Scan around one over the sequence."""
    if case.input(0):
        raise CannotConvertError("Scan-8 with a length for each sequence has no equal")
    body: onnx.GraphProto = case.attribute("body")
    count = int(case.attribute("num_scan_inputs"))
    inputs = list(case.node.input)[1:]
    states = len(inputs) - count
    ports = [_port(case, name) for name in inputs]
    results = [case.fresh("each") for _ in body.output]
    inner = onnx.helper.make_node(
        "Scan",
        [port.name for port in ports],
        results,
        body=body,
        num_scan_inputs=count,
        **_directions(case),
    )
    outputs = [
        _output(result, port, known_shape=place < states)
        for place, (result, port) in enumerate(zip(results, body.output, strict=True))
    ]
    graph = onnx.helper.make_graph([inner], case.fresh("batch"), ports, outputs)
    outer: list[str] = list(case.node.output)
    case.put("Scan", inputs, outer, body=graph, num_scan_inputs=len(inputs))


def _directions(case: Case) -> dict[str, Any]:
    directions = case.attribute("directions")
    return {"scan_input_directions": list(directions)} if directions else {}


def _port(case: Case, name: str) -> onnx.ValueInfoProto:
    shape = case.shape(name)
    inner = None if shape is None else shape[1:]
    return onnx.helper.make_tensor_value_info(case.fresh("slice"), case.dtype(name), inner)


def _output(name: str, port: onnx.ValueInfoProto, *, known_shape: bool) -> onnx.ValueInfoProto:
    output = onnx.ValueInfoProto(name=name)
    output.type.CopyFrom(port.type)
    if not known_shape:
        output.type.tensor_type.ClearField("shape")
    return output


@rule("mask-of-inference", "Dropout", source=11, target=12, accepts=7)
def dropout(case: Case) -> None:
    """Leave the mask out, or keep its values and type: from opset 12 on it is all true.

    Before, runtimes fill it with zeros, of the type of the data before opset 10.
    """
    ratio = case.value(case.attribute("ratio", 0.5), onnx.TensorProto.FLOAT)
    mask = case.output(1)
    case.put("Dropout", [case.input(0), ratio], [case.output(0)])
    if case.is_read(mask):
        dtype = onnx.TensorProto.BOOL if case.version >= 10 else case.dtype(case.input(0))
        if not dtype:
            raise CannotConvertError("the type of its mask is not known")
        zero = onnx.helper.make_tensor("zero", dtype, [1], [0])
        case.add("ConstantOfShape", [case.add("Shape", [case.input(0)])], mask, value=zero)


# Value of `qk_matmul_output_mode`: the products after softcap.
_AFTER_SOFTCAP = 2


@rule("causal-products", "Attention", source=23, target=24)
def attention(case: Case) -> None:
    """Refuse a node whose fourth output is read after softcap under a causal mask.

    Runtimes give it with the mask at one of the two opsets and without it at the other. All other
    nodes are left to the C++ converter.
    """
    mode = case.attribute("qk_matmul_output_mode", 0)
    if case.attribute("is_causal", 0) and mode == _AFTER_SOFTCAP and case.is_read(case.output(3)):
        raise CannotConvertError("its products after softcap have another mask from opset 24 on")


@rule("sequence-always-given", "RNN", "GRU", "LSTM", source=6, target=7, accepts=1)
def drop_output_sequence(case: Case) -> None:
    # Since this version, only the names of outputs say which are computed. The default of opset 1
    # was spelt "foward"; it means the default.
    direction = case.attribute("direction")
    case.again("output_sequence", *(["direction"] if direction == "foward" else []))
