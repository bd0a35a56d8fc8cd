"""A version as a model of a Triton model repository: files by number, and a configuration.

    FOLDER/resnet50/config.pbtxt
    FOLDER/resnet50/3/model.onnx      and its external data beside it

Triton's ONNX Runtime backend reads this layout (Triton, model_repository.md and
model_configuration.md).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hub.client import loading, snapshots
from hub.client.hub import Hub
from hub.protocol import problems, refs

if TYPE_CHECKING:
    import onnx


# What Triton reads as an ONNX model unless a configuration says otherwise.
ENTRY = "model.onnx"
CONFIGURATION = "config.pbtxt"
# ONNX element types (onnx.proto, TensorProto.DataType) -> Triton's (model_config.proto, DataType).
_TYPES = {
    1: "FP32",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    8: "STRING",
    9: "BOOL",
    10: "FP16",
    11: "FP64",
    12: "UINT32",
    13: "UINT64",
    16: "BF16",
}


def write(
    hub: Hub,
    ref: str,
    to: str | os.PathLike[str],
    *,
    opset: int | None = None,
    variant: str | None = None,
    strength: str | None = None,
    max_batch_size: int = 0,
    progress: bool | None = None,
) -> Path:
    """Write a version into the model repository `to`; return the model's folder there.

    Only the model and its external data are written, each verified by its SHA-256. With a
    `max_batch_size` the first dimension of every input and output is Triton's batch dimension; it
    must be free in the model. A configuration that is there already is kept where it has the same
    inputs and outputs. Raise `InvalidRequest` where it has others, where the model has an input or
    output that Triton does not take, and whatever `Hub.load` raises.
    """
    resolved = hub.resolve(ref, opset=opset, variant=variant, strength=strength)
    model, sources = loading.read_graph(
        resolved, lambda files: hub.bring(str(resolved.ref), list(files), progress=progress)
    )
    files = [replace(loading.entry_of(resolved), path=ENTRY)]
    files += [replace(file, path=refs.check_path(location)) for location, file in sources.items()]
    name = resolved.ref.model
    ports = _ports(model, str(resolved.ref), is_batched=max_batch_size > 0)
    text = f'name: {json.dumps(name)}\nbackend: "onnxruntime"\n'
    text += f"max_batch_size: {max_batch_size}\n{ports}"
    folder = Path(to) / name
    configuration = folder / CONFIGURATION
    if configuration.exists() and ports not in configuration.read_text():
        raise problems.InvalidRequest(
            f"{configuration} is not for the inputs and outputs of {resolved.ref}. Remove it, or "
            "write to another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    # The configuration first: a server that looks meanwhile must not guess one.
    if not configuration.exists():
        _write(configuration, text)
    blobs = hub.bring(str(resolved.ref), files, progress=progress)
    # Triton takes a folder of that number for a version, so it appears with all its files.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".hub-") as partial:
        export = snapshots.export(files, blobs, Path(partial) / "version")
        target = folder / str(resolved.number)
        if target.exists():
            target.rename(Path(partial) / "replaced")
        export.rename(target)
    return folder


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".hub-", delete=False) as file:
        file.write(text)
    partial = Path(file.name)
    partial.chmod(0o644)
    partial.replace(path)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its name, Triton's type, and its sizes, -1 where they are free."""

    name: str
    type: str
    sizes: tuple[int, ...]

    def text(self, *, is_batched: bool) -> str:
        """The message ModelInput or ModelOutput, without the batch dimension."""
        sizes = self.sizes[1:] if is_batched else self.sizes
        dims = ", ".join(map(str, sizes or (1,)))
        # Triton has no dims of length 0, but a shape that they stand for.
        reshape = "" if sizes else " reshape { shape: [ ] }"
        name = json.dumps(self.name, ensure_ascii=False)
        return f"{{ name: {name} data_type: TYPE_{self.type} dims: [ {dims} ]{reshape} }}"


def _ports(model: onnx.ModelProto, ref: str, *, is_batched: bool) -> str:
    """The inputs and outputs of a configuration; raise `InvalidRequest`."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    lines = []
    for kind, values in (("input", inputs), ("output", model.graph.output)):
        for port in _read(values, ref):
            if is_batched and port.sizes[:1] != (-1,):
                raise problems.InvalidRequest(
                    f"{ref} cannot be batched: the first dimension of {port.name!r} is not free. "
                    "Write it without a batch size."
                )
            lines.append(f"{kind} {port.text(is_batched=is_batched)}\n")
    return "".join(lines)


def _read(values: Sequence[onnx.ValueInfoProto], ref: str) -> list[Port]:
    ports = []
    for value in values:
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or tensor.elem_type not in _TYPES:
            raise problems.InvalidRequest(
                f"Triton takes tensors of numbers, booleans and strings; {value.name!r} of {ref} "
                "has another type."
            )
        if not tensor.HasField("shape"):
            raise problems.InvalidRequest(
                f"{ref} does not state the shape of {value.name!r}, which Triton needs. Run shape "
                "inference over the model and push it again."
            )
        sizes = tuple(
            size.dim_value if size.HasField("dim_value") else -1 for size in tensor.shape.dim
        )
        ports.append(Port(value.name, _TYPES[tensor.elem_type], sizes))
    return ports
