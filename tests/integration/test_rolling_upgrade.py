"""Two releases on one database: the older one's processes go on while the newer one's start."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from functools import partial
from urllib.parse import urlsplit

import pytest

from hub.client.hub import Hub as Client
from tests import samples
from tests.faults.conftest import ROOT, Hub, admin_token, own_environment, prepared, wait_for

RELEASED = "tests/contracts/released_migrations.toml"


def git(*arguments, **options):
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=False, **options
    )


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The source of the newest release, or until there is one, of the first initial migrations.

    It is the commit that last wrote the release or its heads, which a clone without tags has too.
    """
    is_shallow = git("rev-parse", "--is-shallow-repository", text=True).stdout.strip()
    if is_shallow != "false":
        pytest.skip("this checkout has no history")
    change = "^(release|federated|metadata|registry|runners) = "
    log = git(
        "log", "-1", "--format=%H", f"-G{change}", "--extended-regexp", "--", RELEASED, text=True
    )
    archive = git("archive", log.stdout.strip())
    assert archive.returncode == 0, archive.stderr
    folder = tmp_path_factory.mktemp("older")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    heads = tomllib.loads((folder / RELEASED).read_text())["heads"]
    assert heads == tomllib.loads((ROOT / RELEASED).read_text())["heads"]
    return folder


class Older(Hub):
    """`hub serve` of another source, on a home and a database that the newer source migrated."""

    def __init__(self, source, home, environment):
        self.home, self.source, self.prefix = home, source, []
        self.options = ["--workers", "1"]
        self.environment = environment | {"PYTHONPATH": str(source), "HUB_BENCH": "off"}
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hub", "serve", "--port", "0", "--home", str(home),
             "--no-samples", "--workers", "1"],
            cwd=source, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        import threading

        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        line = wait_for(
            lambda: next((line for line in self.lines if line.startswith("address: ")), None),
            f"the older hub to start: {self.lines}", 120,
        )  # fmt: skip
        self.address = line.removeprefix("address: ").strip()


class NewerWeb:
    """The newer release's web process beside it."""

    def __init__(self, home, environment, public_url):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--config", "python:hub.server.web",
             "--workers", "1", "--threads", "8", "--bind", f"127.0.0.1:{self.port}"],
            cwd=ROOT, env=environment | {
                "DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(home),
                "HUB_PUBLIC_URL": public_url,
            },
        )  # fmt: skip
        wait_for(lambda: self.process.poll() is None and self._answers(), "the newer web process")

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(40) == 0


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def migrated(request, tmp_path_factory):
    """A home whose database the newer source has migrated, its environment and a token."""
    home = tmp_path_factory.mktemp("rolling") / "home"
    environment = own_environment()
    if request.param == "sqlite":
        shutil.copytree(prepared()[0], home)
        return home, environment, prepared()[1]
    environment |= {"DATABASE_URL": request.getfixturevalue("database")}
    home.mkdir()
    inside = environment | {"DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(home)}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c",
         "from hub.server import serve; serve._set_up(samples=False)"],
        cwd=ROOT, env=inside, check=True, capture_output=True,
    )  # fmt: skip
    return home, environment, admin_token(home, environment)


def test_the_older_release_works_beside_the_newer_one(older, migrated, tmp_path):
    home, environment, token = migrated
    first = Older(older, home, environment)
    try:
        second = NewerWeb(home, environment, first.address)
        try:
            contents = {}
            # Each is pushed to one release, checked by the older one's worker, and read from both.
            for name, hub in (("older", first), ("newer", second)):
                contents[name] = samples.unlike_others(samples.mlp())
                folder = tmp_path / name
                folder.mkdir()
                (folder / "model.onnx").write_bytes(contents[name])
                client = Client(hub.address, token=token, cache=tmp_path / f"cache-{name}")
                client.push(f"zoo/{name}", folder, progress=False)
            for hub in (first, second):
                client = Client(
                    hub.address, token=token, cache=tmp_path / f"read-{hub.address[-4:]}"
                )
                for name, content in contents.items():
                    loaded = client.load(f"zoo/{name}", progress=False)
                    assert loaded.SerializeToString() == content
        finally:
            second.stop()
    finally:
        first.stop()
    # The newer release takes over what the older one left.
    words = subprocess.run(
        [sys.executable, "-m", "hub", "manage", "verify_blobs"], cwd=ROOT, text=True,
        env=environment | {"HUB_HOME": str(home)}, capture_output=True, check=True,
    )  # fmt: skip
    assert "all blobs are intact" in words.stdout
    errors = [line for line in first.lines if "[error" in line or "Traceback" in line]
    assert errors == []


def pushed_by(hub, token, method, path, body=b"", **headers):
    """One request of a push; returns status, headers and content."""
    parts = urlsplit(hub.address)
    line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    names = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    names |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        line.request(method, path, body, names)
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        line.close()


def test_the_older_release_starts_again_and_finishes_a_push(older, migrated, tmp_path):
    """Back by one release: what the newer one has begun is finished by the older one."""
    home, environment, token = migrated
    content = samples.unlike_others(samples.mlp())
    half = len(content) // 2
    steps = {"Tus_Resumable": "1.0.0", "Content_Type": "application/offset+octet-stream"}
    address = {"namespace": "zoo", "name": "back"}
    newer = NewerWeb(home, environment, "http://127.0.0.1:8000")
    try:
        ask = partial(pushed_by, newer, token)
        assert ask("POST", "/api/v1/models", json.dumps(address).encode())[0] == 201
        status, headers, _ = ask(
            "POST", "/api/v1/uploads", Tus_Resumable="1.0.0", Upload_Length=str(len(content))
        )
        assert status == 201
        upload = urlsplit(headers["Location"]).path
        status, headers, _ = ask("PATCH", upload, content[:half], Upload_Offset="0", **steps)
        assert (status, headers["Upload-Offset"]) == (204, str(half))
        status, _, draft = ask("POST", "/api/v1/models/zoo/back/versions", b"{}")
        assert status == 201
    finally:
        newer.stop()
    hub = Older(older, home, environment)
    try:
        ask = partial(pushed_by, hub, token)
        assert ask("HEAD", upload, Tus_Resumable="1.0.0")[1]["Upload-Offset"] == str(half)
        status, headers, _ = ask("PATCH", upload, content[half:], Upload_Offset=str(half), **steps)
        assert status == 204
        version = f"/api/v1/models/zoo/back/versions/{json.loads(draft)['number']}"
        blob = json.dumps({"blob": headers["Hub-Blob"]}).encode()
        assert ask("PUT", f"{version}/files/model.onnx", blob)[0] == 201
        assert ask("POST", f"{version}/submit", b'{"publish": true}')[0] in (200, 202)
        wait_for(
            lambda: json.loads(ask("GET", version)[2])["state"] == "published",
            "the older release to check and publish the version", 120,
        )  # fmt: skip
        client = Client(hub.address, token=token, cache=tmp_path / "cache")
        assert client.load("zoo/back", progress=False).SerializeToString() == content
    finally:
        hub.stop()
    errors = [line for line in hub.lines if "[error" in line or "Traceback" in line]
    assert errors == []


def test_the_file_of_released_migrations_names_the_newest_release():
    releases = re.findall(
        r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    newest = releases[0] if releases else "unreleased"
    assert tomllib.loads((ROOT / RELEASED).read_text())["release"] == newest
