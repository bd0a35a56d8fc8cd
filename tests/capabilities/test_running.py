"""A whole hub of the core alone: models are published, listed and loaded with the client."""

from __future__ import annotations

import pytest
from django.conf import settings

import hub
from tests import factories, samples
from tests.faults.conftest import Hub

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(settings.HUB_CAPABILITIES), reason="not the core alone"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    running = Hub(folder / "home", HUB_CAPABILITIES="")
    try:
        yield hub.Hub(running.address, token=running.token, cache=folder / "cache")
    finally:
        running.stop()


def test_a_model_is_published_listed_and_loaded(client, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(samples.add_one())
    version = client.push("zoo/core", model, card=factories.CARD, progress=False)
    assert version["state"] == "published"
    assert [row["ref"] for row in client.list_models("core")] == ["zoo/core"]
    assert [node.op_type for node in client.load("zoo/core").graph.node] == ["Add"]


def test_the_client_says_what_the_hub_does_not_offer(client):
    address = "/onnx-hub/onnx/models/main/ONNX_HUB_MANIFEST.json"
    with pytest.raises(hub.errors.NotFound, match="this hub does not offer it"):
        client.transport.request("GET", address)
