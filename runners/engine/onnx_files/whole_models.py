"""Reads and writes whole models, with a data file beside where one file would be too large."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx

from runners.engine.onnx_files import bodies

# A protobuf file ends at 2 GiB; room is left for everything that is no weight.
INLINE_BYTES = 1900 << 20
_WORTH_MOVING_BYTES = 1024


def weight_bytes(model: onnx.ModelProto) -> int:
    """Count the bytes of all stored tensors; values in typed fields count at four bytes."""
    return sum(
        len(tensor.raw_data) + 4 * (len(tensor.float_data) + len(tensor.int32_data))
        for tensor in tensors(model)
    )


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Give every weight: of the graph and of its bodies, and in attributes."""
    for graph in bodies.graphs_of(model.graph):
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write a model with its weights inside, or in `<name>.data` beside it where they are large."""
    if weight_bytes(model) <= INLINE_BYTES:
        onnx.save(model, str(path))
        return
    onnx.save(
        model,
        str(path),
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=f"{path.name}.data",
        size_threshold=_WORTH_MOVING_BYTES,
    )


def family(path: Path) -> list[Path]:
    """List a written model and its data file, if it has one."""
    beside = path.with_name(f"{path.name}.data")
    return [path, beside] if beside.exists() else [path]


def restore(model: onnx.ModelProto, origin: onnx.ModelProto) -> None:
    """Give a model back what tools leave out: documentation, name, version, metadata."""
    model.doc_string, model.domain = origin.doc_string, origin.domain
    model.model_version = origin.model_version
    model.graph.name, model.graph.doc_string = origin.graph.name, origin.graph.doc_string
    keys = {entry.key for entry in model.metadata_props}
    model.metadata_props.extend(entry for entry in origin.metadata_props if entry.key not in keys)
