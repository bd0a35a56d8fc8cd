"""Bodies that are streamed to the application hold a thread: few at once, and none that stalls."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from hub.server.front.body import BodyStream
from tests.faults.test_front import BODY, Server, ask, digest_of, posted, request


@pytest.fixture
def ends():
    """The hub's end of a connection, which does not block, and the client's."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def read_all(stream):
    for _ in range(200):
        stream.read(10)


def test_streams_take_at_most_half_of_the_threads(tmp_path):
    server = Server(tmp_path, fast_rate=1)  # every body of a megabyte is fast
    head = request("/digest", "POST", [f"Content-Length: {len(BODY)}"])
    streams = [server.connect() for _ in range(3)]
    for stream in streams:
        stream.sendall(head + BODY[:2_000_000])
    time.sleep(0.5)
    with server.connect() as client:
        client.settimeout(BodyStream.STALL_SECONDS / 2)
        for _ in range(5):
            assert ask(client, "/quick")[1] == b"/quick"
    for stream in streams:
        assert posted(stream, BODY[2_000_000:]) == digest_of(BODY)
        stream.close()
    server.stop()


def test_a_stream_that_stalls_is_cut(ends, monkeypatch):
    monkeypatch.setattr(BodyStream, "STALL_SECONDS", 0.1)
    ours, theirs = ends
    stream = BodyStream(ours, lambda: False)
    theirs.sendall(b"some")
    assert stream.read(10) == b"some"
    with pytest.raises(TimeoutError, match="stopped coming"):
        stream.read(10)


def test_a_stream_that_crawls_is_cut_once_others_wait(ends, monkeypatch):
    monkeypatch.setattr(BodyStream, "STALL_SECONDS", 0.5)
    ours, theirs = ends
    others_wait, over = threading.Event(), threading.Event()

    def crawl():
        while not over.wait(0.02):
            theirs.sendall(b"x")

    crawling = threading.Thread(target=crawl)
    crawling.start()
    try:
        stream = BodyStream(ours, others_wait.is_set)
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            assert stream.read(10)
        others_wait.set()
        with pytest.raises(TimeoutError, match="too slowly"):
            read_all(stream)
    finally:
        over.set()
        crawling.join()
