"""The clients that people have, writing to this hub: each as it comes, none of them ours."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess

import pytest

from tests import samples
from tests.faults.conftest import Hub, wait_for
from tests.integration.environments import node_with
from tests.integration.test_huggingface import HERE, environment, python, run

__all__ = ["python"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that is empty but for its samples; large objects come in parts of 8 MB."""
    made = Hub(
        tmp_path_factory.mktemp("upload") / "home",
        HUB_LIMITS_STAGE_SECONDS="60",
        HUB_LIMITS_LEASE_SECONDS="60",
        HUB_LIMITS_PUT_BYTES="8000000",
    )
    yield made
    made.stop()


@pytest.mark.parametrize("xet", [True, False], ids=["xet", "lfs"])
def test_what_a_client_writes_is_there_and_is_published(hub, python, xet, tmp_path):
    name = f"net-{python.parts[-3]}-{'xet' if xet else 'lfs'}"
    version = write_and_publish(hub, python, name, tmp_path, xet=xet)
    if xet and not version.startswith("0."):
        assert _bytes_of_the_second(hub, name) < 0.1 * 30_000_000


def write_and_publish(hub, python, name, tmp_path, *, xet):
    """Write zoo/``name`` with huggingface_hub by Xet or Git LFS; returns the client's version."""
    model = tmp_path / "model.onnx"
    model.write_bytes(samples.mlp())
    given = environment(hub, tmp_path / "cache") | ({} if xet else {"HF_HUB_DISABLE_XET": "1"})
    ended = subprocess.run(
        [python, HERE / "clients" / "write.py", f"zoo/{name}", model],
        env=given, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    held = json.loads(ended.stdout.splitlines()[-1])
    assert held | {"version": "", "head": ""} == {
        "version": "",
        "xet": xet,
        "first": 40,
        "same": True,
        "again": True,
        "notes": False,
        "copy": True,
        "dev": [True, False],
        "tag": 409,
        "late": 412,
        "missing": True,
        "hidden": False,
        "head": "",
    }
    wait_for(lambda: _public_head(hub, name) == held["head"], "the commit to be published", 120)
    return held["version"]


def test_every_method_of_the_client_works_or_is_refused_in_words(hub, python, tmp_path):
    name = f"zoo/walk-{python.parts[-3]}"
    walk = [python, HERE / "clients" / "walk.py", name.replace(".", ""), "admin"]
    given = environment(hub, tmp_path) | {"HF_TOKEN": token_of_scope_write(hub)}
    results = json.loads(run(walk, given).splitlines()[-1])
    works = {method for method, result in results.items() if result == "works"}
    assert {
        method: result
        for method, result in results.items()
        if method not in works and not result.startswith("refused: ")
    } == {}
    assert works >= {
        "auth_check", "change_discussion_status", "comment_discussion", "create_branch",
        "create_commit", "create_discussion", "create_repo", "create_tag",
        "delete_branch", "delete_file", "delete_folder", "delete_repo", "delete_tag",
        "edit_discussion_comment", "file_exists", "get_discussion_details", "get_paths_info",
        "get_repo_discussions", "hide_discussion_comment", "rename_discussion",
        "hf_hub_download", "list_models", "list_repo_commits",
        "list_repo_files", "list_repo_refs", "list_repo_tree", "model_info", "move_repo",
        "preupload_lfs_files", "repo_exists", "repo_info", "revision_exists", "snapshot_download",
        "update_repo_settings", "upload_file", "upload_folder", "whoami",
    }  # fmt: skip


def test_what_huggingface_js_writes_is_there_and_is_published(hub, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(samples.mlp())
    words = ["node", "write.mjs", hub.address, hub.token, "zoo/js", model]
    said = run(words, dict(os.environ), cwd=node_with("node", "@huggingface/hub"))
    held = json.loads(said.splitlines()[-1])
    head = held.pop("head")
    assert held == {
        "url": f"{hub.address}/zoo/js",
        "again": 409,
        "oid": 40,
        "same": True,
        "gone": True,
        "x": "x",
        "dev": [True, False],
        "late": 412,
        "hidden": False,
        "deleted": True,
        "progress": True,
        "copied": "p",
        "restarted": True,
        "part": True,
        "cached": True,
        "refused": [400, 400, 400, 404],
    }
    wait_for(lambda: _public_head(hub, "js") == head, "the commit to be published", 120)
    # It offers Xet, and takes the parts that the hub answers with.
    assert _xorbs(hub, "js") == []


def test_every_function_of_huggingface_js_works(hub):
    words = ["node", "walk.mjs", hub.address, token_of_scope_write(hub), "zoo/walk-js", "admin"]
    output = run(words, dict(os.environ), cwd=node_with("node", "@huggingface/hub"))
    results = json.loads(output.splitlines()[-1])
    assert len(results) >= 26
    assert {name: result for name, result in results.items() if result != "works"} == {}


def token_of_scope_write(hub):
    """The token that the README makes: `hub token create --user admin --scope write`."""
    return hub.run_inside(
        "from registry.models import User\n"
        "from registry.people.services import tokens\n"
        "admin = User.objects.get(username='admin')\n"
        "print(tokens.issue(admin, name='walk', scopes=['write'], namespace=None)[1])"
    )


def _public_head(hub, name):
    found = hub.call("GET", f"models/zoo/{name}/versions")[2]
    published = [row for row in found.get("items", []) if row["state"] == "published"]
    main = [row for row in published if row.get("branch", "main") == "main"]
    return next((row["commit_id"] for row in main if row["commit_id"]), None)


def _bytes_of_the_second(hub, name):
    """What the second upload moved: every xorb of the model but the first."""
    first, *later = _xorbs(hub, name)
    assert first > 25_000_000
    return sum(later)


def _xorbs(hub, name):
    """The bytes of each xorb that was sent to a model, the oldest first."""
    rows = sqlite3.connect(hub.home / "hub.sqlite3").execute(
        "SELECT xorb.size FROM registry_xorb xorb JOIN registry_xetstore store "
        "ON store.id = xorb.store_id JOIN registry_registeredmodel model "
        "ON model.id = store.model_id WHERE model.name = ? ORDER BY xorb.id",
        (name,),
    )
    return [size for (size,) in rows]
