"""A drill: back up a hub while models are pushed, lose it, restore it elsewhere, compare all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import uuid
from urllib.parse import urlsplit

import pytest

from hub.client.hub import Hub as Client
from tests import ceph, samples
from tests.faults.conftest import ROOT, Hub, own_environment
from tests.integration.conftest import execute


class Restored(Hub):
    """A hub in a home that was restored, with the token of the one that was lost."""

    def __init__(self, home, token, environment):
        self.home, self.token, self.prefix = home, token, []
        self.options = ["--workers", "1"]
        self.environment = environment
        self.start()


def manage(home, environment, *arguments, code=0):
    """Run a management command; returns its output."""
    done = subprocess.run(
        [sys.executable, "-m", "hub", "manage", *arguments],
        cwd=ROOT, env=environment | {"HUB_HOME": str(home)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def push(hub, folder, name, content, **options):
    (folder / name).mkdir()
    (folder / name / "model.onnx").write_bytes(content)
    client = Client(hub.address, token=hub.token, cache=folder / "cache")
    client.push(f"zoo/{name}", folder / name, progress=False, **options)
    return client


def published(hub):
    """The bytes of every published model's file, by the model's name."""
    contents = {}
    for row in hub.call("GET", "models?limit=100")[2]["items"]:
        path = f"models/zoo/{row['name']}/versions"
        for version in hub.call("GET", path)[2]["items"]:
            if version["state"] == "published":
                file = f"{path}/{version['number']}/files/model.onnx"
                status, _, body = hub.call("GET", file)
                assert status == 200, body
                contents[row["name"]] = body
    return contents


class Pushes(threading.Thread):
    """Pushes models, one after the other, until it is stopped."""

    def __init__(self, hub, folder):
        super().__init__()
        self.hub, self.folder, self.ended, self.done = hub, folder, threading.Event(), {}
        self.first = threading.Event()

    def run(self):
        while not self.ended.is_set():
            name = f"during-{len(self.done)}"
            content = samples.unlike_others(samples.mlp())
            push(self.hub, self.folder, name, content)
            self.done[name] = content
            self.first.set()


def another_database(url):
    """The address of an empty database beside this one."""
    name = f"hub_{uuid.uuid4().hex[:12]}"
    execute(url, f"CREATE DATABASE {name}")
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def drop(url):
    execute(url, f"DROP DATABASE {urlsplit(url).path.removeprefix('/')} WITH (FORCE)")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def databases(request):
    """Settings for the database of a hub, and of the hub that takes its place."""
    if request.param == "sqlite":
        yield {}, {}
        return
    first = request.getfixturevalue("database")
    second = another_database(first)
    yield {"DATABASE_URL": first}, {"DATABASE_URL": second}
    drop(second)


@pytest.fixture(params=["folder", "s3"])
def storages(request, tmp_path):
    """Settings for the storage of both hubs, and the address of the backups."""
    if request.param == "folder":
        return {}, {}, str(tmp_path / "backups")
    cluster = request.getfixturevalue("cluster")
    prefix = f"s3://{ceph.BUCKET}/{uuid.uuid4().hex}"
    first, second = (
        cluster.environment | {"HUB_STORAGE_URL": f"{prefix}/{name}"} for name in ("one", "two")
    )
    return first, second, f"{prefix}/backups"


def backed_up_and_lost(home, place, folder, environment):
    """Push models, back up while more are pushed, and lose the home folder.

    Returns the token, the models from before, those that came until the backup began, all of them,
    and the secret key.
    """
    hub = Hub(home, options=["--workers", "1"], **environment)
    try:
        push(hub, folder, "public", samples.unlike_others(samples.mlp()))
        push(hub, folder, "hidden", samples.unlike_others(samples.conv()), visibility="private")
        before = published(hub)
        assert sorted(before) == ["hidden", "public"]
        hub.patch(hub.upload(bytes(100)), 0, bytes(50))
        pushes = Pushes(hub, folder)
        pushes.start()
        try:
            pushes.first.wait(120)
            during = dict(pushes.done)
            assert "backup 2" in manage(home, hub.environment, "backup", place)
        finally:
            pushes.ended.set()
            pushes.join()
        assert "is intact" in manage(home, hub.environment, "verify_backup", place)
    except BaseException:
        print("".join(hub.lines))  # noqa: T201 - why
        raise
    finally:
        hub.stop()
    secret = (home / "secret-key").read_text()
    shutil.rmtree(home)
    return hub.token, before, before | during, before | pushes.done, secret


def test_a_hub_is_lost_and_restored(databases, storages, tmp_path):
    if "DATABASE_URL" in databases[0] and not storages[0]:
        pytest.skip("the other three are enough")
    first, second = (one | other for one, other in zip(databases, storages[:2], strict=True))
    place = storages[2]
    token, before, least, most, secret = backed_up_and_lost(
        tmp_path / "home", place, tmp_path, first
    )
    home = tmp_path / "other"
    environment = own_environment() | {"HUB_BENCH": "off"} | second
    assert " restored: " in manage(home, environment, "restore", place)
    assert (home / "secret-key").read_text() == secret
    assert (home / "secret-key").stat().st_mode & 0o777 == 0o600
    assert "not empty" in manage(home, environment, "restore", place, code=1)
    assert "all blobs are intact" in manage(home, environment, "verify_blobs")
    restored = Restored(home, token, environment)
    try:
        contents = published(restored)
        assert least.items() <= contents.items() <= most.items()
        client = Client(restored.address, token=token, cache=tmp_path / "cache-2")
        model = client.load("zoo/public", progress=False)
        assert model.SerializeToString() == before["public"]
        push(restored, tmp_path, "after", samples.unlike_others(samples.mlp()))
        assert restored.call("GET", "models/zoo/hidden", Authorization="")[0] == 404
        words = manage(home, environment, "backup", place, "--keep", "1")
        assert "1 old backup removed" in words
        assert "is intact" in manage(home, environment, "verify_backup", place)
    except BaseException:
        print("".join(restored.lines))  # noqa: T201 - why
        raise
    finally:
        restored.stop()
