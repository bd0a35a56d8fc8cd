"""Hubs that answer so slowly that they never end: real sockets, and bytes one at a time."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from hub.client import download, references
from hub.client import transport as transports
from hub.client.cache import RemoteFile
from hub.client.config import Config
from hub.client.hub import Hub
from hub.client.transport import Transport
from hub.protocol import problems
from tests.unit.client.conftest import make_model

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"


@pytest.fixture
def short(monkeypatch):
    """The timeout of an answer, in seconds, for these tests."""
    monkeypatch.setattr(transports, "READ_SECONDS", 0.7)
    return 0.7


def connect(server, cache=None, retry_seconds=0.0):
    folder = cache.folder if cache else None
    return Transport(Config(server.url, cache=folder, retry_seconds=retry_seconds))


@pytest.mark.parametrize("head", [b"", HEAD[:20], HEAD[:-2]], ids=["first line", "name", "end"])
def test_a_head_byte_by_byte_is_given_up(dribble, short, head):
    server = dribble(head, b"X-Long: " + b"x" * 1000)
    began = time.monotonic()
    with pytest.raises(problems.Unreachable, match=r"no complete response headers in 0\.7 s"):
        connect(server).get("/api/v1/whoami")
    assert time.monotonic() - began < short * 4


@pytest.mark.parametrize("framing", [b"Content-Length: 9000", b"Transfer-Encoding: chunked"])
def test_a_body_byte_by_byte_is_given_up(dribble, short, framing):
    body = b" " * 9000 if b"Length" in framing else b"1\r\n \r\n" * 1500
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + framing + b"\r\n\r\n"
    server = dribble(head, body)
    began = time.monotonic()
    with pytest.raises(problems.Unreachable, match=r"less than 1 kB/s for 0\.7 s"):
        connect(server).get("/api/v1/whoami")
    assert time.monotonic() - began < short * 4


def test_a_head_through_a_proxy_is_given_up(dribble, short, monkeypatch):
    server = dribble(b"HTTP/1.1 200 OK\r\n", b"X-Long: " + b"x" * 1000)
    monkeypatch.setenv("HTTP_PROXY", server.url)
    message = rf"through the proxy {server.url} failed \(no complete response headers"
    with pytest.raises(problems.Unreachable, match=message):
        Transport(Config("http://hub.test", retry_seconds=0)).get("/api/v1/whoami")


def test_a_tunnel_that_a_proxy_never_opens_is_given_up(dribble, monkeypatch):
    monkeypatch.setattr(transports, "CONNECT_SECONDS", 0.7)
    server = dribble(b"HTTP/1.1 200 OK\r\n", b"X-Long: " + b"x" * 1000)
    monkeypatch.setenv("HTTPS_PROXY", server.url)
    began = time.monotonic()
    with pytest.raises(problems.Unreachable, match="no complete response headers"):
        Transport(Config("https://hub.test", retry_seconds=0)).get("/api/v1/whoami")
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("size", [5_000, 3 << 20], ids=["small", "large"])
def test_a_file_byte_by_byte_is_given_up(dribble, short, cache, size):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
    server = dribble(head + bytes(2_000), bytes(5_000))
    file = RemoteFile("model.onnx", size, "0" * 64, f"{server.url}/api/v1/blobs/{'0' * 64}")
    began = time.monotonic()
    with pytest.raises(problems.Unreachable, match="less than 1 kB/s"):
        download.fetch(connect(server, cache, retry_seconds=1.0), cache, file)
    # What came so slowly is no progress: the time for retries does not begin again.
    assert time.monotonic() - began < 1.0 + short * 5
    assert server.asked >= 2


def test_a_slow_answer_that_keeps_its_pace_is_read(dribble, short):
    content = json.dumps({"text": "x" * 2_000}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content)
    server = dribble(head + content[:-5], content[-5:])
    assert connect(server).get("/api/v1/whoami") == json.loads(content)


def test_a_reader_that_takes_its_time_is_not_a_slow_hub(fake, short, tmp_path):
    fake.blobs["a" * 64] = bytes(4 << 20)
    transport = Transport(Config(fake.url, cache=tmp_path, retry_seconds=0))
    with transport.stream(f"/api/v1/blobs/{'a' * 64}") as stream:
        count = 0
        while part := stream.read(1 << 20):
            count += len(part)
            time.sleep(short / 2)
    assert count == 4 << 20


@pytest.mark.parametrize(
    ("head", "rest"),
    [(b"", HEAD), (HEAD, b" " * 9000)],
    ids=["head", "body"],
)
def test_a_cached_version_is_used_instead(fake, dribble, tmp_path, monkeypatch, caplog, head, rest):
    fake.add("zoo/ones", make_model(rows=4))
    Hub(fake.url, cache=tmp_path / "cache").load("ones")
    answers = tmp_path / "cache" / "answers"
    server = dribble(head, rest)
    # The same hub, whose address now leads to a slow server.
    monkeypatch.setattr(Transport, "own", lambda _, address: f"{server.url}{address}")
    assert any(answers.iterdir())
    client = Hub(fake.url, cache=tmp_path / "cache")
    caplog.clear()
    began = time.monotonic()
    assert client.load("ones").graph.name == "ones"
    assert time.monotonic() - began < references.STALE_AFTER_SECONDS * 2 + 1
    (message,) = caplog.messages
    assert message.startswith("The hub does not answer: ones is taken from the cache as zoo/ones@1")
    assert server.asked == 1


def test_a_hub_that_takes_a_request_slowly_gets_it(monkeypatch):
    """An uplink of 4 MB/s, with less time to connect than 12 MB take."""
    monkeypatch.setattr(transports, "CONNECT_SECONDS", 0.5)
    size = 12_000_000
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        server.bind(("127.0.0.1", 0))
        server.listen()

        def answer():
            connection, _ = server.accept()
            received = 0
            with connection:
                while received < size:
                    received += len(connection.recv(40_000))
                    time.sleep(0.01)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        transport = Transport(Config(url, retry_seconds=0))
        answered = transport.request("PUT", "/api/v1/x", body=bytes(size), once=True)
        thread.join()
    assert answered.json() == {}
