"""Reading model files without their weights and writing them with them, in constant memory.

A skeleton refers to the bytes that it leaves out by their position in the original file, so nothing
is copied until the result is written. External data are never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx

from runners.engine.onnx_files import wire
from runners.engine.onnx_files.vocabulary import MESSAGES, RUNS
from runners.engine.opsets.scopes import is_small

HELD_BYTES = 1024
# Paths of versions contain no NUL, so no upload can use this location.
_HERE = "\0inline"
_DETACHED = "\0detached"
_COPIED_AT_ONCE = 4 << 20
_VALUES = frozenset({4, 5, 7, 9, 10, 11})

# Bytes, or their position in the original file: (first, end).
Chunk = bytes | tuple[int, int]


def read(path: Path) -> onnx.ModelProto:
    """Read a model without its larger values; only `write` accepts the result."""
    with wire.mapped(path) as buffer:
        chunks = _cut(buffer, 0, len(buffer), "model")
        model: onnx.ModelProto = onnx.ModelProto.FromString(b"".join(chunks))
        return model


def write(model: onnx.ModelProto, origin: Path, target: Path) -> None:
    """Write a model read by `read`, copying its values from the original file."""
    skeleton = model.SerializeToString()
    with origin.open("rb") as source, target.open("xb") as file:
        for chunk in _filled(skeleton, 0, len(skeleton), "model"):
            if isinstance(chunk, bytes):
                file.write(chunk)
            else:
                file.flush()
                _append(source.fileno(), file.fileno(), *chunk)
                file.seek(0, os.SEEK_END)


def _append(source: int, target: int, first: int, end: int) -> None:
    while first < end:
        block = os.pread(source, min(_COPIED_AT_ONCE, end - first), first)
        if not block:
            raise ValueError("the original file ends before its values do")
        first += len(block)
        while block:
            block = block[os.write(target, block) :]


def _cut(buffer: wire.Buffer, start: int, end: int, kind: str) -> Iterator[bytes]:
    inside, before, held = MESSAGES[kind], start, (0, 0, 0)
    for number, how, first, second in wire.fields(buffer, start, end, RUNS.get(kind, frozenset())):
        if how == wire.BYTES and number in inside:
            yield wire.field(number, b"".join(_cut(buffer, first, second, inside[number])))
        elif _is_held(kind, number, how, second - first):
            held = (number, first, second)
        else:
            yield buffer[before:second]
        before = second
    if held[0]:
        place = {"location": _HERE, "field": held[0], "first": held[1], "end": held[2]}
        for key, value in place.items():
            pair = wire.field(1, key.encode()) + wire.field(2, str(value).encode())
            yield wire.field(13, pair)
        yield b"\x70\x01"  # data_location: EXTERNAL


def _is_held(kind: str, number: int, how: int, size: int) -> bool:
    return kind == "tensor" and how == wire.BYTES and number in _VALUES and size > HELD_BYTES


def _filled(buffer: bytes, start: int, end: int, kind: str) -> list[Chunk]:
    if kind == "tensor":
        return _filled_tensor(buffer, start, end)
    inside, before = MESSAGES[kind], start
    chunks: list[Chunk] = []
    for number, how, first, second in wire.fields(buffer, start, end):
        if how == wire.BYTES and number in inside:
            content = _filled(buffer, first, second, inside[number])
            chunks.append(wire.head(number, sum(_size(chunk) for chunk in content)))
            chunks.extend(content)
        else:
            chunks.append(buffer[before:second])
        before = second
    return _joined(chunks)


def _filled_tensor(buffer: bytes, start: int, end: int) -> list[Chunk]:
    tensor = onnx.TensorProto.FromString(buffer[start:end])
    place = {entry.key: entry.value for entry in tensor.external_data}
    if tensor.data_location != onnx.TensorProto.EXTERNAL or place.get("location") != _HERE:
        return [buffer[start:end]]
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    first, last = int(place["first"]), int(place["end"])
    return [
        tensor.SerializeToString() + wire.head(int(place["field"]), last - first),
        (first, last),
    ]


def _joined(chunks: list[Chunk]) -> list[Chunk]:
    """Join neighbouring bytes, so that a large graph is not a list of many small chunks."""
    joined: list[Chunk] = []
    waiting: list[bytes] = []
    for chunk in chunks:
        if isinstance(chunk, bytes):
            waiting.append(chunk)
            continue
        joined += [b"".join(waiting), chunk]
        waiting = []
    return [*joined, b"".join(waiting)]


def _size(chunk: Chunk) -> int:
    return len(chunk) if isinstance(chunk, bytes) else chunk[1] - chunk[0]


def detach(model: onnx.ModelProto) -> onnx.ModelProto:
    """Copy a model without the values of its initializers, except small ones."""
    skeleton = onnx.ModelProto()
    _copy(model, skeleton, "graph")
    _copy(model.graph, skeleton.graph, "initializer")
    for tensor in model.graph.initializer:
        stub = skeleton.graph.initializer.add()
        if is_small(tensor) or tensor.data_location == onnx.TensorProto.EXTERNAL:
            stub.CopyFrom(tensor)
            continue
        stub.name, stub.data_type = tensor.name, tensor.data_type
        stub.dims.extend(tensor.dims)
        stub.data_location = onnx.TensorProto.EXTERNAL
        stub.external_data.add(key="location", value=_DETACHED)
    return skeleton


def attach(skeleton: onnx.ModelProto, origin: onnx.ModelProto) -> None:
    """Restore the values that `detach` left out, for tensors that still exist."""
    values = {tensor.name: tensor for tensor in origin.graph.initializer}
    for tensor in skeleton.graph.initializer:
        if any(entry.value == _DETACHED for entry in tensor.external_data):
            tensor.CopyFrom(values[tensor.name])


def _copy(source: Any, into: Any, left_out: str) -> None:
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if isinstance(value, (int, float, str, bytes)):
            setattr(into, field.name, value)
        elif hasattr(value, "CopyFrom"):
            getattr(into, field.name).CopyFrom(value)
        else:
            getattr(into, field.name).extend(list(value))
