"""Reads the protobuf wire format over mapped bytes: no copies, no library, nothing believed.

A field is (number, kind, first, second): for VARINT the value and where it ends; for BYTES, FIXED32
and FIXED64 where the content starts and ends; for RUN how many equal fields follow one another and
where the last one ends.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Buffer = bytes | mmap.mmap
Field = tuple[int, int, int, int]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
RUN = 6

_NOTHING: frozenset[int] = frozenset()
_HIGH_BYTES = bytes(range(0x80, 0x100))
_CHUNK = 1 << 20
_RUNS_OF_VARINTS = {
    # Possessive, so that a hostile length costs one pass and no memory. Each is looked ahead for:
    # Python before 3.11.5 goes on behind what a repetition read in vain (cpython issue 106052).
    tag: re.compile(
        rb"(?:(?=\x%02x[\x80-\xff]{0,9}+[\x00-\x7f])\x%02x[\x80-\xff]*+.)++" % (tag, tag), re.DOTALL
    )
    for tag in range(0, 0x80, 8)
}


class MalformedError(Exception):
    """The bytes are not a protobuf message of this kind."""


class TruncatedError(MalformedError):
    """A field says that more bytes follow than are there."""

    def __init__(self, number: int, claimed: int, left: int) -> None:
        super().__init__(f"field {number} says that it has {claimed} bytes; {left} are left")
        self.number, self.claimed, self.left = number, claimed, left


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    """Map a file for reading."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as buffer:
        yield buffer


def varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """Read a variable-length integer; gives the value (64 bits, unsigned) and where it ends."""
    value = shift = 0
    while position < end:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > 63:
            raise MalformedError("an integer is longer than ten bytes")
    raise TruncatedError(0, 1, 0)


def signed(value: int) -> int:
    """Read 64 bits as the signed integer they stand for."""
    return value - (1 << 64) if value >> 63 else value


def fields(
    buffer: Buffer, position: int, end: int, runs: frozenset[int] = _NOTHING
) -> Iterator[Field]:
    """Walk the fields of one message. Scalar fields named in `runs` are counted, not listed.

    Raises MalformedError for what no writer of protobuf makes, groups included.
    """
    while position < end:
        tag = buffer[position]
        start = position
        position += 1
        if tag >= 0x80:
            tag, position = varint(buffer, start, end)
        number, kind = tag >> 3, tag & 7
        if number == 0 or tag >> 32:
            raise MalformedError("a field has the number 0 or one above 29 bits")
        if number in runs and kind != BYTES:
            count, position = _run(buffer, start, end, tag)
            yield number, RUN, count, position
        elif kind == BYTES:
            size, position = _size(buffer, position, end, number)
            yield number, BYTES, position, position + size
            position += size
        elif kind == VARINT:
            value, position = varint(buffer, position, end)
            yield number, VARINT, value, position
        elif kind in {FIXED32, FIXED64}:
            size = 4 if kind == FIXED32 else 8
            if end - position < size:
                raise TruncatedError(number, size, end - position)
            yield number, kind, position, position + size
            position += size
        else:
            raise MalformedError(f"field {number} uses the wire type {kind}, which ONNX never does")


def messages(buffer: Buffer, start: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    """Where the contents of the fields of bytes with this number start and end."""
    for field_number, kind, first, second in fields(buffer, start, end):
        if field_number == number and kind == BYTES:
            yield first, second


def _size(buffer: Buffer, position: int, end: int, number: int) -> tuple[int, int]:
    if position < end and buffer[position] < 0x80:
        size, position = buffer[position], position + 1
    else:
        size, position = varint(buffer, position, end)
    if size > end - position:
        raise TruncatedError(number, size, end - position)
    return size, position


def _run(buffer: Buffer, start: int, end: int, tag: int) -> tuple[int, int]:
    """Count equal scalar fields in a row, at the speed of C: trees bring millions of them."""
    kind = tag & 7
    if tag >= 0x80:
        raise MalformedError("a repeated field is written with a two-byte tag")
    if kind == VARINT:
        match = _RUNS_OF_VARINTS[tag].match(buffer, start, end)
        if match is None:
            raise TruncatedError(tag >> 3, 1, end - start)
        # Each field is one tag and one last byte below 0x80.
        return count_varints(buffer, start, match.end()) // 2, match.end()
    if kind not in {FIXED32, FIXED64}:
        raise MalformedError(f"field {tag >> 3} uses the wire type {kind}, which ONNX never does")
    stride = 5 if kind == FIXED32 else 9
    if end - start < stride:
        raise TruncatedError(tag >> 3, stride - 1, end - start - 1)
    count, mark = 0, bytes([tag])
    while end - start >= stride:
        many = min(_CHUNK, (end - start) // stride)
        marks = bytes(buffer[start : start + many * stride : stride])
        equal = many - len(marks.lstrip(mark))
        count += equal
        start += equal * stride
        if equal < many:
            break
    return count, start


def count_varints(buffer: Buffer, start: int, end: int) -> int:
    """Count the bytes that end an integer between two places."""
    total = 0
    for first in range(start, end, _CHUNK):
        total += len(buffer[first : min(first + _CHUNK, end)].translate(None, _HIGH_BYTES))
    return total


def field(number: int, content: bytes) -> bytes:
    """Write a field of bytes."""
    return head(number, len(content)) + content


def head(number: int, size: int) -> bytes:
    """Write what precedes the content of a field of this size in bytes."""
    return _written(number << 3 | BYTES) + _written(size)


def _written(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)
