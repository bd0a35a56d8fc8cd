"""Makes values inside a graph its outputs, so that a runtime gives them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnx


def expose(path: Path, outputs: Sequence[str]) -> onnx.ModelProto:
    """Read the model, external data left outside, with these values of its graph as outputs.

    Without names its outputs stay as they are.
    """
    import onnx  # noqa: PLC0415 - only a child may hold an upload and the library together

    model = onnx.load(str(path), load_external_data=False)
    if not outputs:
        return model
    known = {port.name: port for port in (*model.graph.output, *model.graph.value_info)}
    ports = [_port(known.get(name), name) for name in outputs]
    del model.graph.output[:]
    model.graph.output.extend(ports)
    return model


def _port(known: onnx.ValueInfoProto | None, name: str) -> onnx.ValueInfoProto:
    import onnx  # noqa: PLC0415

    # A type suffices and a wrong shape would be refused, so shapes are left to the runtime.
    port = onnx.ValueInfoProto(name=name)
    if known is not None and known.type.WhichOneof("value") != "tensor_type":
        port.type.CopyFrom(known.type)
    elif known is not None and known.type.tensor_type.elem_type:
        port.type.tensor_type.elem_type = known.type.tensor_type.elem_type
    return port
