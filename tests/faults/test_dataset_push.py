"""`hub dataset push` that is refused or killed: no entry is left, and a repeat publishes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.conftest import Hub, own_environment
from tests.faults.test_push_killed import Relay

MOST_FILES, MOST_BYTES, MOST_UPLOADS = 6, 200_000, 9
STEPS = {
    "preflight": ("POST", "/preflight"),
    "upload": ("POST", "/uploads"),
    "bytes": ("PATCH", "/uploads/"),
    "version": ("POST", "/versions"),
}
ACCOUNTS = """
from registry.models import Namespace
from tests import factories
bob = factories.user("bob")
reader = factories.token(bob, scopes=("read",))
print(factories.token(bob), reader)
factories.namespace(bob, "small")
Namespace.objects.filter(slug="small").update(quota_bytes=10)
"""
OK = ("zoo", "admin")
# What is pushed: name, namespace, whose token, other arguments, and words of the refusal.
REFUSALS = {
    "no namespace": ("stones", "", "admin", [], ["Data set stones not found", "--namespace"]),
    "an unknown namespace": ("stones", "nowhere", "admin", [], ["no namespace nowhere"]),
    "a name with a dot": ("stones.csv", *OK, [], ["'stones.csv' cannot be used"]),
    "a name with a namespace": ("zoo/stones", *OK, [], ["'zoo/stones' cannot be used"]),
    "a reserved name": ("new", *OK, [], ["is reserved"]),
    "no token": ("stones", "zoo", "", [], ["not signed in"]),
    "a token that only reads": ("stones", "bob", "reader", [], ["scope write"]),
    "no role": ("stones", "zoo", "bob", [], ["role writer in zoo"]),
    "a small quota": ("stones", "small", "bob", [], ["exceed the quota"]),
    "a long message": ("stones", *OK, ["--message", "x" * 501], ["500 characters"]),
    "a large file": ("stones", *OK, ["large"], ["accepts files of up to 200000"]),
    "many files": ("stones", *OK, ["many"], ["at most 6 files"]),
    "splits of other files": ("stones", *OK, ["split"], ["not a file of this version"]),
    "open uploads": ("stones", *OK, ["uploads"], ["open uploads; the limit is 9"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub with narrow limits."""
    started = Hub(
        tmp_path_factory.mktemp("hub") / "home",
        HUB_LIMITS_FILES=str(MOST_FILES),
        HUB_LIMITS_FILE_BYTES=str(MOST_BYTES),
        HUB_LIMITS_OPEN_UPLOADS=str(MOST_UPLOADS),
    )
    yield started
    started.stop()


@pytest.fixture(scope="module")
def tokens(hub):
    bob, reader = hub.run_inside(ACCOUNTS).split()
    return {"admin": hub.token, "bob": bob, "reader": reader, "": ""}


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "stones"
    base.mkdir()
    (base / "test.csv").write_text(f"weight,kind\n1.5,{tmp_path.name}\n")
    (base / "bytes.bin").write_bytes(os.urandom(100_000))
    return base


def start(address, tmp_path, token, *arguments):
    environment = own_environment() | {
        "HUB_URL": address, "HUB_TOKEN": token, "HUB_CACHE": str(tmp_path / "cache"),
        "HUB_HOME": str(tmp_path / "home"), "HOME": str(tmp_path),
    }  # fmt: skip
    return subprocess.Popen(
        [Path(sys.executable).with_name("hub"), "dataset", "push", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def entries(hub):
    items = hub.call("GET", "datasets", Authorization="")[2]["items"]
    return [row["slug"] for row in items]


def open_uploads(hub):
    """Open uploads up to the limit; a killed push may have left some. Return their addresses."""
    paths = []
    options = {"Tus_Resumable": "1.0.0", "Upload_Length": "4"}
    while (answer := hub.call("POST", "uploads", **options))[0] == 201:
        paths.append(urlsplit(answer[1]["Location"]).path)
    return paths


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_first_push_leaves_no_entry(hub, tokens, folder, tmp_path, case):
    name, namespace, token, more, words = REFUSALS[case]
    uploads = []
    if more == ["large"]:
        (folder / "large.bin").write_bytes(bytes(MOST_BYTES + 1))
    elif more == ["many"]:
        for at in range(MOST_FILES):
            (folder / f"{at}.csv").write_text(f"{at}\n")
    elif more == ["split"]:
        split = {
            "name": "test", "task": "regression", "reader": "csv", "files": ["none.csv"],
            "inputs": [{"name": "x", "columns": ["w"]}], "target": {"column": "k"},
        }  # fmt: skip
        (folder / "splits.json").write_text(json.dumps([split]))
    elif more == ["uploads"]:
        uploads = open_uploads(hub)
    options = ["--namespace", namespace] if namespace else []
    options += more if more and more[0].startswith("--") else []
    before = entries(hub)
    push = start(hub.address, tmp_path, tokens[token], name, str(folder), *options)
    _, errors = push.communicate(timeout=120)
    for path in uploads:
        assert hub.call("DELETE", path, Tus_Resumable="1.0.0")[0] == 204
    assert push.returncode > 0, errors
    assert entries(hub) == before
    for word in words:
        assert word in errors


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_first_push(hub, folder, tmp_path, step):
    slug = f"killed-{step}"
    relay = Relay(hub)
    try:
        address = f"http://127.0.0.1:{relay.server_address[1]}"
        arguments = address, tmp_path, hub.token, slug, str(folder), "--namespace", "zoo"
        relay.step, relay.victim = STEPS[step], start(*arguments)
        _, errors = relay.victim.communicate(timeout=120)
        assert relay.victim.returncode == -signal.SIGKILL, errors
        if step != "version":  # which makes the entry, and is whole
            assert slug not in entries(hub)
        again = start(*arguments)
        output, errors = again.communicate(timeout=120)
    finally:
        relay.close()
    assert again.returncode == 0, errors
    assert output.startswith(f"{slug}@1 ")
    assert len(hub.call("GET", f"datasets/{slug}/versions")[2]["items"]) == 1
    hub.call("POST", f"datasets/{slug}/withdraw", {"reason": "Tried."})
