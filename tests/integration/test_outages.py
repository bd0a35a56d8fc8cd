"""Clients at work while the database or the web process is killed: they wait, and lose nothing."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.client.hub import Hub as Client
from tests.faults.conftest import ROOT, Hub, wait_for

PUSHES = 4
ROWS = 3_000_000
OUTAGE_SECONDS = 12.0


def model():
    """A model of 24 MB whose bytes no other one has: the hub must receive and check them."""
    rng = np.random.default_rng(secrets.randbits(64))
    values = rng.standard_normal((ROWS, 2)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "outage",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ROWS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(values, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


class Postgres:
    """A PostgreSQL server of our own in a temporary folder, so that it may be killed."""

    def __init__(self, programs):
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="hub-postgres-"))
        self.data = self.folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        # PostgreSQL refuses to run as root.
        self.user = {}
        if os.getuid() == 0:
            entry = pwd.getpwnam("postgres")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust")
        self.start()

    def run(self, program, *words):
        subprocess.run(
            [self.programs / program, *map(str, words)],
            check=True, cwd=self.folder, stdout=subprocess.DEVNULL, **self.user,
        )  # fmt: skip

    def start(self):
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        log = self.folder / "log"
        self.run("pg_ctl", "-D", self.data, "-o", settings, "-l", log, "-w", "start")

    def kill(self):
        """`kill -9` the server and every process of it."""
        parent = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for pid in [parent, *map(int, children)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        wait_for(lambda: not Path(f"/proc/{parent}").exists() or _is_zombie(parent), "its end")

    def close(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture(scope="module")
def postgres():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = shutil.which("initdb") or (found[-1] if found else None)
    if program is None:
        pytest.skip("PostgreSQL is not installed here")
    server = Postgres(Path(program).parent)
    yield server
    server.close()


@pytest.fixture(scope="module")
def hub(tmp_path_factory, postgres):
    """`hub serve` on that PostgreSQL."""
    made = Hub(tmp_path_factory.mktemp("hub") / "home", DATABASE_URL=postgres.url)
    yield made
    made.stop()


class Push:
    """`hub push` of one model, with its standard error."""

    def __init__(self, hub, folder, name):
        self.name = name
        (folder / name).mkdir()
        (folder / name / "model.onnx").write_bytes(model())
        environment = hub.environment | {
            "HUB_URL": hub.address,
            "HUB_TOKEN": hub.token,
            "HUB_CACHE": str(folder / f"{name}-cache"),
            "XDG_CONFIG_HOME": str(folder),
        }
        self.log = folder / f"{name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hub", "push", f"zoo/{name}", str(folder / name)],
                cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip

    def has_retried(self):
        return "Retrying for" in self.log.read_text()

    def end(self):
        out, _ = self.process.communicate(timeout=240)
        return self.process.returncode, out, self.log.read_text()


@pytest.fixture
def push(hub, tmp_path):
    """Start four pushes, of models named with a prefix; what is left of them ends with the test."""
    running = []

    def start(prefix):
        running.extend(Push(hub, tmp_path, f"{prefix}-{at}") for at in range(PUSHES))
        return running

    yield start
    for one in running:
        with one.process:
            one.process.kill()


def is_receiving(hub):
    total = 0
    for path in hub.home.rglob("staging/*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total > 2_000_000


def check(hub, running):
    """Every push ended with one published version, and said that it asked again."""
    ends = [push.end() for push in running]
    assert [end for end in ends if end[0]] == []
    for push in running:
        _, _, versions = hub.call("GET", f"models/zoo/{push.name}/versions")
        assert [(row["number"], row["state"]) for row in versions["items"]] == [(1, "published")]
    assert any(push.has_retried() for push in running), ends


@pytest.mark.parametrize("moment", ["begin", "upload", "checks"])
def test_pushes_outlive_a_database_that_is_killed(hub, postgres, push, moment):
    running = push(f"database-{moment}")
    if moment == "begin":
        wait_for(lambda: hub.call("GET", "models?q=database-begin")[2]["items"], "the first model")
    elif moment == "upload":
        wait_for(lambda: is_receiving(hub), "bytes to arrive")
    else:
        last = f"models/zoo/{running[-1].name}/versions/1"
        wait_for(lambda: hub.call("GET", last)[2].get("state") == "submitted", "its checks", 60)
    postgres.kill()
    try:
        time.sleep(OUTAGE_SECONDS)
        # On a busy machine a body may still be on its way, which needs no database.
        wait_for(lambda: any(push.has_retried() for push in running), "a push to ask again")
    finally:
        postgres.start()
    check(hub, running)


def test_pushes_and_loads_outlive_a_web_process_that_is_killed(hub, push, tmp_path):
    running = push("web")
    wait_for(lambda: is_receiving(hub), "bytes to arrive")
    hub.kill("hub web")
    check(hub, running)
    name = f"zoo/{running[0].name}"
    loaded = []

    def load(at):
        client = Client(hub.address, cache=tmp_path / f"load-{at}")
        loaded.append(client.load(name, progress=False).SerializeToString())

    threads = [threading.Thread(target=load, args=(at,)) for at in range(PUSHES)]
    for thread in threads:
        thread.start()
    hub.kill("hub web")
    for thread in threads:
        thread.join(120)
    assert loaded == [(tmp_path / running[0].name / "model.onnx").read_bytes()] * PUSHES
