"""One command makes all processes of a running hub read-only, and writable again."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import samples
from tests.faults.conftest import ROOT, Hub, wait_for

pytestmark = pytest.mark.live


@pytest.fixture
def hub(tmp_path):
    hub = Hub(tmp_path / "home")
    yield hub
    hub.stop()


def set_mode(hub, *words):
    return subprocess.run(
        [sys.executable, "-m", "hub", "manage", "maintenance", *words], cwd=ROOT, text=True,
        env=hub.inner_environment(), capture_output=True, check=True,
    ).stdout  # fmt: skip


def test_a_running_hub_is_read_only_until_the_command_ends_it(hub):
    content = samples.unlike_others(samples.mlp())
    path = hub.draft("net", content)
    set_mode(hub, "on", "New disks.", "--minutes", "5")
    model = {"namespace": "zoo", "name": "other"}
    refused = wait_for(
        lambda: (answer := hub.call("POST", "models", model))[0] == 503 and answer,
        "changes to be refused",
    )
    assert 240 < int(refused[1]["Retry-After"]) <= 300
    assert "read-only for maintenance" in refused[2]["detail"]
    assert hub.call("GET", path)[0] == 200
    assert hub.call("GET", "/healthz")[0] == 200
    assert "New disks." in hub.call("GET", "/")[2].decode()
    # Queued by the operator, since a request cannot; no worker takes it while the mode lasts.
    job = hub.enqueue(path, kind="describe", priority=10)
    turns = (
        "from registry.models import Lease; print(Lease.objects.get(name='turn:sweep').expires_at)"
    )
    state = f"from runners.models import Job; print(Job.objects.get(pk={job!r}).state)"
    stopped = wait_for(lambda: hub.run_inside(turns) == hub.run_inside(turns), "sweeps to pause")
    assert stopped
    assert hub.run_inside(state) == "queued"
    assert "accepts changes" in set_mode(hub, "off")
    wait_for(lambda: hub.call("POST", "models", model)[0] == 201, "changes to be accepted")
    wait_for(lambda: hub.run_inside(state) == "succeeded", "the job to be done")
