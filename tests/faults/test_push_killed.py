"""`hub push` killed with -9 at each of its steps: no half model is seen, and a repeat ends it."""

from __future__ import annotations

import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from email import message_from_bytes
from pathlib import Path

import pytest

from tests import factories, samples
from tests.faults.conftest import own_environment

STEPS = {
    "preflight": ("POST", "/preflight"),
    "model": ("POST", "/models"),
    "draft": ("POST", "/versions"),
    "files": ("POST", "/files"),
    "upload": ("POST", "/uploads"),
    "bytes": ("PATCH", "/uploads/"),
    "card": ("PUT", "/card"),
    "submit": ("POST", "/submit"),
}


class Relay(socketserver.ThreadingTCPServer):
    """Carries requests to a hub, and kills its client when one has had its effect."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, hub):
        super().__init__(("127.0.0.1", 0), _Carrier)
        self.hub = hub
        self.step = None
        self.victim = None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Carrier(socketserver.StreamRequestHandler):
    def handle(self):
        lines = []
        while (line := self.rfile.readline()) not in {b"\r\n", b""}:
            lines.append(line)
        if not lines:
            return
        method, path, _ = lines[0].decode().split()
        length = int(message_from_bytes(b"".join(lines[1:])).get("Content-Length") or 0)
        head = b"".join([lines[0], b"Connection: close\r\n", *lines[1:], b"\r\n"])
        with socket.create_connection(("127.0.0.1", self.server.hub.port)) as onward:
            onward.sendall(head + self.rfile.read(length))
            answer = b""
            while part := onward.recv(65536):
                answer += part
        if self.server.step and method == self.server.step[0] and self.server.step[1] in path:
            self.server.step = None
            os.kill(self.server.victim.pid, signal.SIGKILL)
            return
        self.wfile.write(answer)


@pytest.fixture(scope="module")
def relay(hub):
    server = Relay(hub)
    yield server
    server.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_push(hub, relay, tmp_path, step):
    name = f"zoo/killed-{step}"
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "README.md").write_text(factories.CARD)
    (folder / "model.onnx").write_bytes(samples.unlike_others(samples.mlp()))
    (folder / "labels.txt").write_text(f"{step}\n")
    (folder / "weights.bin").write_bytes(os.urandom(1_000_000))

    def push():
        environment = own_environment() | {
            "HUB_URL": f"http://127.0.0.1:{relay.server_address[1]}",
            "HUB_TOKEN": hub.token,
            "HUB_CACHE": str(tmp_path / "cache"),
        }
        command = [Path(sys.executable).with_name("hub"), "push", "--no-wait", name, str(folder)]
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    relay.step, relay.victim = STEPS[step], push()
    _, errors = relay.victim.communicate(timeout=120)
    assert relay.victim.returncode == -signal.SIGKILL, errors
    if step != "submit":  # whose version is published when its checks have passed
        assert hub.call("GET", f"models/{name}", Authorization="")[0] == 404
    again = push()
    output, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert output.startswith(f"{name}@1 ")
    versions = hub.call("GET", f"models/{name}/versions")[2]["items"]
    assert [(version["number"], version["state"] == "draft") for version in versions] == [
        (1, False)
    ]
    files = hub.call("GET", f"models/{name}/versions/1")[2]["files"]
    assert {file["path"] for file in files if not file["derived"]} == {
        "README.md", "labels.txt", "model.onnx", "weights.bin",
    }  # fmt: skip
