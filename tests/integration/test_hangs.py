"""Backends that accept and do not answer: each is stopped by SIGSTOP while a hub is asked."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

from registry.core.waiting import READ_SECONDS
from tests import ceph, samples
from tests.faults.conftest import Hub, wait_for
from tests.integration.test_outages import postgres  # noqa: F401 - a fixture

# What the work itself takes beside the waits.
WORK_SECONDS = 2.0
READY_SECONDS = 2.0
PAGES = ("/models", "/api/v1/models")


@contextmanager
def stopped(*pids):
    """Processes that hold their connections and answer nothing."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def ask(hub, path, seconds=60.0):
    """The status of an anonymous GET and how long it took in seconds."""
    began = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=seconds)
    try:
        line.request("GET", path, headers={"Accept": "text/html, */*"})
        answer = line.getresponse()
        answer.read()
    finally:
        line.close()
    return answer.status, time.monotonic() - began


def ready(hub):
    """The status and the parts of `/readyz`, which answers in time."""
    began = time.monotonic()
    status, _, parts = hub.call("GET", "/readyz")
    assert time.monotonic() - began < READY_SECONDS + 0.5
    return status, {name for name, part in parts.items() if not part["ok"]}


class Crowd:
    """Clients that all ask for one address at once."""

    def __init__(self, hub, path, count):
        self.answers = []
        self._threads = [
            threading.Thread(target=lambda: self.answers.append(ask(hub, path)))
            for _ in range(count)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        for thread in self._threads:
            thread.join()


def test_redis(redis, tmp_path):
    hub = Hub(tmp_path / "home", options=["--no-worker"], REDIS_URL=redis.url)
    try:
        assert "broker" not in ready(hub)[1]
        with stopped(redis.process.pid):
            status, broken = ready(hub)
            assert (status, broken >= {"cache", "broker"}) == (200, True)
            for path in (*PAGES, "/healthz", "/query"):
                status, seconds = ask(hub, path)
                assert (status, seconds < READ_SECONDS + WORK_SECONDS) == (200, True), path
            path = hub.draft("pushed", samples.mlp())
            assert hub.call("POST", f"{path}/submit", {"publish": True}, seconds=60)[0] == 200
        wait_for(lambda: not {"cache", "broker"} & ready(hub)[1], "Redis to be asked again")
    finally:
        hub.stop()


def pids_of(server):
    parent = int((server.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [parent, *map(int, children)]


def test_postgresql(postgres, tmp_path):  # noqa: F811 - the fixture
    hub = Hub(tmp_path / "home", options=["--no-worker"], DATABASE_URL=postgres.url)
    try:
        assert ask(hub, "/models")[0] == 200
        with stopped(*pids_of(postgres)):
            with Crowd(hub, "/models", 40) as crowd:
                status, seconds = ask(hub, "/healthz")
                assert (status, seconds < WORK_SECONDS) == (200, True)
                status, broken = ready(hub)
                assert (status, "database" in broken) == (503, True)
            assert {status for status, _ in crowd.answers} == {503}
            # Those that came first wait; the time in which the others wait for a thread counts.
            assert max(seconds for _, seconds in crowd.answers) < READ_SECONDS + WORK_SECONDS
            assert min(ask(hub, "/models")[1] for _ in range(3)) < 1.0
        wait_for(lambda: ask(hub, "/models")[0] == 200, "PostgreSQL to be asked again")
    finally:
        hub.stop()


def test_a_bucket(cluster, tmp_path):
    environment = cluster.environment | {
        "HUB_STORAGE_URL": f"s3://{ceph.BUCKET}/{uuid.uuid4().hex}"
    }
    hub = Hub(tmp_path / "home", **environment)
    try:
        path = hub.draft("stored", samples.unlike_others(samples.mlp()))
        hub.call("POST", f"{path}/submit", {"publish": True})
        hub.wait_until(path, "published")
        hub.call("PATCH", "models/zoo/stored", {"visibility": "public"})
        file = f"/api/v1/{path}/files/model.onnx"
        assert ask(hub, file)[0] == 200
        with stopped(cluster._gateway.pid):
            with Crowd(hub, file, 40) as crowd:
                for page in (*PAGES, "/healthz", "/models/zoo/stored"):
                    status, seconds = ask(hub, page)
                    assert (status, seconds < READ_SECONDS + WORK_SECONDS) == (200, True), page
                status, broken = ready(hub)
                assert (status, "storage" in broken) == (200, True)
            assert {status for status, _ in crowd.answers} == {503}
            assert max(seconds for _, seconds in crowd.answers) < READ_SECONDS + WORK_SECONDS
            assert min(ask(hub, file)[1] for _ in range(3)) < 1.0
        wait_for(lambda: ask(hub, file)[0] == 200, "the bucket to be asked again")
    finally:
        hub.stop()
