"""A hub that the tests of all bridges read, and the scripts that tools run against it."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from hub.client import datasets
from hub.client.hub import Hub as Client
from tests import samples
from tests.contracts.test_gates import ROOT
from tests.faults.conftest import Hub, wait_for
from tests.integration.environments import python_with

CARD = b"---\nlicense: mit\npipeline_tag: image-classification\n---\n# Net\n"
CONTENTS = {
    "model.onnx": samples.mlp(),
    "deep/notes.txt": b"notes\n",
    # Larger than what the filesystem fetches whole.
    "weights.bin": bytes(range(256)) * 20_000,
}
CSV = b"weight,kind\n1.5,granite\n2.5,basalt\n"


def bridge(name, extra, *wanted):
    """The interpreter of an environment with this checkout, one of its extras, and a tool."""
    return python_with(name, f"--editable={ROOT}[{extra}]", *wanted)


def add(hub, name, contents):
    """Publish a model."""
    path = hub.draft(name, contents["model.onnx"])
    for place, content in contents.items():
        if place != "model.onnx":
            hub.call("PUT", f"{path}/files/{place}", {"blob": hub.store(content)})
    hub.call("PUT", f"{path}/card", CARD, Content_Type="text/markdown")
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", f"{name} to be published", 180)


def downloads(hub, name):
    """How many downloads of a model the hub counted: it writes them down every few seconds."""
    seen = []

    def is_settled():
        time.sleep(3)
        seen.append(hub.call("GET", f"models/zoo/{name}")[2]["downloads"])
        return len(seen) > 2 and seen[-1] and seen[-1] == seen[-3]

    wait_for(is_settled, f"downloads of {name}", 20)
    return seen[-1]


@pytest.fixture(scope="session")
def hub(tmp_path_factory):
    """A hub with a public model and a private one, and a data set."""
    made = Hub(
        tmp_path_factory.mktemp("bridges") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    for name in ("net", "hidden"):
        add(made, name, CONTENTS)
    made.call("PATCH", "models/zoo/hidden", {"visibility": "private"}, If_Match="*")
    made.call("PUT", "models/zoo/net/refs/champion", {"kind": "alias", "version": 1})
    folder = tmp_path_factory.mktemp("stones")
    (folder / "test.csv").write_bytes(CSV)
    client = Client(made.address, token=made.token, cache=folder.with_name("cache"))
    datasets.push(client, "stones", folder, namespace="zoo")
    yield made
    made.stop()


@pytest.fixture
def publish(hub):
    """Publish a model of this name, which nobody has downloaded.

    Below a megabyte, processes that begin at once do not wait for each other.
    """
    return lambda name: add(
        hub, name, {"model.onnx": samples.unlike_others(samples.mlp(hidden=100_000))}
    )


@pytest.fixture
def run(hub, tmp_path):
    """Run a program of a tool against the hub, with a cache of its own; returns what it prints."""

    def run(program, *arguments, token="", seconds=300, **environment):
        given = {
            key: value for key, value in os.environ.items() if not key.startswith(("HUB_", "HF_"))
        }
        given |= {
            "HUB_URL": hub.address,
            "HUB_TOKEN": token,
            "HUB_CACHE": str(tmp_path / "cache"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "HOME": str(tmp_path),
        }
        done = subprocess.run(
            [program, *arguments], env=given | environment, cwd=tmp_path, check=False,
            capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
