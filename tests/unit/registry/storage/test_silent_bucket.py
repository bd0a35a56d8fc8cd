"""A gateway that accepts connections and answers nothing."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from hub.protocol import problems
from registry.core import breakers, waiting

pytest.importorskip("botocore")

from registry.storage.s3 import bucket as s3


@pytest.fixture
def bucket(monkeypatch):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield s3.Bucket("models", "")


def refused_after(bucket, seconds):
    """How long a read with so much time waits until it is refused."""
    began = time.monotonic()
    with waiting.within(seconds), pytest.raises(problems.Unavailable):
        bucket.head("blob")
    return time.monotonic() - began


def test_a_read_is_refused_in_its_time_and_then_at_once(bucket):
    for _ in range(breakers.FAILURES):
        assert 0.5 < refused_after(bucket, waiting.BRIEF_SECONDS) < 3.0
    assert refused_after(bucket, waiting.READ_SECONDS) < 0.2


def test_a_request_whose_time_is_up_asks_no_more(bucket):
    with waiting.within(waiting.BRIEF_SECONDS):
        waiting.spend(waiting.BRIEF_SECONDS)
        assert refused_after(bucket, waiting.READ_SECONDS) < 0.2


def test_only_some_reads_wait_at_once(bucket):
    seconds = []
    threads = [
        threading.Thread(target=lambda: seconds.append(refused_after(bucket, 1.0)))
        for _ in range(2 * s3.QUICK_AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = [each for each in seconds if each < 0.65]
    assert len(refused) == s3.QUICK_AT_ONCE
