"""Model files read without their weights and written with them, in constant memory.

A skeleton names the bytes it leaves out by where they lie in the file it was read from, so nothing
is copied until the result is written. Weights in files of their own are never touched.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

import onnx

from runners.engine.onnx_files import wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELD_BYTES = 1024
# No path of a version holds a NUL, so no upload can name this place.
_HERE = "\0inline"
_COPIED_AT_ONCE = 4 << 20
_TENSOR = 1
_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _SPARSE, _TRAINING, _FUNCTION = range(2, 9)
# Which fields of a message hold messages that may hold tensors.
_INSIDE = {
    _MODEL: {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 10: _TENSOR, 6: _GRAPH, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TRAINING: {1: _GRAPH, 2: _GRAPH},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
}
_VALUES = frozenset({4, 5, 7, 9, 10, 11})
_RUNS = {_TENSOR: frozenset({4, 5, 7, 10, 11}), _ATTRIBUTE: frozenset({7, 8})}
_EXTERNAL_FIELDS = frozenset({13, 14})

# Bytes themselves, or where they lie in the original file: (first, end).
Chunk = bytes | tuple[int, int]


def read(path: Path) -> onnx.ModelProto:
    """Read a model, leaving larger values where they are; only `write` may be given the result."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as buffer:
        chunks = _cut(buffer, 0, len(buffer), _MODEL)
        model: onnx.ModelProto = onnx.ModelProto.FromString(b"".join(chunks))
        return model


def write(model: onnx.ModelProto, origin: Path, target: Path) -> None:
    """Write a model read by `read`, its values taken from the original file."""
    skeleton = model.SerializeToString()
    with origin.open("rb") as source, target.open("xb") as made:
        for chunk in _filled(skeleton, 0, len(skeleton), _MODEL):
            if isinstance(chunk, bytes):
                made.write(chunk)
            else:
                made.flush()
                _append(source.fileno(), made.fileno(), *chunk)
                made.seek(0, os.SEEK_END)


def _append(source: int, target: int, first: int, end: int) -> None:
    while first < end:
        block = os.pread(source, min(_COPIED_AT_ONCE, end - first), first)
        if not block:
            raise ValueError("the original file ends before its values do")
        first += len(block)
        while block:
            block = block[os.write(target, block) :]


def _cut(buffer: wire.Buffer, start: int, end: int, kind: int) -> Iterator[bytes]:
    inside, before, held = _INSIDE.get(kind, {}), start, (0, 0, 0)
    for number, how, first, second in wire.fields(buffer, start, end, _RUNS.get(kind, frozenset())):
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


def _is_held(kind: int, number: int, how: int, size: int) -> bool:
    return kind == _TENSOR and how == wire.BYTES and number in _VALUES and size > HELD_BYTES


def _filled(buffer: bytes, start: int, end: int, kind: int) -> list[Chunk]:
    if kind == _TENSOR:
        return _filled_tensor(buffer, start, end)
    inside, before = _INSIDE.get(kind, {}), start
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
    """Put neighbouring bytes together, so that a large graph is not a list of crumbs."""
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
