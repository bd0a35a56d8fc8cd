"""The wire reader: every form of field, counted runs, and bytes that lie."""

from __future__ import annotations

import struct

import pytest

from runners.engine.onnx_files import wire
from tests.samples import field, varint


def fields(data, runs=frozenset()):
    return list(wire.fields(data, 0, len(data), runs))


def test_every_kind_of_field():
    data = b"\x08\x96\x01" + field(2, b"abc") + b"\x1d" + bytes(4) + b"\x21" + bytes(8)
    assert fields(data) == [
        (1, wire.VARINT, 150, 3),
        (2, wire.BYTES, 5, 8),
        (3, wire.FIXED32, 9, 13),
        (4, wire.FIXED64, 14, 22),
    ]


def test_signed():
    assert wire.signed(5) == 5
    assert wire.signed((1 << 64) - 3) == -3


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_runs_of_integers_are_counted(count):
    data = b"".join(varint(8 << 3) + varint(number * 977) for number in range(count))
    tail = field(9, b"x")
    assert fields(data + tail, frozenset({8})) == [
        (8, wire.RUN, count, len(data)),
        (9, wire.BYTES, len(data) + 2, len(data) + 3),
    ]


@pytest.mark.parametrize(("code", "tag"), [("f", 5), ("d", 1)])
def test_runs_of_fixed_numbers_are_counted(code, tag):
    data = b"".join(bytes([7 << 3 | tag]) + struct.pack(f"<{code}", n) for n in range(300))
    assert fields(data + b"\x08\x01", frozenset({7})) == [
        (7, wire.RUN, 300, len(data)),
        (1, wire.VARINT, 1, len(data) + 2),
    ]


def test_packed_integers_are_counted():
    packed = b"".join(varint(number * 331) for number in range(5000))
    assert wire.count_varints(packed, 0, len(packed)) == 5000


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x05ab",  # says five bytes, has two
        b"\x08",  # no value
        b"\x08\x80",  # half a value
        b"\x0a",  # no length
        b"\x1d\x00",  # half a fixed number
        b"\x80",  # half a tag
    ],
)
def test_cut_bytes(data):
    with pytest.raises(wire.TruncatedError):
        fields(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0b",  # a group
        b"\x0e",  # a wire type that does not exist
        b"\x00\x00",  # field number 0
        b"\x08" + b"\xff" * 11,  # an integer of eleven bytes
        b"\xf8\xff\xff\xff\xff\x01\x00",  # a field number above 29 bits
    ],
)
def test_malformed_bytes(data):
    with pytest.raises(wire.MalformedError):
        fields(data)
