"""`kill -9` at any point: what was acknowledged is there, and nothing is half published."""

from __future__ import annotations

import hashlib
import http.client
import os
import signal
import socket
import threading
import time

import pytest

from tests import samples
from tests.faults.conftest import Hub, processes, wait_for

CONTENT = os.urandom(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def resume(hub, path):
    """Go on with an upload as a client does; returns the digest it became."""
    wait_for(hub.alive, "the web process to be back")
    _, headers, _ = hub.call("HEAD", path, Tus_Resumable="1.0.0")
    offset = int(headers["Upload-Offset"])
    if offset < len(CONTENT):
        status, headers, body = hub.patch(path, offset, CONTENT[offset:])
        assert status == 204, body
    return offset, hub.call("GET", path)[2]["blob"]


def send_slowly(hub, path, offset, content, announced):
    """Begin a PATCH and stop after ``content``, with the connection open."""
    line = socket.create_connection(("127.0.0.1", hub.port))
    line.sendall(
        f"PATCH {path} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
        f"Authorization: Bearer {hub.token}\r\nTus-Resumable: 1.0.0\r\n"
        f"Content-Type: application/offset+octet-stream\r\nUpload-Offset: {offset}\r\n"
        f"Content-Length: {announced}\r\n\r\n".encode()
        + content
    )
    return line


def test_web_killed_in_the_middle_of_a_patch(hub):
    path = hub.upload(CONTENT, sha256=SHA256)
    assert hub.patch(path, 0, CONTENT[:1_000_000])[1]["Upload-Offset"] == "1000000"
    line = send_slowly(hub, path, 1_000_000, CONTENT[1_000_000:2_500_000], 2_000_000)
    time.sleep(0.3)
    hub.kill("hub web")
    line.close()
    offset, digest = resume(hub, path)
    assert 1_000_000 <= offset <= 2_500_000
    assert digest == f"sha256:{SHA256}"


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.012, 0.03])
def test_web_killed_around_the_last_byte(hub, delay):
    path = hub.upload(CONTENT, sha256=SHA256)
    line = send_slowly(hub, path, 0, CONTENT, len(CONTENT))
    time.sleep(delay)
    hub.kill("hub web")
    line.close()
    assert resume(hub, path)[1] == f"sha256:{SHA256}"


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02])
def test_web_killed_while_it_submits(hub, delay):
    path = hub.draft(f"submit-{int(delay * 1000)}", samples.unlike_others(samples.mlp()))
    request = threading.Thread(target=lambda: _ignore(hub, path), daemon=True)
    request.start()
    time.sleep(delay)
    hub.kill("hub web")
    wait_for(hub.alive, "the web process to be back")
    request.join(60)  # on a busy machine it may connect only now
    assert not request.is_alive()
    if hub.state(path) == "draft":
        assert hub.call("POST", f"{path}/submit", {"publish": True})[0] == 200
    hub.wait_until(path, "published")
    version = hub.call("GET", path)[2]
    assert len(version["commit_id"]) == 40
    assert [check["outcome"] for check in version["checks"]] == ["passed", "passed"]


def _ignore(hub, path):
    try:
        hub.call("POST", f"{path}/submit", {"publish": True})
    except (OSError, http.client.HTTPException):
        return


def running(hub, path):
    """The running job of a version, once there is one."""

    def find():
        jobs = hub.call("GET", "jobs?state=running")[2]["items"]
        return next(
            (job for job in jobs if f"models/{job['model']}/versions/{job['number']}" == path), None
        )

    return find


def test_worker_killed_in_the_middle_of_a_job(hub):
    path = hub.draft("slow", samples.unlike_others(samples.function_doubling(18)))
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: (running(hub, path)() or {}).get("kind") == "check", "the check to run")
    worker = int(running(hub, path)()["worker"].rpartition("-")[2])
    engines = hub.tree(worker)
    assert engines
    os.kill(worker, signal.SIGKILL)
    wait_for(
        lambda: not {pid for pid, _, _ in processes()} & set(engines),
        "the sandbox to die with it",
        10,
    )
    wait_for(lambda: hub.state(path) in ("published", "draft"), "the job to be done again", 60)
    jobs = hub.call("GET", f"{path}")[2]["jobs"]
    check = next(job for job in jobs if job["kind"] == "check")
    assert hub.call("GET", f"jobs/{check['uuid']}")[2]["attempt"] == 2


def test_publishing_does_not_wait_for_a_long_job(hub):
    slow = hub.enqueue(hub.draft("long", samples.function_doubling(18)), kind="check", priority=3)
    wait_for(lambda: hub.job(slow)["state"] == "running", "the long job to run")
    path = hub.draft("quick", samples.mlp(hidden=11))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published")
    job = hub.job(slow)
    assert (job["state"], job["attempt"]) == ("running", 1)
    assert job["worker"] not in {
        found["worker"] for found in hub.call("GET", "jobs?state=succeeded")[2]["items"][:2]
    }


def test_sandbox_killed_under_a_worker(hub):
    engine = wait_for(lambda: hub.child("runners.engine"), "the fork server")
    os.kill(engine, signal.SIGKILL)
    path = hub.draft("after-engine", samples.mlp(hidden=3))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published")


def test_everything_killed_and_started_again(tmp_path):
    hub = Hub(tmp_path / "home")
    done = hub.draft("done", samples.mlp())
    hub.call("POST", f"{done}/submit", {"publish": True})
    hub.wait_until(done, "published")
    half = hub.upload(CONTENT, sha256=SHA256)
    hub.patch(half, 0, CONTENT[:2_000_000])
    waiting = hub.draft("waiting", samples.mlp(hidden=5))
    hub.call("POST", f"{waiting}/submit", {"publish": True})
    below = hub.tree(hub.process.pid)
    hub.stop(signal.SIGKILL)
    wait_for(
        lambda: not {pid for pid, _, _ in processes()} & set(below), "its children to die too", 10
    )
    hub.start()
    assert hub.state(done) == "published"
    assert resume(hub, half) == (2_000_000, f"sha256:{SHA256}")
    hub.wait_until(waiting, "published")
    content = hub.call("GET", f"{waiting}/files/model.onnx")[2]
    assert content == samples.mlp(hidden=5)
    hub.stop()
