"""A crowd of slow clients beside a hub: pages stay quick, alone and behind the shipped proxy."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import threading

import pytest

from tests.faults.proxies import caddy
from tests.slow_clients import crowd, latencies, p95

# Most of a machine's open files; a hub and its clients are on the same one here.
IDLE = min(10_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1_000)


@pytest.fixture(scope="module")
def large(hub):
    """The path of a file that no socket's buffers hold."""
    content = b"\x08" + os.urandom(2**25 - 1)  # a first byte that is no other format's
    return f"/api/v1/{hub.draft('large', content)}/files/model.onnx"


@pytest.fixture(params=["alone", "caddy"])
def port(request, hub, tmp_path):
    if request.param == "alone":
        yield hub.port
        return
    if shutil.which("caddy") is None:
        pytest.skip("Caddy is not installed")
    with caddy(hub.port, tmp_path) as proxy:
        yield proxy


def test_pages_stay_quick_beside_a_crowd(hub, large, port):
    with crowd(hub, port, large, bodies=200, readers=200, idle=IDLE) as clients:
        # Where slow clients hold threads there is no answer at all; benchmarks/slow_clients.py has
        # the figures of a quiet machine. The least of three: other work can only add to it.
        assert min(p95(latencies(port, host="127.0.0.1")) for _ in range(3)) <= 1
        opened = clients.open()
    assert opened["body"] == opened["reader"] == 200


def test_uploads_and_downloads_go_on_beside_a_crowd(hub, large, port):
    content = os.urandom(2**25)
    with crowd(hub, port, large, bodies=200, readers=200):
        stored = []
        upload = threading.Thread(target=lambda: stored.append(hub.store(content)))
        upload.start()
        status, _, downloaded = hub.call("GET", large)
        upload.join(30)
    assert status == 200
    assert len(downloaded) == 2**25
    assert stored == [f"sha256:{hashlib.sha256(content).hexdigest()}"]
