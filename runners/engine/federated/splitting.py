"""A model split in two: a skeleton `.onnx`, and a safetensors file with every parameter by name.

The skeleton points into that file. A round then replaces the weights alone; the skeleton's bytes
stay. Two models have the same graph digest when nothing but the values of initializers tells them
apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from hub import counting
from hub.protocol import federated, safetensors
from hub.protocol.federated import FROZEN, TRAINABLE, Part
from runners.engine.federated import roles
from runners.engine.onnx_files import bodies, text
from runners.engine.reports import Finding

_FLOATS: dict[int, str] = {
    onnx.TensorProto.FLOAT: "F32",
    onnx.TensorProto.DOUBLE: "F64",
    onnx.TensorProto.FLOAT16: "F16",
    onnx.TensorProto.BFLOAT16: "BF16",
}
# Types without a counterpart in safetensors stay in the skeleton alone: text, and packed numbers.
_TYPES: dict[int, str] = {
    **_FLOATS,
    onnx.TensorProto.INT64: "I64",
    onnx.TensorProto.INT32: "I32",
    onnx.TensorProto.INT16: "I16",
    onnx.TensorProto.INT8: "I8",
    onnx.TensorProto.UINT64: "U64",
    onnx.TensorProto.UINT32: "U32",
    onnx.TensorProto.UINT16: "U16",
    onnx.TensorProto.UINT8: "U8",
    onnx.TensorProto.BOOL: "BOOL",
}
_VALUES = (
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "double_data",
    "uint64_data",
    "raw_data",
    "external_data",
    "data_location",
)
# A frozen tensor of fewer bytes is in the skeleton as well, where shape inference can read it.
_STAYS_BYTES = 1 << 16
# A constant of more values than this may well be a weight.
_CONSTANT_ELEMENTS = 64
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class Split:
    """A model's parts in the order of its initializers, and what speaks against training it."""

    model: onnx.ModelProto
    parts: tuple[Part, ...]
    findings: tuple[Finding, ...]
    left: tuple[str, ...]


def split(model: onnx.ModelProto, patterns_by_role: Mapping[str, Iterable[str]]) -> Split:
    """Give every parameter its role; only texts and packed numbers are no part of the layout."""
    uses = roles.uses_of(model)
    roles_by_name = {
        tensor.name: roles.role_of(
            tensor, uses, patterns_by_role, is_float=tensor.data_type in _FLOATS
        )
        for tensor in model.graph.initializer
    }
    parts = tuple(
        Part(
            tensor.name,
            _TYPES[tensor.data_type],
            tuple(tensor.dims),
            roles_by_name[tensor.name],
            0.0 if roles.is_variance(tensor.name, uses) else None,
        )
        for tensor in model.graph.initializer
        if tensor.data_type in _TYPES
    )
    left = _not_exchangeable(model)
    findings = [
        *roles.unmatched(model, roles_by_name, patterns_by_role),
        *roles.refusals(model, roles_by_name, uses),
        *_unfit(parts),
    ]
    if left:
        tensors = counting.noun(len(left), "float tensor is", "float tensors are")
        words = (
            f"{len(left):,} {tensors} in constants, bodies, functions or sparse form, "
            f"unchanged: {', '.join(map(repr, left[:3]))}. Only initializers of the main "
            "graph are exchanged."
        )
        findings.append(Finding("training-not-exchangeable", "warning", text.message(words)))
    return Split(model, parts, tuple(findings), left)


def _leaves(part: Part) -> bool:
    """Whether the skeleton points into the weights file for a part, and has no copy of it."""
    size = part.elements * safetensors.ITEM_BYTES[part.dtype]
    return part.role != FROZEN or size >= _STAYS_BYTES


def _unfit(parts: tuple[Part, ...]) -> list[Finding]:
    findings = []
    moving = federated.exchanged(parts)
    if not any(part.role == TRAINABLE for part in moving):
        findings.append(
            Finding(
                "training-nothing-trainable",
                "error",
                "The model has no trainable tensors: no float initializer of its main graph is "
                "used as a weight. Mark some as trainable, or use another version.",
            )
        )
    other = [part for part in moving if part.dtype != "F32"]
    if other:
        findings.append(
            Finding(
                "training-not-float32",
                "error",
                f"{other[0].name[:100]!r} is {other[0].dtype}: small changes are lost in lower "
                "precision, so trainings need float32 weights. Open the training on the float32 "
                "model and derive the lower-precision variant of each version.",
                other[0].name[:100],
            )
        )
    return findings


def _not_exchangeable(model: onnx.ModelProto) -> tuple[str, ...]:
    """Name float tensors that could be weights and do not lie among the main initializers."""
    inner = list(bodies.graphs_of(model.graph))[1:]
    names = [
        *_constants_of(bodies.nodes(model)),
        *(tensor.name for body in inner for tensor in body.initializer if _is_large(tensor)),
        *(sparse.values.name for sparse in model.graph.sparse_initializer),
    ]
    return tuple(dict.fromkeys(text.clip(name, 100) for name in names))


def _constants_of(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    return [
        node.output[0]
        for node in nodes
        if node.op_type == "Constant"
        and node.output
        and any(_is_large(attribute.t) for attribute in node.attribute if attribute.HasField("t"))
    ]


def _is_large(tensor: onnx.TensorProto) -> bool:
    return tensor.data_type in _FLOATS and np.prod(tensor.dims, dtype=float) >= _CONSTANT_ELEMENTS


def graph_digest(model: onnx.ModelProto) -> str:
    """SHA-256 of the deterministic serialisation, the values of main initializers left out.

    Empties these in the model that it is given.
    """
    for tensor in model.graph.initializer:
        for name in _VALUES:
            tensor.ClearField(name)
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()


def write(divided: Split, folder: Path, target: Path) -> dict[str, Any]:
    """Write skeleton and weights; answers what the hub keeps of them.

    ``folder`` holds the files that the model's external data name.
    """
    model, parts = divided.model, {part.name: part for part in divided.parts}
    first, header = safetensors.make_header(
        (part.name, part.dtype, part.shape) for part in divided.parts
    )
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    digest = hashlib.sha256(first)
    with (target / federated.WEIGHTS).open("xb") as file:
        file.write(first)
        for place in header.tensors:
            content = _content(tensors[place.name], folder)
            if len(content) != place.end - place.start:
                raise ValueError(f"the values of {place.name!r} do not fill its shape")
            digest.update(content)
            file.write(content)
    for place in header.tensors:
        if _leaves(parts[place.name]):
            _point(tensors[place.name], header.data_start + place.start, place.end - place.start)
    for tensor in model.graph.initializer:
        if tensor.name not in parts or not _leaves(parts[tensor.name]):
            _embed(tensor, folder)
    with (target / federated.MODEL).open("xb") as file:
        file.write(model.SerializeToString(deterministic=True))
    return {
        "tensors": [part.to_json() for part in divided.parts],
        "layout_digest": federated.layout_digest(divided.parts),
        "weights_digest": digest.hexdigest(),
        "graph_digest": graph_digest(model),
        "parameters": sum(part.elements for part in divided.parts if part.role == TRAINABLE),
        "not_exchangeable": list(divided.left[:_MOST_NAMES]),
    }


def _content(tensor: onnx.TensorProto, folder: Path) -> bytes:
    values = numpy_helper.to_array(tensor, str(folder))
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def _point(tensor: onnx.TensorProto, offset: int, length: int) -> None:
    for name in _VALUES:
        tensor.ClearField(name)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", federated.WEIGHTS), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def _embed(tensor: onnx.TensorProto, folder: Path) -> None:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        content = _content(tensor, folder)
        for name in _VALUES:
            tensor.ClearField(name)
        tensor.raw_data = content
