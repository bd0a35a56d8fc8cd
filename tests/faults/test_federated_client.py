"""Devices with the hub's own client, on a real hub that dies while they are at work."""

from __future__ import annotations

import numpy as np
import pytest

from hub.client import upload
from hub.client.hub import Hub as Client
from hub.client.training import tensors
from hub.protocol import problems
from tests import samples
from tests.faults.conftest import wait_for

MIB = 1 << 20


@pytest.fixture
def devices(hub, tmp_path, monkeypatch):
    """Two devices of a training on a model of 32 MB, in a round that ends with their second."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(upload, "FIRST_STEP_BYTES", 4 * MIB)
    monkeypatch.setattr(upload, "LARGEST_STEP_BYTES", 4 * MIB)
    path = hub.draft("deep", samples.mlp(hidden=MIB))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published", 90)
    given = {
        "version": 1,
        "release_every": 1,
        "rules": {"clip_multiple": None, "examples_multiple": None},
        "schedule": {"quorum": 2, "target": 2, "poll_seconds": 1, "most_rounds": 1},
    }
    status, _, told = hub.call("POST", "models/zoo/deep/trainings", given)
    assert status == 201, told
    ref = f"zoo/deep/trainings/{told['number']}"
    place = f"models/{ref}"
    wait_for(lambda: hub.call("GET", place)[2]["state"] == "open", "the training to open", 60)
    code = hub.call("POST", f"{place}/invites", {"uses": 2})[2]["code"]
    client = Client(hub.address, token="", cache=tmp_path / "cache")
    made = [client.training(ref, device=name) for name in ("first", "second")]
    for device in made:
        device.join(code)
    return made


def test_a_hub_killed_during_an_upload_gets_all_of_it(hub, devices, tmp_path, monkeypatch):
    first, second = devices
    rng = np.random.default_rng(1)
    changes = {}
    read, kills = upload._Slice.read, []

    def read_and_kill(self, count=-1):
        part = read(self, count)
        # In the middle of a step, once: what the hub holds then is for it to say.
        if not kills and self._left < 2 * MIB:
            kills.append(True)
            hub.kill("hub web")
        return part

    monkeypatch.setattr(upload._Slice, "read", read_and_kill)
    for device, examples in ((first, 10), (second, 30)):
        task = device.pull(wait_seconds=30)
        base = {name: values.copy() for name, values in task.tensors.items()}
        change = {name: rng.standard_normal(v.shape, "f4") for name, v in task.tensors.items()}
        trained = {name: base[name] + change[name] for name in base}
        changes[examples] = {name: trained[name] - base[name] for name in base}
        assert device.push(trained, examples=examples)["state"] == "received"
    assert kills
    place = "models/zoo/deep/versions/2"  # it is drafted when the round ends
    wait_for(
        lambda: hub.call("GET", place)[2].get("state") == "published", "the result's version", 120
    )
    folder = Client(hub.address, token="", cache=tmp_path / "cache").download("zoo/deep@2")
    found = tensors.read(folder / "weights.safetensors")
    for name, before in base.items():
        wanted = before + sum(n * change[name].astype(float) for n, change in changes.items()) / 40
        assert np.all(np.abs(found[name] - wanted) <= np.spacing(np.abs(wanted).astype("f4")))
    with pytest.raises(problems.TrainingOver):
        first.pull()
