"""Several web processes of one gunicorn: one count of requests, and an end that cuts off no one."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.faults.conftest import ROOT, own_environment, prepared, processes, wait_for

TOKEN = "a-token-for-monitoring"


class Web:
    """gunicorn with two processes, as the image starts it."""

    def __init__(self, home):
        shutil.copytree(prepared()[0], home)
        # A file: a pipe that nobody reads meanwhile stops whoever writes to it.
        self.log = home / "web.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "--config", "python:hub.server.web",
                 "--workers", "2", "--threads", "4", "--bind", f"127.0.0.1:{self.port}"],
                cwd=ROOT,
                env=own_environment() | {
                    "DJANGO_SETTINGS_MODULE": "hub.server.settings", "HUB_HOME": str(home),
                    "HUB_METRICS_TOKEN": TOKEN, "HUB_DRAIN_SECONDS": "3", "HUB_LOG_FORMAT": "json",
                    "HUB_LOG_REQUEST_SECONDS": "0", "HUB_LOG_QUERY_SECONDS": "0",
                },
                stderr=log,
            )  # fmt: skip
        wait_for(self.alive, "gunicorn to start")

    def get(self, path, **headers):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            line.request("GET", path, headers=headers)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def alive(self):
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False

    def workers(self):
        return [pid for pid, parent, _ in processes() if parent == self.process.pid]

    def count(self, status=b"200"):
        """How often /jobs was asked for, as the process says that happens to answer."""
        _, text = self.get("/metrics", Authorization=f"Bearer {TOKEN}")
        start = b'hub_requests_total{method="GET",route="jobs",status="' + status + b'"}'
        rows = [line for line in text.splitlines() if line.startswith(start)]
        return float(rows[0].split()[-1]) if rows else 0


@pytest.fixture
def web(tmp_path):
    started = Web(tmp_path / "home")
    yield started
    started.process.kill()
    started.process.wait()


def test_each_process_answers_for_all_and_they_end_in_order(web):
    wait_for(lambda: len(web.workers()) == 2, "both processes")
    for _ in range(20):
        assert web.get("/jobs")[0] == 200
    assert {web.count() for _ in range(8)} == {20}
    os.kill(web.workers()[0], signal.SIGKILL)
    wait_for(lambda: web.alive() and len(web.workers()) == 2, "another process")
    assert {web.count() for _ in range(8)} == {20}

    web.process.send_signal(signal.SIGTERM)
    status, body = wait_for(
        lambda: (answer := web.get("/readyz"))[0] == 503 and answer, "the drain", 2
    )
    assert (status, json.loads(body)["process"]) == (503, {"ok": False})
    assert web.get("/jobs")[0] == 200
    began = time.monotonic()
    assert web.process.wait(60) == 0
    assert time.monotonic() - began < 30
    log = web.log.read_text()
    rows = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    logged = [row for row in rows if row["event"] == "request" and row["route"] == "jobs"]
    assert len(logged) == 21
    assert {"method", "status", "seconds", "user", "request_id"} <= logged[0].keys()
    queries = [row for row in rows if row["event"] == "slow_query" and row.get("route") == "jobs"]
    assert queries[0]["sql"].startswith("SELECT")
    assert queries[0]["request_id"] in {row["request_id"] for row in logged}
    assert TOKEN not in log
