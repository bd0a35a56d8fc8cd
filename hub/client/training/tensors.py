"""Weights read from safetensors, and what a device changed of them written in an encoding.

numpy is imported here: only what trains imports this module.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

try:
    import numpy as np
except ImportError:
    from hub.protocol.problems import LibraryMissing

    raise LibraryMissing(
        "Federated training needs numpy: pip install 'onnx-hub[federated]'."
    ) from None

from pathlib import Path

from hub.protocol import federated, problems, safetensors
from hub.protocol.federated import Part

Array = np.ndarray[Any, Any]
Tensors = dict[str, Array]

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "U64": "<u8",
    "I64": "<i8",
    "U32": "<u4",
    "I32": "<i4",
    "U16": "<u2",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}
_MOST_F16 = 65_504.0
_MOST_INT8 = 127


def read(path: Path) -> Tensors:
    """Read every tensor of a safetensors file; numpy has no BF16, so that comes as its bits."""
    header = safetensors.read_file(path)
    tensors = {}
    with path.open("rb") as reader:
        for tensor in header.tensors:
            if tensor.dtype not in _TYPES:
                continue
            reader.seek(header.data_start + tensor.start)
            values = np.fromfile(reader, _TYPES[tensor.dtype], tensor.elements)
            tensors[tensor.name] = values.reshape(tensor.shape)
    return tensors


def write(path: Path, tensors: Mapping[str, tuple[str, Array]]) -> tuple[str, int]:
    """Write (dtype, values) by name; give the file's SHA-256 (hex) and its bytes."""
    first, header = safetensors.make_header(
        (name, dtype, values.shape) for name, (dtype, values) in tensors.items()
    )
    digest = hashlib.sha256(first)
    with path.open("wb") as writer:
        writer.write(first)
        for tensor in header.tensors:
            values = tensors[tensor.name][1]
            content = np.ascontiguousarray(values, _TYPES[tensor.dtype]).tobytes()
            digest.update(content)
            writer.write(content)
    return digest.hexdigest(), header.file_bytes


@dataclass(slots=True)
class Encoder:
    """Encodes what a device changed; keeps what top-k left unsent for the next round.

    The rest is kept once ``commit`` says that the hub took what was sent.
    """

    parts: Sequence[Part]
    _unsent: Tensors = field(default_factory=dict)
    _pending: Tensors = field(default_factory=dict)

    def commit(self) -> None:
        """Note that the hub has the last contribution."""
        self._unsent, self._pending = self._pending, {}

    def encode(
        self, base: Tensors, trained: Mapping[str, Any], encoding: str, keep: float
    ) -> tuple[dict[str, tuple[str, Array]], float]:
        """Give the tensors to send, and the relative 2-norm of what the encoding loses.

        Raises `TensorMismatch` for tensors that are not those of the training and `NonFinite` for
        values that are no numbers.
        """
        moving = federated.exchanged(self.parts)
        _refuse_strange(trained, self.parts)
        sent: dict[str, tuple[str, Array]] = {}
        lost = whole = 0.0
        self._pending = {}
        for part in moving:
            values = _values(trained, part)
            if encoding == federated.FULL:
                sent[part.name] = ("F32", values)
                continue
            change = values - base[part.name]
            if encoding == federated.DELTA_TOPK and part.name in self._unsent:
                change += self._unsent[part.name]
            tensors, back = _encoded(part, change, encoding, keep)
            sent |= tensors
            if part.role == federated.TRAINABLE:
                lost += _square(change - back)
                whole += _square(change)
                if encoding == federated.DELTA_TOPK:
                    self._pending[part.name] = change - back
        return sent, math.sqrt(lost / whole) if whole else 0.0


def _refuse_strange(trained: Mapping[str, Any], parts: Sequence[Part]) -> None:
    names = {part.name for part in parts}
    for name in trained:
        if name not in names:
            raise problems.TensorMismatch(f"The tensor {name!r} is not part of this training.")


def _values(trained: Mapping[str, Any], part: Part) -> Array:
    if part.name not in trained:
        raise problems.TensorMismatch(f"The tensor {part.name!r} is missing.")
    values = np.asarray(trained[part.name], "<f4")
    if values.shape != part.shape:
        raise problems.TensorMismatch(
            f"{part.name!r} has shape {list(values.shape)}, but the training needs "
            f"{list(part.shape)}."
        )
    if not np.isfinite(values).all():
        raise problems.NonFinite(f"{part.name!r} contains NaN or infinite values.")
    return values


def _square(values: Array) -> float:
    flat = values.astype(np.float64).reshape(-1)
    return float(flat @ flat)


def _encoded(
    part: Part, change: Array, encoding: str, keep: float
) -> tuple[dict[str, tuple[str, Array]], Array]:
    """Give the tensors that carry a change, and the change that they stand for."""
    if part.role == federated.STATISTIC or encoding == federated.DELTA:
        return {part.name: ("F32", change)}, change
    if encoding == federated.DELTA_F16:
        short = np.clip(change, -_MOST_F16, _MOST_F16).astype("<f2")
        return {part.name: ("F16", short)}, short.astype("<f4")
    if encoding == federated.DELTA_INT8:
        return _blocks(part, change)
    return _largest(part, change, keep)


def _blocks(part: Part, change: Array) -> tuple[dict[str, tuple[str, Array]], Array]:
    padded = np.zeros((-(-part.elements // federated.BLOCK), federated.BLOCK), "<f4")
    padded.reshape(-1)[: part.elements] = change.reshape(-1)
    scales = (np.abs(padded).max(axis=1) / _MOST_INT8).astype("<f4")
    safe = np.where(scales > 0, scales, 1)[:, np.newaxis]
    whole = np.clip(np.rint(padded / safe), -_MOST_INT8, _MOST_INT8).astype("i1")
    back = (whole * scales[:, np.newaxis]).reshape(-1)[: part.elements].reshape(part.shape)
    short = whole.reshape(-1)[: part.elements].reshape(part.shape)
    return {part.name: ("I8", short), part.name + federated.SCALE: ("F32", scales)}, back


def _largest(part: Part, change: Array, keep: float) -> tuple[dict[str, tuple[str, Array]], Array]:
    flat = change.reshape(-1)
    count = min(part.elements, max(1, round(keep * part.elements)))
    places = np.sort(np.argpartition(-np.abs(flat), count - 1)[:count]) if count else flat[:0]
    values = np.clip(flat[places.astype(int)], -_MOST_F16, _MOST_F16).astype("<f2")
    back = np.zeros_like(flat)
    back[places.astype(int)] = values
    return {
        part.name + federated.INDEX: ("U32", places.astype("<u4")),
        part.name + federated.VALUE: ("F16", values),
    }, back.reshape(part.shape)
