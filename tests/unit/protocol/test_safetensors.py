"""Headers of safetensors files: read strictly, written in one way."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from hub.protocol import safetensors
from hub.protocol.safetensors import MalformedError

A = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
B = {"dtype": "I8", "shape": [5], "data_offsets": [24, 29]}


def parse(said, size=29):
    text = said if isinstance(said, bytes) else json.dumps(said).encode()
    return safetensors.parse(text, 8 + len(text) + size)


def test_a_header_tells_tensors_in_the_order_of_their_bytes():
    found = parse({"b": B, "__metadata__": {"format": "pt"}, "a": A})
    assert [tensor.name for tensor in found.tensors] == ["a", "b"]
    assert found.metadata == {"format": "pt"}
    assert found.by_name()["a"].shape == (2, 3)


@pytest.mark.parametrize(
    ("said", "words", "tensor"),
    [
        ({"a": A, "b": {**B, "data_offsets": [25, 30]}}, "gap", "b"),
        ({"a": A, "b": {**B, "data_offsets": [23, 28]}}, "overlaps", "b"),
        ({"a": {**A, "data_offsets": [0, 20]}, "b": B}, "do not match", "a"),
        ({"a": {**A, "data_offsets": [24, 0]}, "b": B}, "do not match", "a"),
        ({"a": {**A, "shape": [2, -3]}, "b": B}, "shape", "a"),
        ({"a": {**A, "shape": [2, 3.0]}, "b": B}, "shape", "a"),
        ({"a": {**A, "shape": [True, 6]}, "b": B}, "shape", "a"),
        ({"a": {**A, "shape": [1] * 17}, "b": B}, "shape", "a"),
        ({"a": {**A, "dtype": "F31"}, "b": B}, "type", "a"),
        ({"a": {**A, "dtype": ["F32"]}, "b": B}, "type", "a"),
        ({"a": {**A, "more": 1}, "b": B}, "must have", "a"),
        ({"a": A, "": B}, "name", ""),
        ({"a": A, "b\n": B}, "name", "b\n"),
        ({"a": A}, "requires", ""),
        ({"a": A, "b": B, "__metadata__": {"x": 1}}, "metadata", ""),
        (b'{"a": 1, "a": 2}', "twice", ""),
        (b'{"a": NaN}', "not JSON", ""),
        (b" {}", "object", ""),
        (b"[]", "object", ""),
        (b"\xff", "not JSON", ""),
        (b"[" * 100_000, "not JSON", ""),
        (b'{"a": ' + b"1" * 5000 + b"}", "not JSON", ""),
    ],
)
def test_what_is_not_as_it_must_be_is_named(said, words, tensor):
    with pytest.raises(MalformedError, match=words) as caught:
        parse(said)
    assert caught.value.tensor == tensor


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "too short"),
        ((1 << 20) + 1, "1,048,576"),
        (100, "ends inside"),
    ],
)
def test_a_length_is_believed_within_bounds(content, words):
    if isinstance(content, int):
        content = content.to_bytes(8, "little") + b"{}"
    with pytest.raises(MalformedError, match=words):
        safetensors.read(io.BytesIO(content), len(content))


NAMES = some.text(min_size=1, max_size=8).filter(str.isprintable)
TENSORS = some.dictionaries(
    NAMES.filter(lambda name: name != "__metadata__"),
    some.tuples(
        some.sampled_from(sorted(safetensors.ITEM_BYTES)),
        some.lists(some.integers(0, 4), max_size=3).map(tuple),
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(TENSORS, some.randoms())
def test_what_is_written_is_read_and_has_one_form(tensors, random):
    rows = [(name, dtype, shape) for name, (dtype, shape) in tensors.items()]
    first, header = safetensors.make_header(rows)
    random.shuffle(rows)
    assert safetensors.make_header(rows) == (first, header)
    assert header.data_start == len(first)
    assert header.data_start % 8 == 0
    assert safetensors.read(io.BytesIO(first), header.file_bytes) == header
    found = {tensor.name: (tensor.dtype, tensor.shape) for tensor in header.tensors}
    assert found == tensors


@settings(max_examples=150, deadline=None)
@given(some.data())
def test_a_damaged_header_is_refused_or_still_covers_all_bytes(data):
    first, header = safetensors.make_header([("w", "F32", (2, 2)), ("v", "F16", (3,))])
    raw = bytearray(first)
    for _ in range(data.draw(some.integers(1, 3))):
        raw[data.draw(some.integers(0, len(raw) - 1))] = data.draw(some.integers(0, 255))
    try:
        found = safetensors.read(io.BytesIO(bytes(raw)), header.file_bytes)
    except MalformedError:
        return
    place = 0
    for tensor in found.tensors:
        assert tensor.start == place
        place = tensor.end
    assert found.data_start + place == header.file_bytes
