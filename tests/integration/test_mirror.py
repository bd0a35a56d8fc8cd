"""One hub mirrored into another, by the command, over real sockets."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import quote

import pytest

from tests import samples
from tests.faults.conftest import ROOT, Hub, wait_for

LARGE = bytes(range(256)) * 60_000
CARD = b"---\nlicense: mit\ntags: [a-keyword]\n---\n# Net\n"


def make(tmp_path_factory, name):
    return Hub(
        tmp_path_factory.mktemp(name) / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )


def publish(hub, name, files, *, visibility="public", card=CARD, message="First of all"):
    hub.call("POST", "models", {"namespace": "zoo", "name": name, "visibility": visibility})
    made = hub.call("POST", f"models/zoo/{name}/versions", {"message": message})[2]
    path = f"models/zoo/{name}/versions/{made['number']}"
    for place, content in files.items():
        status, _, body = hub.call(
            "PUT", f"{path}/files/{quote(place)}", {"blob": hub.store(content)}
        )
        assert status in (200, 201), body
    hub.call("PUT", f"{path}/card", card, Content_Type="text/markdown")
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", f"{name} to be published", 180)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """The source: a public model, a private one, and one behind a gate."""
    hub = make(tmp_path_factory, "there")
    files = {
        "onnx/model.onnx": samples.mlp(),
        "weights.bin": LARGE,
        "config.json": b"{}",
        "notes/a b%.txt": b"odd names",
    }
    try:
        publish(hub, "net", files)
        publish(hub, "hidden", {"model.onnx": samples.mlp()}, visibility="private")
        publish(hub, "gated", {"model.onnx": samples.mlp()})
        hub.call("PUT", "/api/models/zoo/gated/settings", {"gated": "manual"})
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The target."""
    hub = make(tmp_path_factory, "here")
    yield hub
    hub.stop()


@pytest.fixture
def mirror(there, here, tmp_path):
    """Run `hub import hf`; gives the exit code, what it printed, and its complaints."""

    def run(repo, *options, **given):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("H")}
        ended = subprocess.run(
            [sys.executable, "-m", "hub", "import", "hf", repo, "--from", there.address, *options],
            env=kept | {
                "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "HUB_URL": here.address,
                "HUB_TOKEN": here.token, "HUB_CACHE": str(tmp_path / "cache"),
            },
            cwd=ROOT, capture_output=True, text=True, check=False, timeout=120, **given,
        )  # fmt: skip
        return ended.returncode, ended.stdout, ended.stderr

    return run


def versions(hub, name):
    return hub.call("GET", f"models/zoo/{name}/versions")[2]["items"]


def files(hub, name, number):
    found = hub.call("GET", f"models/zoo/{name}/versions/{number}")[2]["files"]
    return {file["path"]: file["sha256"] for file in found if not file["derived"]}


def test_a_model_is_mirrored_once_with_where_it_came_from(there, here, mirror):
    code, said, complaints = mirror("zoo/net", "--namespace", "zoo", "--name", "copy")
    assert (code, said.splitlines()[0]) == (0, "zoo/copy@1 published"), complaints
    one, other = files(there, "net", 1), files(here, "copy", 1)
    assert one.pop("README.md") != other.pop("README.md")
    assert one == other
    commit = versions(there, "net")[0]["commit_id"]
    card = here.call("GET", "/zoo/copy/resolve/main/README.md")[2].decode()
    assert card.startswith("---\nlicense: mit\ntags: [a-keyword]\nmirrored_from:\n")
    assert f'  url: "{there.address}/zoo/net"\n  commit: "{commit}"\n  date: "20' in card
    assert '  message: "First of all"\n---\n# Net\n' in card
    (made,) = versions(here, "copy")
    assert made["message"] == f"Mirror of {there.address}/zoo/net at {commit}: First of all"
    assert here.call("GET", "models/zoo/copy")[2]["license"].lower() == "mit"

    code, said, complaints = mirror("zoo/net", "--namespace", "zoo", "--name", "copy")
    assert (code, said.splitlines()[0]) == (0, "zoo/copy@1 published, already imported"), complaints
    assert len(versions(here, "copy")) == 1


def test_what_is_there_already_moves_no_large_file(here, mirror, tmp_path):
    mirror("zoo/net", "--namespace", "zoo", "--name", "again")
    blobs = tmp_path / "cache" / "blobs"
    (large,) = [path for path in blobs.iterdir() if path.stat().st_size == len(LARGE)]
    large.unlink()
    assert mirror("zoo/net", "--namespace", "zoo", "--name", "again")[0] == 0
    assert not large.exists()
    assert len(versions(here, "again")) == 1


def test_a_draft_that_was_cut_is_taken_up_and_others_are_not(there, here, mirror):
    here.call("POST", "models", {"namespace": "zoo", "name": "cut"})
    here.call("POST", "models/zoo/cut/versions", {"message": "by hand"})
    commit = versions(there, "net")[0]["commit_id"]
    message = f"Mirror of {there.address}/zoo/net at {commit}: First of all"
    here.call("POST", "models/zoo/cut/versions", {"message": message})
    path = "models/zoo/cut/versions/2/files/stale.txt"
    here.call("PUT", path, {"blob": here.store(b"stale")})
    code, said, complaints = mirror("zoo/net", "--namespace", "zoo", "--name", "cut")
    assert (code, said.splitlines()[0]) == (0, "zoo/cut@2 published"), complaints
    assert {row["number"]: row["state"] for row in versions(here, "cut")} == {
        1: "draft",
        2: "published",
    }
    assert "stale.txt" not in files(here, "cut", 2)


def test_a_submitted_version_is_waited_for(here, mirror):
    code, said, _ = mirror("zoo/net", "--namespace", "zoo", "--name", "slow", "--no-wait")
    assert (code, said.splitlines()[0]) == (0, "zoo/slow@1 submitted")
    code, said, complaints = mirror("zoo/net", "--namespace", "zoo", "--name", "slow")
    assert (code, said.splitlines()[0]) == (0, "zoo/slow@1 published, already imported"), complaints


def test_a_newer_commit_becomes_the_next_version(there, here, mirror):
    publish(there, "moving", {"model.onnx": samples.mlp()})
    options = ("--namespace", "zoo")
    assert mirror("zoo/moving", *options)[1].startswith("zoo/moving@1 published\n")
    publish(there, "moving", {"model.onnx": samples.mlp(hidden=16)}, message="Wider")
    assert mirror("zoo/moving", *options)[1].startswith("zoo/moving@2 published\n")
    old = mirror("zoo/moving", *options, "--revision", "v1")[1]
    assert old.startswith("zoo/moving@1 published, already imported\n")


def test_patterns_choose_files_and_a_card_may_be_given(here, mirror, tmp_path):
    card = tmp_path / "card.md"
    card.write_text("---\nlicense: apache-2.0\n---\n# Mine\n")
    code, _, complaints = mirror(
        "zoo/net", "--namespace", "zoo", "--name", "part", "--include", "onnx/*",
        "--include", "*.bin", "--exclude", "weights.*", "--card", str(card),
    )  # fmt: skip
    assert code == 0, complaints
    assert sorted(files(here, "part", 1)) == ["README.md", "onnx/model.onnx"]
    told = here.call("GET", "/zoo/part/resolve/main/README.md")[2].decode()
    assert told.startswith("---\nlicense: apache-2.0\nmirrored_from:\n")
    assert told.endswith("---\n# Mine\n")
    code, _, complaints = mirror("zoo/net", "--namespace", "zoo", "--exclude", "*.onnx")
    assert (code, "no .onnx file" in complaints) == (1, True)


def test_what_is_private_there_is_private_here(there, here, mirror):
    code, _, complaints = mirror("zoo/hidden", "--namespace", "zoo")
    assert (code, "pass a token of that server" in complaints) == (3, True)
    secret = ("--token", "-")
    code, said, complaints = mirror("zoo/hidden", "--namespace", "zoo", *secret, input=there.token)
    assert (code, said.splitlines()[0]) == (0, "zoo/hidden@1 published"), complaints
    assert here.call("GET", "models/zoo/hidden")[2]["visibility"] == "private"
    assert there.token not in complaints

    here.call("POST", "models", {"namespace": "zoo", "name": "open", "visibility": "public"})
    options = ("--namespace", "zoo", "--name", "open", *secret)
    code, _, complaints = mirror("zoo/hidden", *options, input=there.token)
    assert (code, "is private and zoo/open is public" in complaints) == (1, True)
    assert versions(here, "open") == []
    assert mirror("zoo/hidden", *options, "--public", input=there.token)[0] == 0


def test_what_is_behind_a_gate_needs_a_token_and_is_private_here(there, here, mirror):
    code, _, complaints = mirror("zoo/gated", "--namespace", "zoo")
    assert (code, f"{there.address}/zoo/gated is gated" in complaints) == (4, True)
    secret = ("--token", "-")
    code, said, complaints = mirror("zoo/gated", "--namespace", "zoo", *secret, input=there.token)
    assert (code, said.splitlines()[0]) == (0, "zoo/gated@1 published"), complaints
    assert here.call("GET", "models/zoo/gated")[2]["visibility"] == "private"


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        (("zoo/nope",), 3, "Model zoo/nope not found"),
        (("zoo/net", "--revision", "nope"), 3, "does not have this revision"),
        (("zoo/net", "--token", "hf_wrong"), 4, "rejected the token"),
        (("a/b/c",), 1, "is not a model name"),
        (("zoo/net", "--name", "bad..name"), 1, "holds '--' or '..'"),
    ],
)
def test_refusals(here, mirror, options, status, text):
    code, said, complaints = mirror(*options, "--namespace", "zoo")
    assert (code, said) == (status, "")
    assert text in complaints
    assert "Traceback" not in complaints
