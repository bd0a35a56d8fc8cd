"""Reads a TensorProto's claims and holds them against the bytes that are really there.

No value is looked at. A tensor whose shape, type and bytes disagree is refused, since libraries
disagree about what it means.
"""

from __future__ import annotations

from collections import Counter

from runners.engine.onnx_files import external, text, walk, wire
from runners.engine.onnx_files.vocabulary import (
    DATA_TYPES,
    ELEMENTS_PER_ENTRY,
    ENTRIES_PER_ELEMENT,
    RUNS,
    STRING,
)
from runners.engine.onnx_files.walk import Tensor, Walk

_FIXED_WIDTH = {4: 4, 10: 8}
_VALUE_FIELDS = frozenset({4, 5, 6, 7, 9, 10, 11})
_EXTERNAL_LOCATION = 1
_MAX_BYTES = 1 << 46


def read_tensor(state: Walk, start: int, end: int) -> Tensor:
    """Read one tensor; what is wrong with it is noted, and only unreadable bytes raise."""
    state.tensors += 1
    state.spend("tensors", state.tensors, walk.MAX_TENSORS)
    state.pass_by(start)
    reader = _Reader(state)
    for number, kind, first, second in wire.fields(state.buffer, start, end, RUNS["tensor"]):
        reader.take(number, kind, first, second)
    return reader.finish()


class _Reader:
    def __init__(self, state: Walk) -> None:
        self._walk = state
        self._tensor = Tensor()
        self._dimensions: list[int] = []
        self._entries: Counter[int] = Counter()
        self._fields: Counter[int] = Counter()
        self._outside: list[tuple[str, str]] = []
        self._location = 0

    def take(self, number: int, kind: int, first: int, second: int) -> None:
        self._fields[number] += 1
        if number in _VALUE_FIELDS:
            self._count(number, kind, first, second)
        elif number == 1:
            self._dimension(kind, first, second)
        elif number == 2 and kind == wire.VARINT:
            self._tensor.data_type = first & 0xFFFFFFFF
        elif number == 8 and kind == wire.BYTES:
            self._tensor.name = self._walk.name(first, second)
        elif number == 13 and kind == wire.BYTES:
            self._outside.append(read_pair(self._walk, first, second))
            self._walk.spend("external-data keys on one tensor", len(self._outside), 64)
        elif number == 14 and kind == wire.VARINT:
            self._location = first

    def _dimension(self, kind: int, first: int, second: int) -> None:
        if kind == wire.VARINT:
            self._dimensions.append(wire.signed(first))
        elif kind == wire.BYTES:
            while first < second and len(self._dimensions) <= walk.MAX_DIMENSIONS:
                value, first = wire.varint(self._walk.buffer, first, second)
                self._dimensions.append(wire.signed(value))
        self._walk.spend("dimensions on one tensor", len(self._dimensions), walk.MAX_DIMENSIONS)

    def _count(self, number: int, kind: int, first: int, second: int) -> None:
        if kind == wire.RUN:
            self._entries[number] += first
        elif kind != wire.BYTES:
            raise wire.MalformedError(f"tensor field {number} uses the wire type {kind}")
        elif number == 9:
            self._tensor.start, self._tensor.stop = first, second
            self._entries[9] += second - first
        elif number == 6:
            self._entries[6] += 1
            self._tensor.stored += second - first
        elif number in _FIXED_WIDTH:
            self._entries[number] += (second - first) // _FIXED_WIDTH[number]
        else:
            self._entries[number] += wire.count_varints(self._walk.buffer, first, second)

    def finish(self) -> Tensor:
        tensor = self._tensor
        tensor.dimensions = tuple(self._dimensions)
        name = f"tensor {tensor.name[:80].decode('utf-8', 'replace')!r}"
        self._walk.trail.append(name)
        try:
            if self._sound_claims():
                self._check_values()
        finally:
            self._walk.trail.pop()
        return tensor

    def _sound_claims(self) -> bool:
        """Work out elements and bytes; False when there is nothing to hold the values against."""
        tensor, refuse = self._tensor, self._walk.refuse
        if self._fields[3]:
            refuse(
                "tensor-segment", "The tensor is split into segments, which no library supports."
            )
        if max((self._fields[number] for number in (2, 8, 9, 14)), default=0) > 1:
            refuse("field-repeated", "A field that may occur once occurs several times.")
        if tensor.data_type not in DATA_TYPES:
            refuse("tensor-type-unknown", f"ONNX has no data type {tensor.data_type}.")
            return False
        if any(size < 0 for size in tensor.dimensions):
            refuse("tensor-negative-dimension", "A dimension of the tensor is negative.")
            return False
        elements = 1
        for size in tensor.dimensions:
            elements *= size
        bits = DATA_TYPES[tensor.data_type][1]
        if elements * max(bits, 8) // 8 > _MAX_BYTES:
            refuse("tensor-too-large", "The tensor's shape requires more than 64 TiB.")
            return False
        tensor.elements = elements
        if tensor.data_type != STRING:
            tensor.stored = (elements * bits + 7) // 8
        return True

    def _check_values(self) -> None:
        fields = [number for number in _VALUE_FIELDS if self._entries[number]]
        if self._location == _EXTERNAL_LOCATION:
            self._check_external(inline_too=bool(fields))
        elif self._location != 0:
            self._walk.refuse("tensor-location-unknown", "The tensor's data location is unknown.")
        elif len(fields) > 1:
            self._walk.refuse(
                "tensor-size-mismatch", "The tensor's values are stored in two fields at once."
            )
        elif fields:
            self._check_inline(fields[0])
        elif self._tensor.elements:
            self._walk.refuse(
                "tensor-without-data",
                f"The tensor's shape requires {self._tensor.elements:,} values, but none are "
                "stored. If the weights were saved in a separate file, export the model again.",
            )

    def _check_inline(self, number: int) -> None:
        tensor = self._tensor
        if number == 9:
            size = tensor.stored
        else:
            entries = tensor.elements * ENTRIES_PER_ELEMENT.get(tensor.data_type, 1)
            size = -(-entries // ELEMENTS_PER_ENTRY.get(tensor.data_type, 1))
        if self._entries[number] != size:
            unit = "bytes" if number == 9 else "values"
            self._walk.refuse(
                "tensor-size-mismatch",
                f"The tensor's shape and type need {size:,} {unit}; {self._entries[number]:,} "
                "are stored. The file is damaged or was written by a faulty tool. Export it again.",
            )

    def _check_external(self, *, inline_too: bool) -> None:
        if inline_too:
            self._walk.refuse(
                "external-data-contradiction",
                "The tensor has data both in the model and in an external file.",
            )
            return
        if self._tensor.data_type == STRING:
            self._walk.refuse(
                "external-data-text", "String tensors cannot be stored in an external file."
            )
            return
        strange = external.strange_keys(self._outside)
        if strange:
            self._walk.notes.add(
                "external-data-unknown-key",
                "info",
                f"External-data keys without a known meaning: {', '.join(strange[:5])}.",
                self._walk.where(),
            )
        external.refer(self._walk, self._outside, self._tensor.stored)


def read_pair(state: Walk, start: int, end: int) -> tuple[str, str]:
    """Read a StringStringEntryProto whose both sides matter, each at most 4,000 characters."""
    pair = ["", ""]
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if number in {1, 2} and kind == wire.BYTES:
            pair[number - 1] = state.buffer[first : min(second, first + 4000)].decode(
                "utf-8", "replace"
            )
    return pair[0], pair[1]


def look_at_metadata(state: Walk, start: int, end: int) -> None:
    """Note a metadata entry whose value has paths of the author's machine, by its key alone."""
    key = ""
    is_local = False
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if kind != wire.BYTES:
            continue
        if number == 1:
            key = text.decode(state.buffer[first : min(second, first + 4000)], text.NAME_LIMIT)
        elif number == 2:
            is_local = text.names_local_path(state.buffer[first : min(second, first + 65536)])
    if is_local:
        state.note_local_path(key or "metadata")


def read_sparse(state: Walk, start: int, end: int) -> Tensor:
    """Read a SparseTensorProto: the tensor of its values, holding the bytes of its indices too."""
    values, indices, counts = Tensor(), Tensor(), Counter[int]()
    for number, kind, first, second in wire.fields(state.buffer, start, end):
        if number in {1, 2} and kind == wire.BYTES:
            counts[number] += 1
            if number == 1:
                values = read_tensor(state, first, second)
            else:
                indices = read_tensor(state, first, second)
    if counts[1] > 1 or counts[2] > 1:
        state.refuse("field-repeated", "A sparse tensor has its values or indices twice.")
    values.stored += indices.stored
    return values
