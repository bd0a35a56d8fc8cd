"""`git` itself, as it is installed, against a hub of real processes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import uuid

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")
WEIGHTS = bytes(range(256)) * 8_000


def publish(hub, name, contents, message=""):
    """One more version of zoo/``name``, published; returns its commit id."""
    hub.call("POST", "models", {"namespace": "zoo", "name": name})
    _, _, made = hub.call("POST", f"models/zoo/{name}/versions", {"message": message})
    path = f"models/zoo/{name}/versions/{made['number']}"
    for place, content in contents.items():
        status, _, body = hub.call("PUT", f"{path}/files/{place}", {"blob": hub.store(content)})
        assert status == 201, body
    hub.call("POST", f"{path}/submit", {"publish": True})
    wait_for(lambda: hub.state(path) == "published", f"{path} to be published", 180)
    return hub.call("GET", path)[2]["commit_id"]


def commit_files(hub, name, contents):
    """Commit files to zoo/``name`` as Hub clients do; returns the commit id."""
    files = [
        {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
        for path, content in contents.items()
    ]
    lines = [{"key": "header", "value": {"summary": "A commit"}}]
    lines += [{"key": "file", "value": file} for file in files]
    status, _, body = hub.call(
        "POST",
        f"/api/models/zoo/{name}/commit/main",
        "\n".join(map(json.dumps, lines)).encode(),
        Content_Type="application/x-ndjson",
    )
    assert status == 200, body
    return body["commitOid"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub whose zoo/net has three versions."""
    made = Hub(
        tmp_path_factory.mktemp("git") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
    )
    first = {"model.onnx": samples.mlp(), "deep/folder/notes.txt": b"one\n", "w.bin": WEIGHTS}
    made.ids = [
        publish(made, "net", first, "Begin"),
        publish(made, "net", first | {"deep/folder/notes.txt": b"two\n"}),
        publish(made, "net", first | {"config.json": b"{}"}, "Größer\n\nmit Worten"),
    ]
    yield made
    made.stop()


@pytest.fixture(params=["2", "0"])
def git(request, tmp_path):
    """Run git in a protocol; returns (status, words of both kinds)."""

    def run(*words, at=tmp_path):
        done = subprocess.run(
            ["git", "-c", f"protocol.version={request.param}", *map(str, words)],
            cwd=at,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_CONFIG_NOSYSTEM": "1",
                "LC_ALL": "C",
            },
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stdout.strip() + done.stderr.strip()

    return run


def fresh(word):
    """A name that no other test has."""
    return f"{word}-{uuid.uuid4().hex[:8]}"


def with_token(hub, path):
    return hub.address.replace("//", f"//anybody:{hub.token}@") + path


def test_clone_has_the_commits_of_the_hub(hub, git, tmp_path):
    assert git("clone", "--quiet", f"{hub.address}/zoo/net")[0] == 0
    here = tmp_path / "net"
    assert git("log", "--format=%H", at=here)[1].split() == hub.ids[::-1]
    assert git("log", "-1", "--format=%s|%b|%an", at=here)[1] == "Größer|mit Worten|admin"
    assert git("fsck", "--full", "--strict", at=here) == (0, "")
    assert git("status", "--short", at=here) == (0, "")
    assert git("tag", at=here)[1].split() == ["v1", "v2", "v3"]
    assert (here / "model.onnx").read_bytes() == samples.mlp()
    assert (here / "deep" / "folder" / "notes.txt").read_text() == "one\n"
    assert (here / "w.bin").read_text().startswith("version https://git-lfs.github.com/spec/v1\n")
    assert git("show", "v2:deep/folder/notes.txt", at=here)[1] == "two"


def test_a_shallow_clone_deepens_and_fetches(hub, git, tmp_path):
    assert git("clone", "--quiet", "--depth", "1", f"{hub.address}/zoo/net.git")[0] == 0
    here = tmp_path / "net"
    assert git("rev-list", "--count", "HEAD", at=here)[1] == "1"
    assert git("fetch", "--quiet", "--deepen", "1", at=here) == (0, "")
    assert git("rev-list", "--count", "HEAD", at=here)[1] == "2"
    assert git("fetch", "--quiet", "--unshallow", at=here) == (0, "")
    assert git("rev-list", "--count", "HEAD", at=here)[1] == "3"
    assert git("fsck", "--full", at=here) == (0, "")


def test_a_filter_is_ignored_with_a_warning(hub, git, tmp_path):
    status, words = git("clone", "--filter=blob:none", f"{hub.address}/zoo/net")
    assert status == 0
    assert "filtering not recognized by server, ignoring" in words
    assert git("rev-list", "--objects", "--all", "--missing=error", at=tmp_path / "net")[0] == 0


def test_fetch_brings_what_is_new_and_little_else(hub, git, tmp_path):
    contents = {"model.onnx": samples.mlp()}
    name = fresh("grows")
    publish(hub, name, contents)
    assert git("clone", "--quiet", f"{hub.address}/zoo/{name}", "here")[0] == 0
    here = tmp_path / "here"
    newest = publish(hub, name, contents | {"more.txt": b"more\n"})
    before = int(git("count-objects", at=here)[1].split()[0])  # those that are in no pack
    status, said = git("pull", at=here)
    assert status == 0, said
    assert git("rev-parse", "HEAD", at=here)[1] == newest
    # A commit, a tree and a file.
    assert int(git("count-objects", at=here)[1].split()[0]) == before + 3
    assert git("pull", at=here)[1].endswith("Already up to date.")


def test_one_tag_alone(hub, git, tmp_path):
    words = ("clone", "--quiet", "--branch", "v1", "--single-branch", f"{hub.address}/zoo/net")
    assert git(*words)[0] == 0
    assert git("rev-parse", "HEAD", at=tmp_path / "net")[1] == hub.ids[0]


@pytest.mark.parametrize("word", ["2", "@2"])
def test_a_number_is_read_in_every_form_where_git_asks_for_names(hub, git, tmp_path, word):
    words = ("clone", "--quiet", "--branch", word, f"{hub.address}/zoo/net")
    assert git("-c", "protocol.version=2", *words)[0] == 0
    assert git("rev-parse", "HEAD", at=tmp_path / "net")[1] == hub.ids[1]


def test_history_is_cut_where_a_version_was_withdrawn(hub, git, tmp_path):
    name = fresh("cut")
    publish(hub, name, {"model.onnx": samples.mlp(), "secret.txt": b"withdrawn words\n"})
    second = publish(hub, name, {"model.onnx": samples.mlp()})
    third = publish(hub, name, {"model.onnx": samples.mlp(), "more.txt": b"more\n"})
    path = f"models/zoo/{name}/versions/1/withdraw"
    status, _, body = hub.call("POST", path, {"reason": "a mistake"})
    assert status == 200, body
    status, said = git("clone", f"{hub.address}/zoo/{name}", "here")
    assert status == 0, said
    here = tmp_path / "here"
    assert git("log", "--format=%H", at=here)[1].split() == [third, second]
    assert git("fsck", "--full", at=here) == (0, "")
    assert git("cat-file", "-t", hub.call("GET", f"models/zoo/{name}/versions/1")[2]["commit_id"],
               at=here)[0] != 0  # fmt: skip


def test_a_private_model_is_for_tokens_and_a_missing_one_looks_the_same(hub, git, tmp_path):
    name = fresh("hidden")
    publish(hub, name, {"model.onnx": samples.mlp()})
    hub.call("PUT", f"/api/models/zoo/{name}/settings", {"private": True})
    said = [git("clone", f"{hub.address}/zoo/{one}", "no") for one in (name, "missing")]
    assert [status for status, _ in said] == [128, 128]
    assert said[0][1].replace(name, "") == said[1][1].replace("missing", "")
    assert "could not read Username" in said[0][1]
    assert git("clone", "--quiet", with_token(hub, f"/zoo/{name}"), "here")[0] == 0
    assert (tmp_path / "here" / "model.onnx").read_bytes() == samples.mlp()
    status, said = git("clone", with_token(hub, "/zoo/missing"), "none")
    assert (status, "not found" in said) == (128, True)


def test_a_gated_model_is_for_those_let_in(hub, git, tmp_path):
    name = fresh("gated")
    publish(hub, name, {"model.onnx": samples.mlp()})
    hub.call("PUT", f"/api/models/zoo/{name}/settings", {"gated": "manual"})
    assert git("clone", f"{hub.address}/zoo/{name}", "no")[0] == 128
    assert git("clone", "--quiet", with_token(hub, f"/zoo/{name}"), "here")[0] == 0


def test_an_old_name_leads_to_the_new_one(hub, git, tmp_path):
    old, new = fresh("old"), fresh("new")
    publish(hub, old, {"model.onnx": samples.mlp()})
    hub.call("POST", f"models/zoo/{old}/move", {"name": new})
    status, said = git("clone", f"{hub.address}/zoo/{old}", "here")
    assert status == 0, said
    assert f"redirecting to {hub.address}/zoo/{new}/" in said
    assert (tmp_path / "here" / "model.onnx").read_bytes() == samples.mlp()


def test_a_push_is_refused_in_words(hub, git, tmp_path):
    git("clone", "--quiet", with_token(hub, "/zoo/net"))
    status, said = git("push", "origin", "main:other", at=tmp_path / "net")
    assert status != 0
    assert "does not accept git pushes" in said
    assert "hf upload zoo/net" in said


def test_an_empty_model_is_one_empty_commit(hub, git, tmp_path):
    name = fresh("empty")
    hub.call("POST", "models", {"namespace": "zoo", "name": name})
    assert git("clone", "--quiet", with_token(hub, f"/zoo/{name}"), "here")[0] == 0
    told = hub.call("GET", f"/api/models/zoo/{name}")[2]["sha"]
    assert git("rev-parse", "HEAD", at=tmp_path / "here")[1] == told


def test_large_files_come_by_git_lfs(hub, git, tmp_path):
    if shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed here")
    git("lfs", "install")
    name = fresh("large")
    odd = 'odd/[a] "b" c*.bin'
    contents = {"model.onnx": samples.mlp(), "small.bin": b"small", "w.bin": WEIGHTS}
    publish(hub, name, contents)
    assert git("clone", "--quiet", f"{hub.address}/zoo/{name}", "here") == (0, "")
    here = tmp_path / "here"
    assert (here / "w.bin").read_bytes() == WEIGHTS
    assert (here / "small.bin").read_bytes() == b"small"
    assert git("status", "--short", at=here) == (0, "")
    assert git("fsck", "--full", "--strict", at=here) == (0, "")
    newest = commit_files(hub, name, {odd: WEIGHTS[::-1]})
    wait_for(lambda: hub.state(f"models/zoo/{name}/versions/2") == "published", name, 180)
    assert git("pull", "--quiet", at=here) == (0, "")
    assert git("rev-parse", "HEAD", at=here)[1] == newest
    assert (here / odd).read_bytes() == WEIGHTS[::-1]
    assert git("status", "--short", at=here) == (0, "")


def test_attributes_of_the_model_itself_stay(hub, git, tmp_path):
    name = fresh("own")
    own = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
    publish(hub, name, {"model.onnx": samples.mlp(), "w.bin": WEIGHTS, ".gitattributes": own})
    assert git("clone", "--quiet", f"{hub.address}/zoo/{name}", "here") == (0, "")
    assert (tmp_path / "here" / ".gitattributes").read_bytes() == own


def test_a_repository_without_a_model_is_cloned_by_everybody(hub, git, tmp_path):
    name = fresh("tokens")
    hub.call("POST", "models", {"namespace": "zoo", "name": name})
    oid = commit_files(hub, name, {"tokenizer.json": b"{}"})
    assert hub.call("POST", f"/api/models/zoo/{name}/tag/main", {"tag": "one"})[0] == 201
    assert git("clone", "--quiet", f"{hub.address}/zoo/{name}", "here") == (0, "")
    assert git("rev-parse", "HEAD", "one", at=tmp_path / "here")[1].split() == [oid, oid]
    assert (tmp_path / "here" / "tokenizer.json").read_bytes() == b"{}"
