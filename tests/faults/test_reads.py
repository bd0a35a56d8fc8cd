"""Reads wait for no writer: they are answered while another process holds the database's lock."""

from __future__ import annotations

import contextlib
import signal
import socket
import sqlite3
import time

from tests import samples
from tests.faults.conftest import wait_for

# Waiting for a lock took 25 s; an answer of a busy machine takes no such time.
SOON_SECONDS = 8.0


def publish(hub):
    """The model zoo/net with one version, made by whichever test comes first."""
    if hub.call("GET", "models/zoo/net")[0] == 200:
        return
    path = hub.draft("net", samples.mlp())
    hub.call("PUT", f"{path}/files/config.json", {"blob": hub.store(b"{}")})
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published")
    wait_for(
        lambda: (
            not any(
                hub.call("GET", f"jobs?state={state}")[2]["items"]
                for state in ("queued", "running")
            )
        ),
        "the jobs to end",
    )


def downloads(hub):
    return hub.call("GET", "models/zoo/net")[2]["downloads"]


def test_reads_are_answered_while_a_writer_holds_the_lock(hub):
    publish(hub)
    before = downloads(hub)
    commit = hub.call("GET", "models/zoo/net/versions/1")[2]["commit_id"]
    reads = [
        ("GET", "models/zoo/net/versions/1/files/model.onnx"),
        ("HEAD", f"/zoo/net/resolve/{commit}/model.onnx"),
        ("GET", f"/zoo/net/resolve/{commit}/model.onnx"),
        ("GET", "/zoo/net/resolve/main/config.json"),
        ("GET", "/models/zoo/net/v/1/files/model.onnx"),
        ("GET", "/models/zoo/net"),
        ("GET", "models/zoo/net"),
        ("GET", "models"),
        ("GET", "/api/models/zoo/net"),
        ("GET", "/api/models/zoo/net/xet-write-token/main"),
        ("GET", "/zoo/net.git/info/refs?service=git-upload-pack"),
    ]
    writer = sqlite3.connect(hub.home / "hub.sqlite3", timeout=30, isolation_level=None)
    with contextlib.closing(writer):
        writer.execute("BEGIN IMMEDIATE")
        slowest = 0.0
        for method, path in reads:
            began = time.monotonic()
            status, _, body = hub.call(method, path)
            slowest = max(slowest, time.monotonic() - began)
            assert status == 200, (method, path, body)
        writer.execute("ROLLBACK")
    assert slowest < SOON_SECONDS
    # What was counted meanwhile is written once the lock is free.
    wait_for(lambda: downloads(hub) == before + 3, "the downloads to be counted")


def test_what_was_counted_is_written_at_the_end(hub):
    publish(hub)
    before = downloads(hub)
    hub.call("GET", "models/zoo/net/versions/1/files/model.onnx")
    hub.process.send_signal(signal.SIGTERM)
    hub.process.wait(60)
    hub.start()
    assert downloads(hub) == before + 1


def exchange(hub, *heads):
    """What the hub answers to heads sent at once over one connection: (status, headers, body)."""
    answers = []
    with socket.create_connection(("127.0.0.1", hub.port), timeout=30) as client:
        client.sendall("".join(f"{head}\r\nHost: localhost\r\n\r\n" for head in heads).encode())
        stream = client.makefile("rb")
        for head in heads:
            status = stream.readline().decode().strip()
            headers = dict(
                line.decode().strip().split(": ", 1)
                for line in iter(stream.readline, b"\r\n")
            )  # fmt: skip
            is_empty = head.startswith("HEAD") or " 304 " in status
            length = 0 if is_empty else int(headers["Content-Length"])
            answers.append((status, headers, stream.read(length)))
    return answers


def test_small_files_are_answered_as_any_request_over_one_connection(hub):
    publish(hub)
    before = downloads(hub)
    commit = hub.call("GET", "models/zoo/net/versions/1")[2]["commit_id"]
    api = "/api/v1/models/zoo/net/versions/1/files"
    tag = hub.call("HEAD", f"{api}/model.onnx", Authorization="")[1]["ETag"]
    heads = [
        f"GET {api}/model.onnx HTTP/1.1",
        f"HEAD /zoo/net/resolve/{commit}/model.onnx HTTP/1.1",
        "GET /zoo/net/resolve/main/config.json?download=true HTTP/1.1",
        f"GET {api}/model.onnx HTTP/1.1\r\nRange: bytes=10-19",
        f"GET {api}/model.onnx HTTP/1.1\r\nRange: bytes=99999999-",
        f"GET {api}/model.onnx HTTP/1.1\r\nIf-None-Match: {tag}",
        f"GET {api}/missing.onnx HTTP/1.1",
        "GET /zoo/net/resolve/main/missing.json HTTP/1.1",
    ]
    named = [f"{head}\r\nX-Request-Id: same" for head in heads]
    # A header that nobody knows is left to gunicorn, and Django answers the same request after it.
    parsed = [f"{head}\r\nX-Unknown: 1" for head in named]
    direct, general = exchange(hub, *named), exchange(hub, *parsed)
    for ours, theirs, head in zip(direct, general, heads, strict=True):
        for _, headers, _ in (ours, theirs):
            headers.pop("Date")
        assert ours == theirs, head
    assert [status.split()[1] for status, _, _ in direct] == [
        *("200", "200", "200", "206", "416", "304", "404", "404")
    ]
    assert direct[3][2] == direct[0][2][10:20]
    # One whole file each time; what a 304 or a part says is no download of its own.
    wait_for(lambda: downloads(hub) == before + 2, "the downloads to be counted")
