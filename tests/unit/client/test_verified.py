"""Bytes that a cache gives out are those of their digest, whatever was done to its files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from hub.client import housekeeping
from hub.client.cache import Cache
from hub.client.hub import Hub
from hub.protocol import digests, problems
from tests.unit.client.conftest import make_model

ROOT = Path(__file__).parents[3]


def flip(path):
    """Change one byte and nothing else that `stat` tells but the times."""
    mode = path.stat().st_mode
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        (last,) = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    path.chmod(mode)


def flip_unnoticed(path):
    """The same with the old mtime, as a restored backup or a broken disk may have it."""
    status = path.stat()
    time.sleep(0.02)  # the clock of the file system has steps
    flip(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def exchange(path):
    """Put another file of the same size there, with the old mtime."""
    status = path.stat()
    other = path.with_name("other")
    shutil.copyfile(path, other)
    flip(other)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


DAMAGE = [flip, flip_unnoticed, exchange]


@pytest.fixture
def hashed(monkeypatch):
    """The files whose digest was computed, by their names' first letters."""
    seen = []
    original = digests.copy_and_hash

    def count(reader, writer, *more, **options):
        seen.append(Path(getattr(reader, "name", "")).name)
        return original(reader, writer, *more, **options)

    monkeypatch.setattr(digests, "copy_and_hash", count)
    return seen


@pytest.fixture
def model(fake):
    """zoo/m with external data and a model of over 1 MB, so that its folder has links."""
    files = make_model(rows=300_000, location="w.bin")
    files["large.onnx"] = make_model(rows=300_000)["model.onnx"]
    files["README.md"] = b"# Card"
    fake.add("zoo/m", files, entry="model.onnx")
    return files


def weights(loaded):
    return np.frombuffer(loaded.graph.initializer[0].raw_data, np.float32)


def blob_of(client, content):
    return client.cache.blob_path(digests.hash_bytes(content))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["model.onnx", "w.bin"])
def test_a_damaged_blob_is_fetched_again(fake, client, model, caplog, damage, name):
    client.load("zoo/m")
    blob = blob_of(client, model[name])
    damage(blob)
    fake.requests.clear()
    assert (weights(client.load("zoo/m")) == 1).all()
    assert fake.count("GET", "blobs") == 1
    assert blob.read_bytes() == model[name]
    assert caplog.messages == [f"The cached file {blob} is damaged: {name} is downloaded again."]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["model.onnx", "w.bin", "large.onnx", "README.md"])
def test_a_damaged_folder_is_made_again(fake, client, model, damage, name):
    folder = client.download("zoo/m")
    damage(folder / name)
    assert client.download("zoo/m") == folder
    assert {path: (folder / path).read_bytes() for path in model} == model
    assert (weights(client.load("zoo/m")) == 1).all()


def test_a_folder_keeps_its_place_while_it_is_mended(client, model):
    """Blobs are links into it, and other processes read it."""
    folder = client.download("zoo/m")
    before = {path: (folder / path).stat().st_ino for path in ("", "large.onnx", "README.md")}
    exchange(folder / "w.bin")
    assert client.download("zoo/m") == folder
    assert {path: (folder / path).stat().st_ino for path in before} == before
    assert (folder / "w.bin").read_bytes() == model["w.bin"]


@pytest.mark.parametrize("obstacle", ["", "w.bin"])
def test_a_folder_that_cannot_be_mended_is_replaced(client, model, obstacle):
    folder = client.download("zoo/m")
    path = folder / obstacle
    if obstacle:
        path.unlink()
        path.mkdir()
    else:
        shutil.rmtree(folder)
        folder.write_text("a file")
    assert client.download("zoo/m") == folder
    assert {path: (folder / path).read_bytes() for path in model} == model
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_a_file_that_vanishes_while_it_is_verified_is_missing(client, model, monkeypatch):
    client.load("zoo/m")
    blob = blob_of(client, model["w.bin"])
    os.utime(blob)
    original = Path.open
    monkeypatch.setattr(Path, "open", lambda *of, **how: (of[0].unlink(), original(*of, **how))[1])
    verified = client.cache.verified
    assert not verified.holds(blob, blob.name, len(model["w.bin"]))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_session_does_not_run_on_damaged_weights(fake, client, model, damage):
    client.session("zoo/m", ["CPUExecutionProvider"])
    damage(client.download("zoo/m") / "w.bin")
    session = client.session("zoo/m", ["CPUExecutionProvider"])
    (result,) = session.run(None, {"x": np.ones((1, 300_000), np.float32)})
    assert result.tolist() == [[300_000.0, 300_000.0]]


@pytest.mark.parametrize("damage", DAMAGE)
def test_offline_the_file_and_the_cure_are_named(fake, client, model, damage):
    client.load("zoo/m@1")
    blob = blob_of(client, model["w.bin"])
    damage(blob)
    offline = Hub(fake.url, cache=client.cache.folder, offline=True)
    for _ in range(2):
        with pytest.raises(problems.NotCached, match=f"{blob} is damaged.*w.bin.*HUB_OFFLINE=0"):
            offline.load("zoo/m@1")
    client.load("zoo/m@1")
    assert (weights(offline.load("zoo/m@1")) == 1).all()


def test_a_file_is_hashed_once(fake, client, model, hashed):
    client.load("zoo/m")
    client.download("zoo/m")
    client.session("zoo/m", ["CPUExecutionProvider"])
    # Downloads are hashed on their way; copies in the folder once more.
    count = len(hashed)
    other = Hub(fake.url, cache=client.cache.folder)
    for hub in (client, other):
        hub.load("zoo/m")
        hub.download("zoo/m")
        hub.session("zoo/m", ["CPUExecutionProvider"])
    assert len(hashed) == count


def test_a_touched_file_is_hashed_again_and_used(fake, client, model, hashed, caplog):
    client.load("zoo/m")
    blob = blob_of(client, model["w.bin"])
    hashed.clear()
    fake.requests.clear()
    os.utime(blob)
    client.load("zoo/m")
    assert hashed == [blob.name]
    client.load("zoo/m")
    assert (hashed, fake.count("GET", "blobs"), caplog.messages) == ([blob.name], 0, [])


def test_files_without_a_record_are_hashed(fake, client, model, hashed):
    """Those of an older client, or of a copied cache."""
    client.download("zoo/m")
    shutil.rmtree(client.cache.folder / "verified")
    hashed.clear()
    other = Hub(fake.url, cache=client.cache.folder)
    other.download("zoo/m")
    assert len(hashed) == len(model)
    other.download("zoo/m")
    assert len(hashed) == len(model)


@pytest.mark.parametrize("content", [b"", b"1 2 3", b"\xff\xfe", b"x" * 100_000])
def test_a_strange_record_counts_as_none(fake, client, model, content):
    client.load("zoo/m")
    for record in (client.cache.folder / "verified").iterdir():
        record.write_bytes(content)
    flip(blob_of(client, model["w.bin"]))
    other = Hub(fake.url, cache=client.cache.folder)
    assert (weights(other.load("zoo/m")) == 1).all()


def test_always_hashes_each_time(fake, client, model, hashed, monkeypatch):
    client.load("zoo/m")
    monkeypatch.setenv("HUB_VERIFY", "always")
    careful = Hub(fake.url, cache=client.cache.folder)
    for count in (2, 4):
        careful.load("zoo/m")
        assert len(hashed) == count
    explicit = Hub(fake.url, cache=client.cache.folder, verify="changed")
    explicit.load("zoo/m")
    assert len(hashed) == 4
    monkeypatch.setenv("HUB_VERIFY", "sometimes")
    with pytest.raises(problems.InvalidRequest, match="HUB_VERIFY"):
        Hub(fake.url)


@pytest.fixture
def unprivileged(monkeypatch):
    """A folder of somebody who may read it and no more, and that person."""
    folder = Path(tempfile.mkdtemp(prefix="hub-cache-", dir="/tmp"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    folder.chmod(0o755)
    is_root = os.geteuid() == 0

    def enter():
        # Not the blobs: their ctime would change.
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o555)
            elif path.suffix == ".json":
                path.chmod(0o444)
        if is_root:
            os.seteuid(65534)

    yield folder / "cache", enter
    if is_root:
        os.seteuid(0)
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("has_records", [True, False])
def test_a_cache_that_is_only_read(fake, model, hashed, unprivileged, has_records):
    folder, enter = unprivileged
    Hub(fake.url, cache=folder).download("zoo/m@1")
    if not has_records:
        shutil.rmtree(folder / "verified")
    enter()
    with pytest.raises(PermissionError):
        (folder / "new").touch()
    hashed.clear()
    for offline in (False, True):
        reader = Hub(fake.url, cache=folder, offline=offline)
        for _ in range(2):
            assert (weights(reader.load("zoo/m@1")) == 1).all()
            assert (reader.download("zoo/m@1") / "README.md").read_bytes() == b"# Card"
        if not offline:
            reader.load("zoo/m")  # its answer cannot be kept
    # Once with each `Hub`: the four files of the folder, and the blob of the copied model.
    assert len(hashed) == (0 if has_records else 2 * 5)


def test_a_damaged_cache_that_is_only_read_says_so(fake, model, unprivileged, caplog):
    folder, enter = unprivileged
    Hub(fake.url, cache=folder).load("zoo/m@1")
    blob = Cache(folder).blob_path(digests.hash_bytes(model["w.bin"]))
    flip(blob)
    enter()
    with pytest.raises(problems.CacheUnusable, match="HUB_CACHE"):
        Hub(fake.url, cache=folder).load("zoo/m@1")
    assert str(blob) in caplog.messages[0]


TURN = """
import sys
from hub.client.hub import Hub
hub = Hub(sys.argv[1], cache=sys.argv[2])
model = hub.load("zoo/m", progress=False)
assert set(model.graph.initializer[0].raw_data) == {0, 128, 63}, "wrong weights"
print(hub.download("zoo/m", progress=False))
"""


def test_two_processes_find_the_same_damage(fake, client, model):
    folder = client.download("zoo/m")
    command = [sys.executable, "-c", TURN, fake.url, str(client.cache.folder)]
    for damage in (flip_unnoticed, exchange):
        damage(blob_of(client, model["model.onnx"]))
        damage(folder / "w.bin")
        running = [
            subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        ends = [(*one.communicate(), one.returncode) for one in running]
        assert [(out, code) for out, _, code in ends] == [(f"{folder}\n", 0)] * 2, ends
        assert {path: (folder / path).read_bytes() for path in model} == model


def test_clean_removes_records_of_what_is_gone(client, fake, model, cache):
    client.load("zoo/m")
    client.download("zoo/m")
    records = cache.folder / "verified"
    before = {path.name for path in records.iterdir()}
    housekeeping.prune(cache)
    assert {path.name for path in records.iterdir()} == before
    blob = blob_of(client, model["model.onnx"])
    inode = blob.stat().st_ino
    blob.unlink()
    housekeeping.prune(cache)
    assert before - {path.name for path in records.iterdir()} == {f"{blob.name}.{inode}"}
    housekeeping.prune(cache, everything=True)
    assert [path.name for path in cache.folder.rglob("*") if path.is_file()] == ["CACHEDIR.TAG"]
