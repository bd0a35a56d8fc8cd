"""Xorbs and shards: read as clients write them, refused where they are hostile or broken."""

from __future__ import annotations

import hashlib
import io

import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.storage.xet import hashes, shards, xorbs
from tests import xet_samples as made


def test_a_single_chunk_is_its_own_tree():
    assert hashes.xorb_hash([(b"\x07" * 32, 5)]) == b"\x07" * 32
    assert hashes.xorb_hash([]) == bytes(32)


def test_a_hash_is_written_with_each_group_of_eight_reversed():
    value = bytes(range(32))
    assert hashes.to_text(value).startswith("0706050403020100" + "0f0e0d0c0b0a0908")
    assert hashes.from_text(hashes.to_text(value)) == value


@pytest.mark.parametrize("text", ["", "0" * 63, "G" * 64, "A" * 64, "../" + "0" * 61])
def test_a_name_that_is_no_hash_is_refused(text):
    with pytest.raises(hashes.BadHash):
        hashes.from_text(text)


@settings(max_examples=30)
@given(
    st.lists(st.binary(min_size=1, max_size=400), min_size=1, max_size=30),
    st.sampled_from([0, 1, 2]),
)
def test_a_xorb_gives_back_its_chunks(contents, scheme):
    name, body = made.xorb(*contents, scheme=scheme)
    assert xorbs.check(io.BytesIO(body), name) == [len(content) for content in contents]
    middle = len(contents) // 2
    found = b"".join(xorbs.read(io.BytesIO(body), middle, len(contents)))
    assert found == b"".join(contents[middle:])


def test_a_footer_is_passed_over():
    name, body = made.xorb(b"abc", b"def")
    assert xorbs.check(io.BytesIO(body + b"XETBLOB\x01" + bytes(40)), name) == [3, 3]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no chunk"),
        (made.chunk(b"abcdef")[:-1], "middle of a chunk"),
        (made.chunk(b"abcdef")[:5], "chunk's header"),
        (made.chunk(b"abc", version=1), "version 1"),
        (made.chunk(b"abc", 3, stored=b"abc"), "scheme 3"),
        (made.chunk(b"abc", plain_bytes=0), "0 bytes"),
        (made.chunk(b"abc", plain_bytes=4), "another length"),
        (made.chunk(b"abc", plain_bytes=200_000), "200000 bytes"),
        (made.chunk(b"", stored=b"", plain_bytes=1), "stored in 0 bytes"),
        (made.chunk(b"abc", 1, stored=b"no frame at all"), "not an LZ4 frame"),
        (made.chunk(b"abc", 1, stored=lz4.frame.compress(b"abc")[:-6]), "chunk"),
    ],
)
def test_a_broken_xorb_is_refused(body, words):
    with pytest.raises(xorbs.BadXorb, match=words):
        xorbs.check(io.BytesIO(body), "0" * 64)


def test_a_bomb_is_cut_at_the_length_that_its_header_says():
    bomb = lz4.frame.compress(bytes(50_000_000))
    assert len(bomb) > xorbs.LONGEST_CHUNK_BYTES
    small = lz4.frame.compress(bytes(20_000_000))
    body = made.chunk(b"x" * 100, 1, stored=small)
    with pytest.raises(xorbs.BadXorb, match="another length"):
        xorbs.check(io.BytesIO(body), "0" * 64)


def test_a_xorb_under_another_name_is_refused():
    _, body = made.xorb(b"abc")
    name, _ = made.xorb(b"abd")
    with pytest.raises(xorbs.BadXorb, match="have the hash"):
        xorbs.check(io.BytesIO(body), name)


def test_a_shard_tells_what_files_are_made_of():
    sha256 = hashlib.sha256(b"whatever").hexdigest()
    name, _ = made.xorb(b"abc")
    body = made.shard((sha256, [(name, 0, 1, 3), (name, 0, 1, 3)]), flags=(1 << 30) | (1 << 31))
    (file,) = shards.read(io.BytesIO(body + b"xorb infos that nobody reads"))
    assert file.sha256 == sha256
    assert file.size == 6
    assert file.terms[0] == shards.Term(name, 0, 1, 3)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "truncated"),
        (made.shard(version=3), "version 3"),
        (made.shard(magic=b"x" * 32), "start"),
        (made.shard(end=False), "truncated"),
        (made.shard(("0" * 64, [])), "has no content"),
        (made.shard(("0" * 64, [("1" * 64, 2, 2, 5)])), "empty range"),
        (made.shard(("0" * 64, [("1" * 64, 0, 1, 5)]), flags=0), "SHA-256"),
        (made.shard(("0" * 64, [("1" * 64, 0, 1, 5)]))[:-50], "truncated"),
    ],
)
def test_a_broken_shard_is_refused(body, words):
    with pytest.raises(shards.BadShard, match=words):
        list(shards.read(io.BytesIO(body)))


@settings(max_examples=30)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused_or_read_and_nothing_else(content):
    with pytest.raises((xorbs.BadXorb, shards.BadShard)):
        xorbs.check(io.BytesIO(content), "0" * 64)
    with pytest.raises(shards.BadShard):
        list(shards.read(io.BytesIO(content)))
