"""Blobs of a bucket on this machine's disk: bounded, verified, and fetched once."""

from __future__ import annotations

import io
import threading
from hashlib import sha256
from itertools import chain

import pytest

from hub.protocol import problems
from registry.storage.s3.local_files import LocalFiles


def local_files(folder, blobs, limit):
    """Files that are fetched from a dictionary, and how often each was."""
    fetched = []

    def fetch(digest):
        fetched.append(digest)
        return io.BufferedReader(io.BytesIO(blobs[digest]))

    return LocalFiles(folder, limit, fetch), fetched


def blobs_of(count, size=1000):
    contents = [bytes([number]) * size for number in range(count)]
    return {sha256(content).hexdigest(): content for content in contents}


def test_those_that_were_not_used_for_longest_go_first(tmp_path):
    blobs = blobs_of(5)
    one, two, three, four, five = blobs
    files, fetched = local_files(tmp_path, blobs, 3000)
    for digest in (one, two, three, one, four):  # two goes
        with files.use() as path_of:
            assert path_of(digest).read_bytes() == blobs[digest]
    with files.use() as path_of:
        kept = [path_of(one), path_of(three), path_of(four)]
        path_of(five)  # nothing can go: all are in use
        assert all(path.exists() for path in kept)
    with files.use() as path_of:
        path_of(two)
    assert fetched == [one, two, three, four, five, two]
    assert sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file()) <= 3000


def test_many_at_once_fetch_a_blob_once(tmp_path):
    blobs = blobs_of(3, 10_000_000)
    files = [local_files(tmp_path, blobs, 10**9) for _ in range(8)]

    def use(one):
        with one.use() as path_of:
            for digest, content in blobs.items():
                assert path_of(digest).read_bytes() == content

    threads = [threading.Thread(target=use, args=[one]) for one, _ in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(chain.from_iterable(fetched for _, fetched in files)) == sorted(blobs)


def test_a_damaged_blob_is_not_used(tmp_path):
    (digest,) = blobs_of(1)
    files, _ = local_files(tmp_path, {digest: b"other bytes"}, 10**9)
    with files.use() as path_of, pytest.raises(problems.Unavailable, match="does not match"):
        path_of(digest)
    assert not any(path.is_file() for path in tmp_path.iterdir())
