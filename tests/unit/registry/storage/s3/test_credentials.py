"""Keys of a bucket change while the hub runs: each request is signed with those of the file."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("botocore")
from registry.storage.s3.bucket import Bucket

FILE = "[default]\naws_access_key_id = {}\naws_secret_access_key = secret\n"


class Gateway(BaseHTTPRequestHandler):
    """Accepts each object and notes the key of its signature."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        credential = re.search(r"Credential=([^/]+)/", self.headers["Authorization"])
        self.server.access_keys.append(credential[1])
        self.send_response(200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def gateway(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.access_keys, server.daemon_threads = [], True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_keys_of_a_file_change_without_a_start(gateway, monkeypatch, tmp_path):
    # As in a mounted secret, a link leads to the file, and another one replaces it.
    states = [tmp_path / name for name in ("first", "broken", "second")]
    for state, text in zip(
        states, [FILE.format("one"), "[default", FILE.format("two")], strict=True
    ):
        state.write_text(text)
    file = tmp_path / "credentials"
    file.symlink_to(states[0])
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    bucket = Bucket("models", "")
    bucket.put("a", b"a")
    for state in states[1:]:
        file.unlink()
        bucket.put("away", b"a")
        file.symlink_to(state)
        bucket.put("a", b"a")
    assert gateway.access_keys == ["one", "one", "one", "one", "two"]


def test_keys_of_the_environment_come_first(gateway, monkeypatch, tmp_path):
    file = tmp_path / "credentials"
    file.write_text(FILE.format("file"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    Bucket("models", "").put("a", b"a")
    assert gateway.access_keys == ["environment"]
