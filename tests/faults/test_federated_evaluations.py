"""Devices that are processes of their own evaluate a round on a real hub; one of five lies."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import samples
from tests.faults.conftest import ROOT, own_environment, wait_for

# Takes part until the training has ended: moves each weight a little, and reports these counts.
DEVICE = """
import sys
from hub.client.hub import Hub

url, ref, code, name, cache, right = sys.argv[1:]
device = Hub(url, token="", cache=cache).training(ref, device=name)
device.join(code)
compared = []

def evaluate(task):
    compared.append(task.base.digest)
    assert task.base.tensors.keys() == task.candidate.tensors.keys()
    assert task.candidate.save(cache + "/saved").stat().st_size
    return 100, 80, int(right)

for task in device.tasks(evaluate=evaluate):
    device.push({name: values + 0.01 for name, values in task.tensors.items()}, examples=100)
assert len(compared) == 1
"""


@pytest.fixture(scope="module")
def published(hub):
    path = hub.draft("small", samples.mlp(hidden=64))
    hub.call("POST", f"{path}/submit", {"publish": True})
    hub.wait_until(path, "published", 90)


def train(hub, folder, right):
    """A training of one round by a process for each number of right answers; its address."""
    given = {
        "version": 1, "release_every": 1,
        "rules": {"needs_evaluation": True},
        "schedule": {
            "quorum": 5, "target": 5, "poll_seconds": 1, "most_rounds": 1, "evaluation_target": 5,
        },
    }  # fmt: skip
    status, _, told = hub.call("POST", "models/zoo/small/trainings", given)
    assert status == 201, told
    ref = f"zoo/small/trainings/{told['number']}"
    place = f"models/{ref}"
    wait_for(lambda: hub.call("GET", place)[2]["state"] == "open", "the training to open", 60)
    code = hub.call("POST", f"{place}/invites", {"uses": len(right)})[2]["code"]
    devices = []
    for number, count in enumerate(right):
        home = folder / f"{ref.rpartition('/')[2]}-{number}"
        words = [hub.address, ref, code, str(number), str(home), str(count)]
        devices.append(
            subprocess.Popen(
                [sys.executable, "-c", DEVICE, *words],
                cwd=ROOT,
                env=own_environment() | {"XDG_CONFIG_HOME": str(home)},
            )
        )
    try:
        assert [device.wait(300) for device in devices] == [0] * len(devices)
    finally:
        for device in devices:
            device.kill()
    return place


def test_a_lie_of_one_device_neither_blocks_nor_forces_a_version(hub, published, tmp_path):
    place = train(hub, tmp_path, [0, 84, 85, 86, 87])
    told = hub.call("GET", f"{place}/rounds/1/evaluation")[2]
    assert (told["state"], told["reports"]) == ("passed", 5)
    assert told["scores"]["all"]["change"]["value"] == 0.05
    version = wait_for(lambda: hub.call("GET", f"{place}/rounds/1")[2]["version"], "a version", 60)
    assert version == 2
    place = train(hub, tmp_path, [100, 79, 78, 77, 76])
    told = hub.call("GET", f"{place}/rounds/1/evaluation")[2]
    assert (told["state"], told["scores"]["all"]["worse"]["value"]) == ("failed", 0.8)
    assert hub.call("GET", f"{place}/rounds/1")[2]["version"] is None
