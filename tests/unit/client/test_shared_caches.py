"""Caches that are only read: baked into an image, owned by another user, or shared below one's own.

Real permissions: as root, the reader is a forked child that has become another user.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

from hub.client import housekeeping
from hub.client.config import Config
from hub.client.hub import Hub
from hub.protocol import problems
from tests.unit.client.conftest import make_model

NOBODY = 65534
_WRITES = {"os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate"}


@pytest.fixture
def baked(fake):
    """A filled cache that others may read and no one may write, in a folder all may enter."""
    folder = Path(tempfile.mkdtemp(prefix="hub-baked-"))
    fake.add("zoo/ones", make_model(rows=300_000, location="w.bin"))
    client = Hub(fake.url, cache=folder)
    client.load("ones")
    client.download("ones@1")
    client.session("ones")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def as_another_user(work):
    """Run `work` in a child that may not write what this process owns; raise what it raised."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            status = 0
        except BaseException:  # noqa: BLE001  (the parent raises it)
            os.write(writer, traceback.format_exc()[-4000:].encode())
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as report:
        text = report.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, text


def state(folder):
    return {
        str(path): (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
        for path in [folder, *folder.rglob("*")]
        for status in [path.lstat()]
    }


@pytest.mark.parametrize("offline", [True, False])
def test_a_cache_of_another_user(fake, baked, offline):
    before = state(baked)
    writes = []

    def watch(event, arguments):
        path = str(arguments[0]) if arguments else ""
        is_write = event in _WRITES or (
            event == "open" and isinstance(arguments[2], int)
            and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )  # fmt: skip
        if is_write and path.startswith(str(baked)):
            writes.append((event, path))

    def work():
        sys.addaudithook(watch)
        client = Hub(fake.url, cache=baked, offline=offline, retry_seconds=0)
        with pytest.raises(PermissionError):
            (baked / "probe").write_text("x")
        writes.clear()
        for ref in ("ones", "ones@1"):
            assert client.load(ref).graph.name == "ones"
            assert client.download(ref).is_dir()
            assert client.session(ref).get_inputs()[0].name == "x"
        assert writes == []

    as_another_user(work)
    assert state(baked) == before


def test_what_a_cache_of_another_user_lacks(fake, baked):
    fake.add("zoo/twos", make_model(rows=4))

    def work():
        client = Hub(fake.url, cache=baked, retry_seconds=0)
        with pytest.raises(problems.CacheUnusable, match="Set HUB_CACHE"):
            client.load("twos")

    as_another_user(work)


def test_a_shared_cache_below_ones_own(fake, baked, tmp_path, monkeypatch):
    own = tmp_path / "own"
    monkeypatch.setenv("HUB_CACHE", f"{baked}{os.pathsep}{own}")
    monkeypatch.setenv("HUB_URL", fake.url)
    before = state(baked)
    client = Hub(retry_seconds=0)
    assert (client.config.cache, client.config.shared_caches) == (own, (baked,))
    sent = fake.sent_bytes
    assert client.load("ones@1").graph.name == "ones"
    assert client.download("ones@1").is_relative_to(baked)
    assert fake.sent_bytes == sent  # nothing was downloaded
    fake.add("zoo/ones", make_model(rows=5))
    assert client.download("ones").is_relative_to(own)
    assert [one.ref for one in housekeeping.holdings(client.cache)] == ["zoo/ones@1", "zoo/ones@2"]
    housekeeping.prune(client.cache, everything=True)
    assert [one.ref for one in housekeeping.holdings(client.cache)] == ["zoo/ones@1"]
    assert client.load("ones@1").graph.name == "ones"
    assert state(baked) == before


def test_a_folder_is_made_of_copies_of_shared_blobs(fake, tmp_path):
    shared, own = tmp_path / "shared", tmp_path / "own"
    fake.add("zoo/ones", make_model(rows=300_000, location="w.bin"))
    Hub(fake.url, cache=shared).load("ones")  # blobs alone, no folder
    before = state(shared)
    client = Hub(fake.url, cache=own)
    client.cache = type(client.cache)(own, shared=[shared])
    folder = client.download("ones")
    assert folder.is_relative_to(own)
    assert client.session("ones").get_inputs()[0].name == "x"
    assert state(shared) == before


def test_a_damaged_file_of_a_shared_cache_is_downloaded(fake, tmp_path):
    shared, own = tmp_path / "shared", tmp_path / "own"
    fake.add("zoo/ones", make_model())
    Hub(fake.url, cache=shared).load("ones")
    (blob,) = (shared / "blobs").iterdir()
    blob.chmod(0o644)
    blob.write_bytes(b"x" * blob.stat().st_size)
    client = Hub(fake.url, cache=own)
    client.cache = type(client.cache)(own, shared=[shared])
    assert client.load("ones").graph.name == "ones"
    assert (own / "blobs" / blob.name).exists()


def test_one_folder_is_one_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HUB_CACHE", str(tmp_path))
    config = Config.from_environment()
    assert (config.cache, config.shared_caches) == (tmp_path, ())
    monkeypatch.setenv("HUB_CACHE", os.pathsep.join(["/a", "", "/b", str(tmp_path)]))
    config = Config.from_environment()
    assert config.shared_caches == (Path("/a"), Path("/b"))
    assert Config.from_environment(cache="/c").shared_caches == ()
