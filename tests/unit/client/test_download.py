from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from hub.client import download, partial_downloads, receiver
from hub.client.cache import RemoteFile
from hub.client.partial_downloads import JOURNAL_BYTES, Partial, is_abandoned
from hub.protocol import problems

MIB = 1 << 20


@pytest.fixture
def put(fake):
    """Place random bytes of a size on the hub; return the file."""

    def make(size: int, seed: int = 1) -> RemoteFile:
        content = random.Random(seed).randbytes(size)
        sha256 = hashlib.sha256(content).hexdigest()
        fake.blobs[sha256] = content
        return RemoteFile("model.onnx", size, sha256, f"{fake.url}/api/v1/blobs/{sha256}")

    return make


@pytest.fixture
def small_chunks(monkeypatch):
    """Let files of a few MiB be cut into ranges of 1 MiB."""
    monkeypatch.setattr(receiver, "PARALLEL_BYTES", 2 * MIB)
    monkeypatch.setattr(receiver, "CHUNK_BYTES", MIB)
    monkeypatch.setattr(receiver, "BLOCK_BYTES", 100_000)


def left_overs(cache):
    found = [
        path.name
        for path in cache.folder.rglob("*")
        if path.is_file() and path.parent.name != "verified"
    ]
    return sorted(name for name in found if name != "CACHEDIR.TAG")


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 5 * MIB + 7])
def test_bytes_arrive_verified_and_read_only(fake, put, transport, cache, size):
    file = put(size)
    path = download.fetch(transport, cache, file)
    assert path == cache.blob_path(file.sha256)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert path.stat().st_mode & 0o777 == 0o444
    assert left_overs(cache) == [file.sha256]


def test_large_file_comes_in_parallel_ranges(fake, put, transport, cache, small_chunks):
    file = put(5 * MIB + 7)
    seen = []
    path = download.fetch(transport, cache, file, on_bytes=seen.append)
    assert path.read_bytes() == fake.blobs[file.sha256]
    ranges = sorted(headers["range"] for headers in fake.headers("blobs"))
    assert ranges == sorted(
        f"bytes={n * MIB}-{min((n + 1) * MIB, file.size) - 1}" for n in range(6)
    )
    assert sum(seen) == file.size


def test_second_fetch_asks_nothing(fake, put, transport, cache):
    file = put(2 * MIB)
    download.fetch(transport, cache, file)
    fake.requests.clear()
    seen = []
    download.fetch(transport, cache, file, on_bytes=seen.append)
    assert (fake.requests, seen) == ([], [file.size])


@pytest.mark.parametrize("size", [1000, 3 * MIB])
def test_wrong_bytes_raise_and_leave_nothing(fake, put, transport, cache, size):
    file = put(size)
    fake.corrupt.add(file.sha256)
    with pytest.raises(problems.DigestMismatch, match="discarded"):
        download.fetch(transport, cache, file)
    assert left_overs(cache) == []


@pytest.mark.parametrize("size", [1000, 3 * MIB])
@pytest.mark.parametrize("change", [lambda b: b + b"more", lambda b: b[:-4]])
def test_wrong_size_raises_and_leaves_nothing(fake, put, transport, cache, size, change):
    file = put(size)
    fake.blobs[file.sha256] = change(fake.blobs[file.sha256])
    with pytest.raises(problems.DigestMismatch):
        download.fetch(transport, cache, file)
    assert left_overs(cache) == []


def test_wrong_size_is_seen_in_the_first_range(fake, put, transport, cache, small_chunks):
    file = put(3 * MIB)
    fake.blobs[file.sha256] += b"more"
    with pytest.raises(problems.DigestMismatch, match="has 3145732 bytes"):
        download.fetch(transport, cache, file)
    assert not list(cache.blobs.glob("*"))


@pytest.mark.parametrize("size", [1000, 4 * MIB])
def test_cuts_are_continued_within_one_call(fake, put, transport, cache, size):
    file = put(size)
    fake.cuts.extend([10, 100, 500])
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]


def test_after_a_cut_only_the_rest_is_fetched(fake, put, transport, cache, impatient):
    file = put(4 * MIB)
    fake.cuts.append(3 * MIB)
    fake.cuts.extend([0] * 99)
    with pytest.raises(problems.Unreachable):
        download.fetch(transport, cache, file)
    fake.cuts.clear()
    assert not cache.blob_path(file.sha256).exists()
    fake.requests.clear()
    fake.sent_bytes = 0
    seen = []
    path = download.fetch(transport, cache, file, on_bytes=seen.append)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert fake.headers("blobs")[0]["range"] == f"bytes={3 * MIB}-{4 * MIB - 1}"
    assert fake.sent_bytes == MIB
    assert sum(seen) == file.size
    assert left_overs(cache) == [file.sha256]


def test_killed_process_is_taken_over(fake, put, transport, cache, monkeypatch):
    file = put(6 * MIB)
    script = textwrap.dedent(
        f"""
        import os, sys
        from pathlib import Path
        from hub.client import download, receiver
        from hub.client.cache import Cache, RemoteFile
        from hub.client.config import Config
        from hub.client.transport import Transport
        receiver.JOURNAL_SECONDS = 0.0
        def stop(count, seen=[0]):
            seen[0] += count
            if seen[0] >= 3 * 1048576:
                os.kill(os.getpid(), {int(signal.SIGKILL)})
        folder = Path({str(cache.folder)!r})
        file = RemoteFile("m", {file.size}, {file.sha256!r}, {file.url!r})
        transport = Transport(Config({fake.url!r}, cache=folder))
        download.fetch(transport, Cache(folder), file, on_bytes=stop)
        """
    )
    fake.cuts.append(4 * MIB)
    done = subprocess.run([sys.executable, "-c", script], check=False, cwd=Path.cwd())
    assert done.returncode == -signal.SIGKILL
    fake.cuts.clear()
    fake.sent_bytes = 0
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert 0 < fake.sent_bytes < file.size
    assert left_overs(cache) == [file.sha256]


def test_left_over_with_wrong_bytes_is_started_again(fake, put, transport, cache):
    file = put(2 * MIB)
    torn = Partial.open(cache, file.sha256, file.size)
    torn.write_journal([(0, MIB)])  # as after a power cut: noted, never written
    torn.close()
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert left_overs(cache) == [file.sha256]


@pytest.mark.parametrize(
    "journal", [b"{", b"[[5, 1]]", b"[[0, 99999999999]]", b'[["a", 1]]', b"[1]", b"null"]
)
def test_journal_that_makes_no_sense_counts_as_none(fake, put, transport, cache, journal):
    file = put(2 * MIB)
    torn = Partial.open(cache, file.sha256, file.size)
    torn.close()
    with torn.path.open("r+b") as writer:
        writer.seek(file.size)
        writer.write(journal.ljust(JOURNAL_BYTES))
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]


def test_server_without_ranges(fake, put, transport, cache, small_chunks):
    file = put(3 * MIB)
    fake.has_ranges = False
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert left_overs(cache) == [file.sha256]


def test_range_that_begins_elsewhere_is_not_written(fake, put, transport, cache, small_chunks):
    file = put(3 * MIB)
    fake.ranges_begin_at = 100
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]
    assert "range" not in fake.headers("blobs")[-1]


def test_server_without_ranges_and_with_a_cut(fake, put, transport, cache):
    file = put(3 * MIB)
    fake.has_ranges = False
    fake.cuts.append(MIB)
    path = download.fetch(transport, cache, file)
    assert path.read_bytes() == fake.blobs[file.sha256]


def test_refusal_comes_out_as_itself(put, fake, transport, cache):
    file = put(2 * MIB)
    del fake.blobs[file.sha256]
    with pytest.raises(problems.NotFound):
        download.fetch(transport, cache, file)
    assert not cache.blobs.exists()


def test_interrupt_keeps_what_arrived(fake, put, transport, cache):
    file = put(4 * MIB)
    before = threading.active_count()

    def interrupt(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download.fetch(transport, cache, file, on_bytes=interrupt)
    assert threading.active_count() < before + 20
    left = list(cache.partial.iterdir())
    assert len(left) == 1
    assert is_abandoned(left[0])
    assert download.fetch(transport, cache, file).read_bytes() == fake.blobs[file.sha256]
    assert not list(cache.partial.iterdir())


def test_full_disk_says_what_to_do(put, transport, cache, monkeypatch):
    file = put(9 * MIB)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(partial_downloads.os, "posix_fallocate", full)
    with pytest.raises(problems.CacheUnusable, match="hub cache prune"):
        download.fetch(transport, cache, file)
    assert left_overs(cache) == []


def test_partial_of_a_running_process_is_left_alone(cache):
    first = Partial.open(cache, "a" * 64, 2 * MIB)
    second = Partial.open(cache, "a" * 64, 2 * MIB)
    assert first.path != second.path
    first.close()
    third = Partial.open(cache, "a" * 64, 2 * MIB)
    assert not first.path.exists()
    assert third.path != first.path
    for used in (second, third):
        used.discard()


def test_process_that_is_dead_but_not_waited_for_does_not_count_as_running():
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    child.stdout.read()
    child.stdout.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not partial_downloads._is_running(child.pid)
    child.wait()
    assert not partial_downloads._is_running(child.pid)
    assert partial_downloads._is_running(os.getppid())


def test_partial_of_another_machine_is_taken_over_once_it_is_old(cache):
    folder = cache.prepare(cache.partial)
    path = folder / f"{'a' * 64}.0123456789ab-{os.getpid()}@another-machine"
    path.write_bytes(b"")
    assert not is_abandoned(path)
    os.utime(path, (0, 0))
    assert is_abandoned(path)


def test_many_small_files_and_doubles(fake, put, transport, cache):
    files = [put(1000, seed) for seed in range(20)]
    paths = download.fetch_all(transport, cache, [*files, *files])
    assert {sha256: path.read_bytes() for sha256, path in paths.items()} == fake.blobs
    assert fake.count("GET", "blobs") == 20


def test_cut_divides_a_file_around_what_is_in_place():
    chunks = receiver._cut(10, [(0, 3), (5, 6)], 2)
    assert [(c.start, c.position, c.end) for c in chunks] == [
        (0, 3, 3),
        (3, 3, 5),
        (5, 6, 6),
        (6, 6, 8),
        (8, 8, 10),
    ]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
@pytest.mark.parametrize("size", [1000, 3 * MIB])
def test_an_outage_between_ranges_is_outlived(
    fake, put, transport, cache, small_chunks, status, size, caplog
):
    file = put(size)
    fake.answers.extend([(status, {}, b"")] * 3)
    fake.cuts.extend([10, 0])
    assert download.fetch(transport, cache, file).read_bytes() == fake.blobs[file.sha256]
    assert "Retrying for 60 s more." in caplog.messages[0]
    assert f"({status})" in caplog.messages[0]
