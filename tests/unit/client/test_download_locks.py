"""One download of a file for all who share a cache, and none that waits for ever."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hub.client import download, download_locks
from hub.client.cache import Cache, RemoteFile
from hub.client.config import Config
from hub.client.transport import Transport

SIZE = 3 << 20


@pytest.fixture
def file(fake):
    content = random.Random(5).randbytes(SIZE)
    sha256 = hashlib.sha256(content).hexdigest()
    fake.blobs[sha256] = content
    return RemoteFile("model.onnx", SIZE, sha256, f"{fake.url}/api/v1/blobs/{sha256}")


def test_eight_that_ask_at_once_download_it_once(fake, file, tmp_path):
    together = threading.Barrier(8)

    def fetch(_):
        cache = Cache(tmp_path / "cache")
        transport = Transport(Config(fake.url, cache=cache.folder))
        together.wait()
        counts = []
        path = download.fetch(transport, cache, file, on_bytes=counts.append)
        return path.read_bytes(), sum(counts)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fetch, range(8)))
    assert results == [(fake.blobs[file.sha256], SIZE)] * 8
    assert fake.sent_bytes == SIZE
    assert list((tmp_path / "cache" / "partial").iterdir()) == []


def test_the_lock_of_a_killed_process_is_free(fake, file, transport, cache):
    script = f"""
        from pathlib import Path
        from hub.client import download_locks
        from hub.client.cache import Cache
        with download_locks.alone(Cache(Path({str(cache.folder)!r})), {file.sha256!r}, {SIZE}):
            print("held", flush=True)
            input()
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with holder:
        assert holder.stdout.readline() == "held\n"
        waits = []

        def kill(seconds):
            waits.append(seconds)
            holder.kill()
            holder.wait()

        transport.sleep = kill
        assert download.fetch(transport, cache, file).read_bytes() == fake.blobs[file.sha256]
    assert waits == [download_locks.FIRST_POLL_SECONDS]


@pytest.mark.parametrize("size", [900_000, SIZE], ids=["small", "large"])
def test_eight_processes_that_ask_at_once_download_it_once(fake, tmp_path, size):
    content = random.Random(6).randbytes(size)
    fake.add("zoo/net", {"model.onnx": content, "labels.txt": content[:2_000]})
    script = """
        import sys
        from hub.client.hub import Hub
        client = Hub(sys.argv[1], cache=sys.argv[2])
        print("ready", flush=True)
        sys.stdin.readline()
        folder = client.download("zoo/net@1")
        print(sum(path.stat().st_size for path in folder.iterdir()))
    """
    command = [sys.executable, "-c", textwrap.dedent(script), fake.url, tmp_path / "cache"]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    sizes = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sizes == [size + 2_000] * 8
    assert fake.sent_bytes == size + 2_000
    assert fake.count("GET", "/blobs/") == 2
    assert list((tmp_path / "cache" / "partial").iterdir()) == []


def test_a_small_file_is_not_waited_for_long(fake, transport, cache, monkeypatch):
    content = b"labels"
    sha256 = hashlib.sha256(content).hexdigest()
    fake.blobs[sha256] = content
    small = RemoteFile("labels.txt", 6, sha256, f"{fake.url}/api/v1/blobs/{sha256}")
    monkeypatch.setattr(download_locks, "SMALL_STALLED_SECONDS", 0.0)
    with download_locks.alone(cache, sha256, 6, is_small=True) as present:
        assert present is None
        assert download.fetch(transport, cache, small).read_bytes() == content


def test_nobody_waits_for_one_who_receives_nothing(fake, file, transport, cache, monkeypatch):
    monkeypatch.setattr(download_locks, "STALLED_SECONDS", 0.0)
    with download_locks.alone(cache, file.sha256, SIZE) as present:
        assert present is None
        assert download.fetch(transport, cache, file).read_bytes() == fake.blobs[file.sha256]
    assert fake.sent_bytes == SIZE


def test_a_file_system_without_locks_is_none_to_wait_for(fake, file, transport, cache, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(download_locks.fcntl, "flock", refuse)
    with download_locks.alone(cache, file.sha256, SIZE):
        assert download.fetch(transport, cache, file).read_bytes() == fake.blobs[file.sha256]
