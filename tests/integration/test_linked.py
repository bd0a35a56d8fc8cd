"""Linked data with real processes: a copy with metadata, made by a real worker in its sandbox."""

from __future__ import annotations

import urllib.request

import onnx

from runners.engine.graphs import annotate
from runners.engine.onnx_files import wire
from tests import samples
from tests.faults.conftest import Hub, wait_for


def fetch(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - our own hub
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return answer.headers, answer.read()


def test_a_copy_carries_its_metadata_and_the_same_weights(tmp_path):
    hub = Hub(tmp_path / "home", HUB_LIMITS_STAGE_SECONDS="20", HUB_LIMITS_LEASE_SECONDS="30")
    try:
        content = samples.mlp()
        path = hub.draft("good", content)
        assert hub.call("POST", f"{path}/submit", {"publish": True})[0] == 200
        wait_for(lambda: hub.state(path) == "published", "the model to be published", 60)
        address = f"{path}/variants/default/with-metadata"
        assert hub.call("GET", address)[0] == 404
        assert hub.call("POST", address)[0] in (200, 202)
        made = wait_for(
            lambda: hub.call("GET", address)[2] if hub.call("GET", address)[0] == 200 else None,
            "the copy",
            120,
        )
        assert hub.call("POST", address)[2] == made
        status, _, body = hub.call("GET", f"blobs/{made['sha256'].removeprefix('sha256:')}")
        assert status == 200
        assert body.startswith(content)
        props = {one.key: one.value for one in onnx.ModelProto.FromString(body).metadata_props}
        assert props["hub_iri"].endswith("/v/1")
    finally:
        hub.stop()


def test_a_file_larger_than_protobuf_takes_keeps_its_bytes(tmp_path):
    """A graph field of 2.2 GB, most of it a hole: nothing parses it and nothing holds it."""
    size = 2_200_000_000
    origin, target = tmp_path / "large.onnx", tmp_path / "made.onnx"
    head = wire.head(7, size)
    with origin.open("wb") as file:
        file.write(head + b"\x12\x03net")
        file.truncate(len(head) + size)
    annotate.write(origin, target, {"hub_iri": "https://hub.example/models/lab/net/v/1"})
    added = wire.field(
        14, wire.field(1, b"hub_iri") + wire.field(2, b"https://hub.example/models/lab/net/v/1")
    )
    assert target.stat().st_size == len(head) + size + len(added)
    with target.open("rb") as file:
        assert file.read(len(head) + 5) == head + b"\x12\x03net"
        file.seek(len(head) + size)
        assert file.read() == added
