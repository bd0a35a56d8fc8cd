"""What every kind of storage does alike; the kinds' own tests derive from ``StoreContract``."""

from __future__ import annotations

import io
import random
import time
from hashlib import sha256
from itertools import pairwise

import pytest

from hub.protocol import problems
from registry.storage.byte_store import size_of

# More than two parts of a multipart upload.
CONTENT = random.Random(1).randbytes(1 << 20) * 12 + b"the end"
LENGTH = len(CONTENT)
SHA256 = sha256(CONTENT).hexdigest()
SMALL = b"a small blob"
SMALL_SHA256 = sha256(SMALL).hexdigest()
STEP = 1 << 20


def keep(store, content):
    """Store a blob as ``blobs.keep`` does; returns its SHA-256."""
    staged = store.stage(io.BytesIO(content))
    store.keep(staged)
    return staged.sha256


def write(store, name, start, end):
    """Add bytes of CONTENT to an upload, as one request does; returns the size and identity."""
    with store.writer(name) as staged:
        assert staged.size == start
        for offset in range(start, end, STEP):
            staged.write(CONTENT[offset : min(offset + STEP, end)])
        assert staged.sync() == staged.size == end
        return staged.identity


def finish(store, name):
    with store.writer(name) as staged:
        sealed = staged.seal()
        digest = store.hash_staged(sealed)
        store.prepare(sealed, digest)
        store.commit(sealed, digest)
    return digest


class StoreContract:
    """Derived classes have a fixture ``store`` that gives an empty store."""

    def test_a_blob_appears_whole_under_its_digest(self, store):
        staged = store.stage(io.BytesIO(CONTENT))
        assert (staged.sha256, staged.size) == (SHA256, LENGTH)
        assert store.find(SHA256) is None
        store.prepare(staged.name, SHA256)
        store.commit(staged.name, SHA256)
        assert store.find(SHA256).size == LENGTH
        assert abs(store.find(SHA256).written_at - time.time()) < 600
        assert list(store.staged_before(time.time() + 600)) == []
        with store.open(SHA256) as reader:
            assert size_of(reader) == LENGTH
            reader.seek(LENGTH - 7)
            assert reader.read() == b"the end"
            reader.seek(0)
            assert reader.read() == CONTENT
        assert store.read(SHA256, 100) == CONTENT[:100]

    @pytest.mark.parametrize("content", [b"", SMALL])
    def test_small_blobs(self, store, content):
        digest = keep(store, content)
        assert store.read(digest, 100) == content
        with store.open(digest) as reader:
            assert reader.read() == content

    def test_names_are_sorted_and_begin_with_a_prefix(self, store):
        digests = sorted(keep(store, str(number).encode()) for number in range(20))
        assert list(store.names()) == digests
        prefix = digests[7][:2]
        assert list(store.names(prefix)) == [one for one in digests if one.startswith(prefix)]

    def test_what_is_missing_is_unavailable(self, store):
        for read in (lambda: store.open(SHA256), lambda: store.read(SHA256, 1)):
            with pytest.raises(problems.Unavailable, match="is missing from storage"):
                read()
        assert store.find(SHA256) is None

    def test_an_upload_goes_on_where_it_ended(self, store):
        store.begin("upload", LENGTH)
        assert store.staged_size("upload") == 0
        identities = set()
        ends = [0, 1, 4_000_000, 4_000_001, 11_000_000, LENGTH]
        for start, end in pairwise(ends):
            identities.add(write(store, "upload", start, end))
            assert store.staged_size("upload") == end
        assert len(identities) == len(ends) - 1
        assert finish(store, "upload") == SHA256
        assert store.read(SHA256, LENGTH) == CONTENT
        with pytest.raises(FileNotFoundError):
            store.staged_size("upload")

    def test_an_upload_of_no_bytes(self, store):
        store.begin("upload", 0)
        assert finish(store, "upload") == sha256().hexdigest()

    def test_the_same_number_of_other_bytes_has_another_identity(self, store):
        store.begin("upload", LENGTH)
        first = write(store, "upload", 0, 9 * STEP)
        with store.writer("upload") as staged:
            assert staged.identity == first
        store.discard("upload")
        store.begin("upload", LENGTH)
        with store.writer("upload") as staged:
            staged.write(bytes(9 * STEP))
            assert staged.sync() == 9 * STEP
            assert staged.identity != first

    def test_one_request_at_a_time_writes(self, store):
        store.begin("upload", LENGTH)
        with store.writer("upload"), pytest.raises(BlockingIOError), store.writer("upload"):
            pass

    def test_an_unknown_upload(self, store):
        for use in (
            lambda: store.staged_size("upload"),
            lambda: store.writer("upload").__enter__(),
        ):
            with pytest.raises(FileNotFoundError):
                use()
        store.discard("upload")

    def test_what_was_cut_does_not_come_back(self, store):
        store.begin("upload", LENGTH)
        write(store, "upload", 0, 1000)
        with store.writer("upload") as staged:
            staged.write(b"x" * 500)
            staged.cut(1000)
            assert staged.sync() == staged.size == 1000
        write(store, "upload", 1000, LENGTH)
        assert finish(store, "upload") == SHA256

    def test_parts_come_in_any_order_at_once_and_again(self, store):
        store.begin("upload", LENGTH)
        size = 6 * STEP
        for number in (3, 1, 2, 1):
            start = (number - 1) * size
            with store.part("upload", number, start) as part:
                part.write(CONTENT[start : start + size])
        with pytest.raises(ZeroDivisionError), store.part("upload", 4, 0):
            raise ZeroDivisionError
        store.join_parts("upload")
        assert store.staged_size("upload") == LENGTH
        assert finish(store, "upload") == SHA256

    def test_what_is_discarded_is_gone(self, store):
        store.begin("upload", LENGTH)
        write(store, "upload", 0, 9 * STEP)
        later = time.time() + 600
        assert list(store.staged_before(later - 1200)) == []
        assert "upload" in store.staged_before(later)
        for name in set(store.staged_before(later)):
            store.discard(name)
        assert list(store.staged_before(later)) == []
        with pytest.raises(FileNotFoundError):
            store.staged_size("upload")

    def test_freed_bytes_go_when_their_row_is_gone(self, store):
        digest = keep(store, SMALL)
        store.trash(digest)
        ((name, trashed),) = store.trashed()
        assert trashed == digest
        store.erase(digest)
        store.purge(name)
        assert store.find(digest) is None
        assert (list(store.names()), store.trashed()) == ([], [])

    def test_freed_bytes_stay_where_their_row_is_there(self, store):
        digest = keep(store, SMALL)
        store.trash(digest)
        ((name, _),) = store.trashed()
        if not store.restore(name, digest):
            store.purge(name)
        assert (store.read(digest, 100), store.trashed()) == (SMALL, [])

    def test_freed_bytes_that_came_again_stay(self, store):
        store.trash(keep(store, SMALL))
        keep(store, SMALL)
        ((name, digest),) = store.trashed()
        assert not store.restore(name, digest)
        store.purge(name)
        assert (store.read(SMALL_SHA256, 100), store.trashed()) == (SMALL, [])

    def test_bytes_that_were_freed_before_their_commit_are_there_after_it(self, store):
        staged = store.stage(io.BytesIO(SMALL))
        store.prepare(staged.name, staged.sha256)
        store.erase(staged.sha256)
        store.commit(staged.name, staged.sha256)
        assert store.read(SMALL_SHA256, 100) == SMALL

    def test_replaced_bytes_are_not_those_that_were_found(self, store):
        digest = keep(store, SMALL)
        found = store.find(digest)
        assert store.find(digest) == found
        time.sleep(1.1)  # times of objects have seconds
        keep(store, SMALL)
        assert store.find(digest) != found
        store.trash(digest)
        store.erase(digest)
        assert store.find(digest) is None

    def test_files_have_the_bytes_and_the_name(self, store):
        digest = keep(store, CONTENT)
        with store.files() as path_of:
            path = path_of(digest)
            assert (path.name, path.read_bytes()) == (digest, CONTENT)

    def test_objects_have_keys_until_they_are_deleted(self, store):
        for name in ("two", "three", "one"):
            store.put(f"xorbs/a store/{name}", io.BytesIO(name.encode()))
        store.put("xorbs/another/one", io.BytesIO(CONTENT))
        with store.get("xorbs/a store/two") as file:
            file.seek(1)
            assert file.read() == b"wo"
        assert store.stat("xorbs/another/one").size == LENGTH
        assert store.load("xorbs/another/one", 100) == CONTENT[:100]
        store.put("xorbs/another/one", io.BytesIO(b"replaced"))
        assert store.load("xorbs/another/one") == b"replaced"
        names = [f"xorbs/a store/{name}" for name in ("one", "three", "two")]
        assert list(store.keys("xorbs/a store/")) == names
        store.delete(names[2:])
        store.delete(names[2:])
        for read in (store.get, store.load, store.stat):
            with pytest.raises(FileNotFoundError):
                read(names[2])
        store.delete(store.keys("xorbs/a store/"))
        assert list(store.keys("xorbs/")) == ["xorbs/another/one"]
        assert list(store.keys("nothing/")) == []
        assert list(store.staged_before(time.time() + 600)) == []

    def test_a_working_store_is_well(self, store):
        store.check()
