"""Webhooks of a running hub: a receiver that hangs, and `kill -9` before an answer is recorded."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest

from tests.faults.conftest import Hub, wait_for
from tests.receiver import receiving

pytestmark = pytest.mark.capability("webhooks")


@pytest.fixture
def hub(tmp_path):
    hub = Hub(tmp_path / "home", HUB_WEBHOOK_NETWORKS="127.0.0.0/8")
    yield hub
    hub.stop()


def register(hub, receiver):
    status, _, body = hub.call(
        "POST",
        "webhooks",
        {"url": receiver.url, "namespace": "zoo", "events": ["model.created"]},
    )
    assert status == 201, body
    return body


def create(hub, name):
    status, _, body = hub.call("POST", "models", {"namespace": "zoo", "name": name})
    assert status == 201, body


def test_a_receiver_that_hangs_holds_no_other(hub):
    released = threading.Event()
    with receiving() as hanging, receiving() as quick:
        hanging.before_answer = released.wait
        try:
            stuck, secret = register(hub, hanging), register(hub, quick)["secret"]
            create(hub, "first")
            wait_for(lambda: hanging.messages and quick.messages, "both to receive")
            create(hub, "second")
            wait_for(lambda: len(quick.messages) == 2, "the quick one not to wait")
            assert len(hanging.messages) == 1
            assert {quick.verified(secret, place)["type"] for place in (0, 1)} == {"model.created"}
        finally:
            released.set()

        def states():
            rows = hub.call("GET", f"webhooks/{stuck['id']}/deliveries")[2]["items"]
            return {row["state"] for row in rows}

        wait_for(lambda: states() == {"delivered"}, "what waited to be delivered")


def test_a_worker_killed_before_it_records_an_answer_sends_again_under_the_same_id(hub):
    with receiving() as receiver:
        secret = register(hub, receiver)["secret"]
        # The worker is dead before it can read the answer, which is on its way.
        receiver.before_answer = lambda: len(receiver.messages) == 1 and hub.kill("hub worker")
        create(hub, "first")
        wait_for(lambda: receiver.messages, "the first message")

        def again():
            # As if the lease of the dead process had ended.
            with sqlite3.connect(hub.home / "hub.sqlite3", timeout=20) as rows:
                rows.execute("UPDATE webhooks_webhook SET claimed_until = '2000-01-01 00:00:00'")
            return len(receiver.messages) >= 2

        wait_for(again, "the second message", 60)
        assert len(set(receiver.ids())) == 1
        assert receiver.verified(secret, 0) == receiver.verified(secret, 1)
        assert json.loads(receiver.messages[0][1])["type"] == "model.created"
