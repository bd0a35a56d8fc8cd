"""Makes values inside a graph its outputs, so that a runtime gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx


def expose(path: Path, outputs: Sequence[str]) -> onnx.ModelProto:
    """Read the model, external data left outside, with these values of its graph as outputs.

    Without names its outputs stay as they are.
    """
    model = onnx.load(str(path), load_external_data=False)
    if not outputs:
        return model
    ports_by_name = {port.name: port for port in (*model.graph.output, *model.graph.value_info)}
    ports = [_port(ports_by_name.get(name), name) for name in outputs]
    del model.graph.output[:]
    model.graph.output.extend(ports)
    return model


def _port(declared: onnx.ValueInfoProto | None, name: str) -> onnx.ValueInfoProto:
    # A type suffices and a wrong shape would be refused, so shapes are left to the runtime.
    port = onnx.ValueInfoProto(name=name)
    if declared is not None and declared.type.WhichOneof("value") != "tensor_type":
        port.type.CopyFrom(declared.type)
    elif declared is not None and declared.type.tensor_type.elem_type:
        port.type.tensor_type.elem_type = declared.type.tensor_type.elem_type
    return port
