"""Every test has a cache, a configuration folder and a fake hub of its own, and short pauses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hub.client import checks, retries, upload
from hub.client.cache import Cache
from hub.client.config import Config
from hub.client.hub import Hub
from hub.client.transport import Transport
from tests.unit.client.fakehub import FakeHub


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    for name in ("HUB_URL", "HUB_TOKEN", "HUB_OFFLINE", "HUB_RETRY_SECONDS", "HUB_VERIFY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(retries, "LONGEST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(checks, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(upload, "POLL_SECONDS", 0.001)


@pytest.fixture
def fake():
    server = FakeHub()
    yield server
    server.close()


@pytest.fixture
def other():
    """A second server, which is not the configured hub."""
    server = FakeHub()
    yield server
    server.close()


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def pauses():
    """How long the transport would have waited, in seconds."""
    return []


@pytest.fixture
def transport(fake, tmp_path, pauses):
    config = Config(fake.url, token="hf_secret", cache=tmp_path / "cache")
    return Transport(config, sleep=pauses.append)


@pytest.fixture
def client(fake, tmp_path, pauses):
    made = Hub(fake.url, token="hf_secret", cache=tmp_path / "cache")
    made.transport.sleep = pauses.append
    return made


@pytest.fixture
def impatient(transport, client):
    """The two fixtures, giving up after a few attempts."""
    for one in (transport, client.transport):
        one.config = replace(one.config, retry_seconds=0.03)


@pytest.fixture
def default(monkeypatch, fake):
    """Make the fake hub the default one of `hub.load` and the command."""
    monkeypatch.setenv("HUB_URL", fake.url)
    monkeypatch.setenv("HUB_TOKEN", "hf_secret")


def make_model(rows: int = 8, *, location: str | None = None) -> dict[str, bytes]:
    """A model that multiplies by ones, with its external data if a location is given."""
    weights = numpy_helper.from_array(np.ones((rows, 2), np.float32), "w")
    files = {}
    if location:
        files[location] = weights.raw_data
        onnx.external_data_helper.set_external_data(weights, location=location)
        weights.ClearField("raw_data")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "ones",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return {"model.onnx": model.SerializeToString(), **files}
