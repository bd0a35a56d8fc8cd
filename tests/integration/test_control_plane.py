"""Each command of trainings, rounds and fleets once, against a hub of real processes.

Commands run as users run them, in processes of their own, and their `--json` is read. What they
made is then read through the Python client.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hub.cli.control import federated
from hub.client.hub import Hub as Client
from tests import samples, simulated
from tests.faults.conftest import ROOT, Hub, wait_for

CARD = "---\nlicense: mit\n---\n# Net {}\n"
SCHEDULE = {"quorum": 2, "target": 2, "poll_seconds": 1, "grace_seconds": 20}


class Commands:
    """Runs `hub` with `--json` and remembers which commands ran."""

    def __init__(self, hub, home):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HUB_")}
        self.environment = kept | {
            "HUB_URL": hub.address,
            "HUB_TOKEN": hub.token,
            "HUB_CACHE": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }
        self.ran = set()

    def __call__(self, *words):
        """The JSON that a command prints."""
        output = self.text(*words, "--json")
        return json.loads(output)

    def text(self, *words, code=0):
        """What a command prints; where it ends with another code, its error."""
        ended = subprocess.run(
            [sys.executable, "-m", "hub", *map(str, words)], env=self.environment, cwd=ROOT,
            check=False, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert ended.returncode == code, f"hub {' '.join(map(str, words))}\n{ended.stderr}"
        self.ran.add(words[:2])
        return ended.stderr if code else ended.stdout


def expect_all(run, *nouns):
    """That every command of these groups ran."""
    assert {(noun.name, verb.name) for noun in nouns for verb in noun.verbs} <= run.ran


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with two versions of a model."""
    started = Hub(
        tmp_path_factory.mktemp("control") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    try:
        for number in (1, 2):
            path = started.draft("net", samples.unlike_others(samples.mlp()))
            card = CARD.format(number).encode()
            started.call("PUT", f"{path}/card", card, Content_Type="text/markdown")
            started.call("POST", f"{path}/submit", {"publish": True})
            wait_for(lambda at=path: started.state(at) == "published", f"version {number}", 240)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def run(hub, tmp_path_factory):
    return Commands(hub, tmp_path_factory.mktemp("commands"))


def identity(run):
    """What the only device of this machine keeps."""
    [path] = Path(run.environment["XDG_CONFIG_HOME"]).rglob("trainings/*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return json.loads(path.read_text())


def test_fleets(hub, run, tmp_path):
    fleet = run("fleet", "create", "zoo/net", "cameras", "--halt-percent", 10)
    assert fleet["name"] == "cameras"
    assert [row["name"] for row in run("fleet", "list", "zoo/net")] == ["cameras"]
    run("fleet", "rollout", "zoo/net@2", "cameras", "--percent", 100)
    desired = run("fleet", "desired", "zoo/net", "cameras", "--device", "cam-7")
    assert desired["version"] == 2
    digest = desired["manifest_digest"]
    run("fleet", "report", "zoo/net", "cameras", "cam-7", "--running", digest, "--result", "ok")
    assert run("fleet", "show", "zoo/net", "cameras")["desired"] == 2
    invite = run("fleet", "invite", "zoo/net", "cameras", "--uses", 2)
    assert run("fleet", "enrol", "zoo/net", "cameras", "cam-8", invite["code"])
    folder = tmp_path / "model"
    run("fleet", "pull", "zoo/net", "cameras", "cam-8", "--to", folder)
    assert "# Net 2" in (folder / "README.md").read_text()
    first = identity(run)
    run("fleet", "rotate", "zoo/net", "cameras", "cam-8")
    assert identity(run)["key"] != first["key"]
    run("fleet", "pull", "zoo/net", "cameras", "cam-8", "--to", folder)
    devices = run("fleet", "devices", "zoo/net", "cameras")
    assert [row["device"] for row in devices] == ["cam-8"]
    run("fleet", "revoke-device", "zoo/net", "cameras", "cam-8", "--yes")
    refused = run.text("fleet", "pull", "zoo/net", "cameras", "cam-8", "--to", folder, code=4)
    assert "revoked token of a device" in refused
    [row] = run("fleet", "invites", "zoo/net", "cameras")
    assert (row["uses"], row["used"]) == (2, 1)
    run("fleet", "revoke-invite", "zoo/net", "cameras", row["id"], "--yes")
    run("fleet", "revoke-token", "zoo/net", "cameras", "--yes")
    expect_all(run, federated.FLEET)
    assert Client(hub.address, token=hub.token).fleets.read("zoo/net", "cameras").desired == 2


def contribute(run, training, devices):
    """Let the devices take part in the open round; gives its number once it is aggregated."""
    for device in devices:
        task = device.pull(wait_seconds=30)
        assert task is not None, "no round is open"
        device.push({name: value + 0.01 for name, value in task.tensors.items()}, examples=10)

    def aggregated():
        rows = run("rounds", "list", training)
        return [row["number"] for row in rows if row["state"] == "aggregated"]

    wait_for(aggregated, "a round is aggregated", 120)
    return aggregated()[0]


def test_trainings_and_rounds(hub, run, tmp_path, monkeypatch):  # noqa: PLR0915 - a life
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = run(
        "training", "create", "zoo/net@1", "--title", "Digits", "--open",
        "--schedule", json.dumps(SCHEDULE), "--rules", json.dumps({"rule": "median"}),
    )  # fmt: skip
    training = f"zoo/net/trainings/{made['number']}"
    assert [row["title"] for row in run("training", "list", "zoo/net")] == ["Digits"]
    wait_for(lambda: run("training", "show", training)["state"] == "open", "it is open", 120)
    schema = run("training", "schema", training)
    assert schema
    skeleton = tmp_path / "skeleton.onnx"
    run.text("training", "skeleton", training, "--to", skeleton)
    assert skeleton.stat().st_size > 0
    code = run("training", "invite", training, "--uses", 2)["code"]
    other = run("training", "invite", training)["id"]
    run.text("training", "revoke-invite", training, other, "--yes")
    assert {row["uses"] for row in run("training", "invites", training)} >= {2}

    devices = [
        Client(hub.address, token="").training(training, device=name) for name in ("one", "two")
    ]
    for device in devices:
        device.join(code)
    pseudonyms = [row["participant"] for row in run("training", "participants", training)]
    assert len(pseudonyms) == len(devices)
    for state in ("suspended", "active"):
        edited = run("training", "edit-participant", training, pseudonyms[0], "--state", state)
        assert edited["state"] == state

    number = contribute(run, training, devices)
    assert run("rounds", "aggregate", training, number)
    assert "<" in run.text("rounds", "provenance", training, number)
    for part in ("base", "result"):
        target = tmp_path / f"{part}.safetensors"
        run.text("rounds", part, training, number, "--to", target)
        assert target.stat().st_size > 0
    run("rounds", "score", training, number, 0.91)
    assert run("rounds", "evaluate", training, number)
    assert run("rounds", "evaluation", training, number)["state"] == "open"
    assert run("rounds", "release", training, number)

    run("training", "pause", training, "--reason", "Holidays")
    assert run("training", "show", training)["state"] == "paused"
    run("training", "edit", training, "--title", "Digits again")
    assert run("training", "open", training)["title"] == "Digits again"
    opened = run("rounds", "list", training)[0]["number"]
    assert run("rounds", "show", training, opened)["state"] == "open"
    # An open training opens its rounds itself.
    assert "close it first" in run.text("rounds", "open", training, code=1)
    run("rounds", "close", training, opened)
    run("training", "finish", training, "--yes")
    assert run("training", "show", training)["state"] == "finished"
    second = run("training", "create", "zoo/net@2")
    run("training", "cancel", f"zoo/net/trainings/{second['number']}", "--yes")
    simulated.write(tmp_path)
    rows = run(
        "training", "simulate", tmp_path / "digits.onnx", "--data", tmp_path / "digits.npz",
        "--code", tmp_path / "device.py", "--rounds", 2, "--devices", 3,
    )["rounds"]  # fmt: skip
    assert [row["round"] for row in rows] == [1, 2]
    expect_all(run, federated.TRAINING, federated.ROUNDS)
