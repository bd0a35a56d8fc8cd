"""Models, lists, files and folders as the Hub protocol shows them."""

from __future__ import annotations

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.versions import git_names
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import CONFIG, WEIGHTS, refused

pytestmark = pytest.mark.django_db
MODEL = "/api/models/ada/net"
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()
POINTER = git_names.pointer(DIGEST, len(WEIGHTS))


def test_a_model(api, version):
    info = api().get(f"{MODEL}?blobs=true&securityStatus=1").json()
    assert (info["id"], info["author"], info["sha"]) == ("ada/net", "ada", version.commit_id)
    assert (info["private"], info["gated"], info["downloads"], info["likes"]) == (
        False,
        False,
        0,
        0,
    )
    assert info["lastModified"].endswith("Z")
    assert info["pipeline_tag"] == "image-classification"
    assert info["library_name"] == "timm"
    assert info["config"] == {"model_type": "resnet", "architectures": ["ResNet"]}
    assert info["cardData"]["tags"] == ["digits", "tiny"]
    assert info["tags"] == [
        "digits", "tiny", "timm", "en", "dataset:mnist", "onnx", "image-classification",
        "license:apache-2.0",
    ]  # fmt: skip
    assert info["securityRepoStatus"] == {"scansDone": True, "filesWithIssues": []}
    files = {entry["rfilename"]: entry for entry in info["siblings"]}
    assert files["config.json"] == {
        "rfilename": "config.json", "size": len(CONFIG), "blobId": git_names.blob_id(CONFIG),
    }  # fmt: skip
    assert files["weights/model.onnx_data"]["blobId"] == git_names.blob_id(POINTER)
    assert files["weights/model.onnx_data"]["lfs"] == {
        "sha256": DIGEST, "size": len(WEIGHTS), "pointerSize": len(POINTER),
    }  # fmt: skip
    assert all(set(entry) == {"rfilename"} for entry in api().get(MODEL).json()["siblings"])
    assert "xetHash" not in str(info)


def test_expand_names_what_is_wanted(api, version):
    for query in ("expand=sha&expand=downloads&expand=gguf", "expand[]=sha,downloads"):
        for address in (MODEL, f"{MODEL}/revision/main"):
            assert set(api().get(f"{address}?{query}").json()) == {"_id", "id", "sha", "downloads"}
    used = api().get(f"{MODEL}?expand=usedStorage").json()["usedStorage"]
    assert used == sum(file.blob.size for file in version.files.filter(derived=False))


def test_a_tree(api, version):
    top = api().get(f"{MODEL}/tree/main").json()
    assert [(entry["type"], entry["path"]) for entry in top] == [
        ("file", "README.md"), ("file", "config.json"), ("file", "model.onnx"),
        ("directory", "weights"),
    ]  # fmt: skip
    below = api().get(f"{MODEL}/tree/main/weights?recursive=true").json()
    paths = ["weights/deep", "weights/deep/notes.txt", "weights/model.onnx_data"]
    assert [entry["path"] for entry in below] == paths
    assert below[2]["lfs"] == {"oid": DIGEST, "size": len(WEIGHTS), "pointerSize": len(POINTER)}
    assert below[2]["oid"] == git_names.blob_id(POINTER)
    assert below[0]["oid"] == git_names.tree_id([("notes.txt", git_names.blob_id(b"deep\n"))])
    for path in ("nope", "config.json", "additional_chat_templates"):
        refused(api().get(f"{MODEL}/tree/main/{path}"), 404, "EntryNotFound")


def test_a_tree_goes_on_where_its_link_says(api, version):
    address, seen = f"{MODEL}/tree/main?recursive=true&limit=3", []
    while address:
        response = api().get(address)
        seen += [entry["path"] for entry in response.json()]
        link = response.get("Link", "")
        address = link[1 : link.find(">")].removeprefix("http://testserver")
    assert seen == [
        entry["path"] for entry in api().get(f"{MODEL}/tree/main?recursive=true").json()
    ]
    refused(api().get(f"{MODEL}/tree/main?cursor=rubbish"), 400)


def test_the_last_commit_is_the_one_that_changed_a_path(api, ada):
    model = samples.mlp()
    first = factories.version(ada, contents={"model.onnx": model, "a/x": b"1", "a/y": b"1"})
    contents = {"model.onnx": model, "a/x": b"2", "a/y": b"1"}
    second = factories.version(ada, first.model, contents)
    shown = api().get(f"{MODEL}/tree/main?recursive=true&expand=true").json()
    last = {entry["path"]: entry["lastCommit"]["id"] for entry in shown}
    assert last == {
        "README.md": first.commit_id, "model.onnx": first.commit_id, "a": second.commit_id,
        "a/x": second.commit_id, "a/y": first.commit_id,
    }  # fmt: skip


@pytest.mark.parametrize("form", ["application/json", "application/x-www-form-urlencoded"])
def test_some_paths(api, version, form):
    body = (
        '{"paths": ["config.json", "nope", "weights"], "expand": true}'
        if form == "application/json"
        else "paths=config.json&paths=nope&paths=weights&expand=True"
    )
    shown = api()("POST", f"{MODEL}/paths-info/main", body, content_type=form).json()
    assert [(entry["type"], entry["path"]) for entry in shown] == [
        ("file", "config.json"), ("directory", "weights"),
    ]  # fmt: skip
    assert {entry["lastCommit"]["id"] for entry in shown} == {version.commit_id}


@pytest.fixture
def shelf(ada, bob):
    """Public models of ada's, the last the newest; one of bob's is private."""
    for index, tags in enumerate(("[red]", "[red, blue]", "[blue]")):
        named = f"pipeline_tag: task-{index}\ntags: {tags}\nlibrary_name: lib{index}"
        card = f"---\nlicense: mit\n{named}\n---\nText."
        factories.version(ada, factories.model(ada, f"net{index}"), card=card)
    factories.version(bob, factories.model(bob, "own", visibility="private"))


LISTS = {
    "": "210",
    "search=net1": "1",
    "author=ADA": "210",
    "author=nobody": "",
    "filter=red": "10",
    "filter=red&filter=blue": "1",
    "filter=red,blue": "1",
    "filter=license:mit&filter=onnx&filter=lib2": "2",
    "filter=license:gpl": "",
    "pipeline_tag=task-0": "0",
    "filter=task-1": "1",
    "sort=createdAt": "210",
    "sort=createdAt&direction=-1&limit=2": "21",
    "sort=lastModified&full=True": "210",
    "sort=id": "210",
    "gated=true": "",
    "gated=False": "210",
    "inference=warm": "",
}


@pytest.mark.usefixtures("lists")
def test_a_list(api, shelf):
    for query, found in LISTS.items():
        shown = api().get(f"/api/models?{query}").json()
        assert [model["id"] for model in shown] == [f"ada/net{index}" for index in found], query
        full = "full" in query
        assert all(("sha" in model) is full is ("siblings" in model) for model in shown), query


@pytest.mark.usefixtures("lists")
def test_a_list_goes_on_where_its_link_says(api, bob, shelf):
    for order in ("", "&sort=createdAt", "&sort=downloads", "&sort=id"):
        address, seen = f"/api/models?limit=1{order}", []
        while address:
            response = api(bob).get(address)
            seen += [model["id"] for model in response.json()]
            link = response.get("Link", "")
            assert not link or '>; rel="next"' in link
            address = link[1 : link.find(">")].removeprefix("http://testserver")
        assert sorted(seen) == ["ada/net0", "ada/net1", "ada/net2", "bob/own"]


@pytest.mark.usefixtures("lists")
def test_a_list_asks_no_more_for_more_models(api, shelf):
    counts = []
    for limit in (1, 3):
        api().get("/api/models?full=true&sort=createdAt&limit=3")
        with CaptureQueriesContext(connection) as asked:
            api().get(f"/api/models?full=true&sort=createdAt&limit={limit}")
        counts.append(len(asked))
    assert counts[1] <= counts[0]


def test_an_unknown_order_is_refused(api, db):
    refused(api().get("/api/models?sort=beauty"), 400)
