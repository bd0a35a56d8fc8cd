"""Writing through the Hub protocol: repositories, commits, branches, tags, LFS and Xet."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from registry.models import (
    Blob,
    Branch,
    Commit,
    Ref,
    RegisteredModel,
    Upload,
    Version,
    XetStore,
    Xorb,
    XorbPart,
)
from registry.storage import collector
from registry.storage.files import store
from registry.storage.xet import chunks
from registry.storage.xet import collector as xet_collector
from registry.versions import history
from registry.versions.services import files as file_services
from registry.versions.services import versions
from tests import factories, samples, xet_samples
from tests.api.protocols.huggingface.conftest import refused

ONNX = samples.mlp()
HEADER = {"key": "header", "value": {"summary": "A change", "description": ""}}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def added(path, content):
    value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
    return {"key": "file", "value": value}


def pointed(path, content, **more):
    value = {"path": path, "algo": "sha256", "oid": sha256(content), "size": len(content)}
    return {"key": "lfsFile", "value": value | more}


def deleted(path, kind="deletedFile"):
    return {"key": kind, "value": {"path": path}}


def commit(client, *lines, to="ada/net", branch="main", header=HEADER, **said):
    if said:
        header = {"key": "header", "value": header["value"] | said}
    body = "\n".join(json.dumps(line) for line in [header, *lines])
    path = f"/api/models/{to}/commit/{branch}"
    return client.post(path, body, content_type="application/x-ndjson")


def made(answer):
    assert answer.status_code == 200, answer.content
    return answer.json()["commitOid"]


def paths(client, revision="main", of="ada/net"):
    answer = client.get(f"/api/models/{of}/revision/{revision}")
    assert answer.status_code == 200, answer.content
    return [file["rfilename"] for file in answer.json()["siblings"]]


# Repositories.


def test_an_administrator_makes_a_model_in_the_namespace_of_that_name(api, admin):
    made = api(admin).post("/api/repos/create", {"name": "net"})
    assert (made.status_code, made.json()["name"]) == (200, "admin/net")
    assert api(admin).get("/api/whoami-v2").json()["name"] == "admin"


def test_a_model_is_made_and_made_again(writer, db):
    first = writer.post("/api/repos/create", {"name": "net", "organization": None})
    assert first.status_code == 200
    assert first.json()["url"] == "http://testserver/ada/net"
    again = writer.post("/api/repos/create", {"name": "net", "private": False})
    assert again.status_code == 409
    assert again.json()["url"] == first.json()["url"]
    sha = writer.get("/api/models/ada/net").json()["sha"]
    assert len(sha) == 40


def test_first_files_are_the_first_commit(writer, db):
    files = [{"path": "a.txt", "content": base64.b64encode(b"a").decode(), "encoding": "base64"}]
    writer.post("/api/repos/create", {"name": "net", "visibility": "private", "files": files})
    model = RegisteredModel.objects.get()
    assert model.visibility == "private"
    assert paths(writer) == ["a.txt"]


@pytest.mark.usefixtures("lists")
def test_a_name_that_is_retired_is_no_model_that_exists(writer, ada):
    version = factories.version(ada)
    writer("DELETE", "/api/repos/delete", {"name": "net"})
    assert not RegisteredModel.objects.filter(pk=version.model_id, deleted_at=None).exists()
    refused(writer.post("/api/repos/create", {"name": "net"}), 400)


def test_who_may_not_write_makes_and_deletes_nothing(api, ada, bob, net):
    refused(api(bob).post("/api/repos/create", {"name": "x", "organization": "ada"}), 403)
    refused(api().post("/api/repos/create", {"name": "x"}), 401)
    refused(api(ada, ["read"]).post("/api/repos/create", {"name": "x"}), 403)
    refused(api(ada, ["read"])("DELETE", "/api/repos/delete", {"name": "net"}), 403)
    refused(api(bob)("DELETE", "/api/repos/delete", {"name": "ada/net"}), 404, "RepoNotFound")
    assert RegisteredModel.objects.filter(deleted_at=None).count() == 1


def test_a_model_is_hidden_and_shown(writer, api, ada, published_net):
    assert writer.put("/api/models/ada/net/settings", {"private": True}).status_code == 200
    refused(api().get("/api/models/ada/net"), 401, "RepoNotFound")
    writer.put("/api/models/ada/net/settings", {"visibility": "public"})
    assert api().get("/api/models/ada/net").status_code == 200
    refused(writer.put("/api/models/ada/net/settings", {"gated": "sometimes"}), 400)


@pytest.fixture
def published_net(ada):
    return factories.published(ada)


# Preupload.


def test_preupload_says_how_each_file_comes(writer, ada):
    big = bytes(1_000_001)
    factories.version(ada, contents={"model.onnx": ONNX, "w.onnx_data": big})
    asked = [
        {"path": "model.onnx", "size": len(ONNX), "sample": ""},
        {"path": "w.onnx_data", "size": len(big), "sample": ""},
        {"path": "new.txt", "size": 20_000_000, "sample": ""},
        {"path": "skip.tmp", "size": 1, "sample": ""},
    ]
    answer = writer.post(
        "/api/models/ada/net/preupload/main", {"files": asked, "gitIgnore": "*.tmp\n"}
    )
    files = {file["path"]: file for file in answer.json()["files"]}
    assert [files[f["path"]]["uploadMode"] for f in asked] == ["regular", "lfs", "lfs", "regular"]
    assert [files[f["path"]]["shouldIgnore"] for f in asked] == [False, False, False, True]
    assert len(files["model.onnx"]["oid"]) == 40
    assert files["w.onnx_data"]["oid"] == sha256(big)
    assert "oid" not in files["new.txt"]


@pytest.mark.parametrize("path", ["con.txt", "a.", "MODEL.onnx"])
def test_preupload_refuses_names_that_some_system_cannot_hold(writer, ada, published_net, path):
    asked = [{"path": name, "size": 9} for name in (path, "model.onnx")]
    answer = writer.post("/api/models/ada/net/preupload/main", {"files": asked})
    assert answer.status_code == 400
    assert "Rename" in answer.json()["error"]


def test_preupload_refuses_strangers_and_pull_requests(writer, api, bob, published_net):
    path = "/api/models/ada/net/preupload/main"
    refused(api(bob).post(path, {"files": []}), 403)
    refused(writer.post(f"{path}?create_pr=1", {"files": []}), 400)
    refused(
        writer.post("/api/models/ada/net/preupload/nope", {"files": []}), 404, "RevisionNotFound"
    )


# Commits.


def test_a_commit_is_read_by_its_writer_at_once_and_by_others_when_it_passed(writer, api, net):
    oid = made(commit(writer, added("model.onnx", ONNX), added("README.md", b"# A net\n")))
    assert paths(writer, oid) == ["README.md", "model.onnx"]
    assert writer("HEAD", "/ada/net/resolve/main/model.onnx")["X-Repo-Commit"] == oid
    refused(api().get("/api/models/ada/net"), 401, "RepoNotFound")
    version = Version.objects.get()
    assert (version.state, version.publish_requested) == ("submitted", True)
    factories.work()
    version.refresh_from_db()
    assert version.state == "published"
    assert api().get("/api/models/ada/net").json()["sha"] == oid
    assert Ref.objects.get(name="main").version == version


def test_several_commits_before_it_is_public_are_one_version_and_each_id_resolves(writer, net):
    first = made(commit(writer, added("config.json", b"{}")))
    assert Version.objects.get().state == "draft"
    second = made(commit(writer, added("model.onnx", ONNX)))
    third = made(commit(writer, added("notes.txt", b"x")))
    version = Version.objects.get()
    assert (version.number, version.commit_id, version.state) == (1, third, "submitted")
    assert paths(writer, first) == ["config.json"]
    assert paths(writer, second) == ["config.json", "model.onnx"]
    assert paths(writer, third) == ["config.json", "model.onnx", "notes.txt"]
    factories.work()
    fourth = made(commit(writer, deleted("notes.txt")))
    assert sorted(Version.objects.values_list("number", "commit_id")) == [(1, third), (2, fourth)]
    assert Version.objects.get(number=2).parent.number == 1


def test_writers_see_each_commit_and_readers_what_precedes_a_model_or_is_public(writer, api, net):
    made(commit(writer, added("config.json", b"{}"), summary="First"))
    made(commit(writer, added("model.onnx", ONNX), summary="Second"))
    third = made(commit(writer, added("notes.txt", b"x"), summary="Third"))
    factories.work()
    fourth = made(commit(writer, added("more.txt", b"y"), summary="Fourth"))

    def titles(caller, revision="main"):
        answer = caller.get(f"/api/models/ada/net/commits/{revision}")
        return [row["title"] for row in answer.json()]

    assert titles(writer) == ["Fourth", "Third", "Second", "First"]
    assert titles(writer, third) == ["Third", "Second", "First"]
    assert titles(api()) == ["Third", "First"]
    rows = writer.get("/api/models/ada/net/tree/main?expand=true").json()
    assert {row["path"]: row["lastCommit"]["title"] for row in rows} == {
        "config.json": "First",
        "model.onnx": "Second",
        "more.txt": "Fourth",
        "notes.txt": "Third",
    }
    factories.work()
    assert titles(api()) == ["Fourth", "Third", "First"]
    assert titles(api(), fourth) == ["Fourth", "Third", "First"]


def test_a_card_describes_its_model_from_its_commit_on(writer, net):
    card = b"---\nlicense: mit\npipeline_tag: text-classification\ntags: [tiny]\n---\n"
    made(commit(writer, added("README.md", card)))
    info = writer.get("/api/models/ada/net").json()
    assert info["pipeline_tag"] == "text-classification"
    assert {"tiny", "text-classification", "license:mit"} <= set(info["tags"])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param(
            "discussions/1/merge",
            "no pull requests",
            marks=pytest.mark.capability("community"),
        ),
        ("lfs-files/batch", "list_repo_tree"),
        ("duplicate", "does not duplicate"),
    ],
)
def test_what_this_hub_has_not_is_refused_in_words(writer, api, net, path, words):
    answer = writer.post(f"/api/models/ada/net/{path}", {})
    refused(answer, 400)
    assert words in answer["X-Error-Message"]
    refused(api().post(f"/api/models/ada/none/{path}", {}), 401, "RepoNotFound")


@pytest.mark.parametrize(
    "path",
    [
        "users/ada/overview",
        "users/ada/followers",
        "organizations/ada/members",
        "models-tags-by-type",
    ],
)
def test_what_this_hub_does_not_say_of_people_is_refused_in_words(api, ada, path):
    for existing in (path, path.replace("ada", "nobody")):
        refused(api().get(f"/api/{existing}"), 400)


def test_the_public_reads_no_commit_that_was_amended(writer, api, net):
    first = made(commit(writer, added("model.onnx", ONNX), added("secret.txt", b"oops")))
    made(commit(writer, deleted("secret.txt")))
    factories.work()
    guest = api()
    assert paths(guest) == ["model.onnx"]
    refused(guest.get(f"/api/models/ada/net/revision/{first}"), 404, "RevisionNotFound")
    refused(guest.get(f"/ada/net/resolve/{first}/secret.txt"), 404, "RevisionNotFound")


def test_another_writers_commit_takes_a_number_of_its_own(writer, api, net, ada, bob):
    from registry.models import Membership

    Membership.objects.create(namespace=net.namespace, user=bob, role="writer")
    made(commit(writer, added("model.onnx", ONNX)))
    made(commit(api(bob), added("b.txt", b"b")))
    assert list(Version.objects.values_list("number", "created_by__username").order_by("pk")) == [
        (1, "ada"),
        (2, "bob"),
    ]


def test_a_commit_that_fails_its_checks_stays_the_writers_head_and_is_mended(writer, api, net):
    first = made(commit(writer, added("model.onnx", ONNX)))
    factories.work("failed")
    version = Version.objects.get()
    assert version.state == "draft"
    assert writer.get("/api/models/ada/net").json()["sha"] == first
    answer = writer.post("/api/models/ada/net/preupload/main", {"files": []})
    assert "did not pass its checks" in answer["X-HF-Warning"]
    second = made(commit(writer, added("model.onnx", samples.mlp(hidden=3)), parentCommit=first))
    version.refresh_from_db()
    assert (version.state, version.commit_id) == ("submitted", second)
    factories.work()
    assert api().get("/api/models/ada/net").json()["sha"] == second


def test_a_draft_changed_by_hand_is_left_alone(writer, ada, net):
    made(commit(writer, added("config.json", b"{}")))
    draft = Version.objects.get()
    file_services.write_card(ada, version=draft, text="# By hand\n")
    made(commit(writer, added("model.onnx", ONNX)))
    assert sorted(draft.files.values_list("path", flat=True)) == ["README.md", "config.json"]
    assert paths(writer) == ["config.json", "model.onnx"]


def test_a_deleted_draft_takes_its_commits_along(writer, ada, net):
    empty = writer.get("/api/models/ada/net").json()["sha"]
    made(commit(writer, added("config.json", b"{}")))
    versions.delete_draft(ada, version=Version.objects.get())
    assert writer.get("/api/models/ada/net").json()["sha"] == empty
    assert not Commit.objects.exists()


def test_changes_apply_in_their_order(writer, net):
    made(commit(writer, added("model.onnx", ONNX), added("old/a.txt", b"a"), added("old/b", b"b")))
    made(
        commit(
            writer,
            deleted("old/", "deletedFolder"),
            added("old", b"a file now"),
            added("gone.txt", b"x"),
            deleted("gone.txt"),
        )
    )
    assert paths(writer) == ["model.onnx", "old"]


def test_nothing_new_is_no_new_commit(writer, net):
    first = made(commit(writer, added("model.onnx", ONNX)))
    assert made(commit(writer, added("model.onnx", ONNX))) == first
    assert Commit.objects.count() == 1


@pytest.mark.parametrize(
    ("lines", "status", "code", "words"),
    [
        ([deleted("nope.txt")], 404, "EntryNotFound", "A file with this name doesn't exist"),
        ([added("README.md", b"---\nlicense: [\n---\n")], 400, "", "Line 2"),
        ([added("README.md", b"---\ntags: {a: 1}\n---\n")], 400, "", "tags"),
        ([added("../up", b"x")], 400, "", "path"),
        ([added("a", b"x"), added("a/b", b"x")], 400, "", "one is a folder"),
        ([added("bad.onnx", b"PK\x03\x04zip")], 400, "", "zip"),
        ([pointed("w.bin", b"never uploaded")], 400, "", "you have not uploaded it"),
        ([{"key": "rename", "value": {}}], 400, "", "unknown"),
        ([HEADER], 400, "", "one header"),
        ([[]], 400, "", "key and value"),
    ],
)
def test_a_commit_that_is_wrong_anywhere_applies_nowhere(writer, net, lines, status, code, words):
    before = made(commit(writer, added("model.onnx", ONNX)))
    answer = commit(writer, added("good.txt", b"good"), *lines)
    refused(answer, status, code)
    assert words in answer.json()["error"]
    assert writer.get("/api/models/ada/net").json()["sha"] == before
    assert Version.objects.count() == 1


def test_a_commit_on_another_head_is_412(writer, net):
    first = made(commit(writer, added("model.onnx", ONNX)))
    made(commit(writer, added("a.txt", b"a"), parentCommit=first[:7]))
    answer = commit(writer, added("b.txt", b"b"), parentCommit=first)
    refused(answer, 412)
    assert paths(writer) == ["a.txt", "model.onnx"]


def test_lines_that_are_too_long_or_cut_are_refused(writer, net):
    long = b'{"key":"file","value":{"path":"a","content":"' + b"A" * 14_000_000
    answer = writer.post("/api/models/ada/net/commit/main", long)
    refused(answer, 413)
    refused(writer.post("/api/models/ada/net/commit/main", b'{"key": '), 400)
    refused(writer.post("/api/models/ada/net/commit/main", b""), 400)
    assert not Version.objects.exists()


def test_a_body_larger_than_django_holds_is_streamed(writer, net):
    contents = [bytes([number]) * 900_000 for number in range(8)]
    lines = [added(f"{number}.txt", content) for number, content in enumerate(contents)]
    made(commit(writer, added("model.onnx", ONNX), *lines))
    answer = writer.get("/ada/net/resolve/main/7.txt")
    assert b"".join(answer.streaming_content) == contents[7]


def test_limits_hold_for_commits_too(writer, net):
    with override_settings(HUB_LIMITS_FILES=2):
        refused(commit(writer, *[added(f"{n}.txt", b"x") for n in range(3)]), 413)
    with override_settings(HUB_LIMITS_NAMESPACE_BYTES=10):
        refused(commit(writer, added("a.txt", b"more than ten bytes")), 413)
    assert not Version.objects.exists()


def test_bytes_of_amended_commits_count(writer, net):
    with override_settings(HUB_LIMITS_NAMESPACE_BYTES=2_500):
        made(commit(writer, added("a.txt", bytes(1_000))))
        made(commit(writer, added("a.txt", b"1" * 1_000)))
        refused(commit(writer, added("a.txt", b"2" * 1_000)), 413)


def test_who_may_not_write_commits_nothing(api, ada, bob, published_net):
    refused(commit(api(bob), added("a", b"a")), 403)
    refused(commit(api(), added("a", b"a")), 401)
    refused(commit(api(ada, ["read"]), added("a", b"a")), 403)
    assert Version.objects.count() == 1


# Branches and tags.


def test_a_branch_begins_where_it_is_told_and_moves_alone(writer, api, net):
    main = made(commit(writer, added("model.onnx", ONNX)))
    factories.work()
    assert writer.post("/api/models/ada/net/branch/dev", {}).status_code == 201
    refused(writer.post("/api/models/ada/net/branch/dev", {}), 409)
    refused(writer.post("/api/models/ada/net/branch/main", {}), 409)
    dev = made(commit(writer, added("dev.txt", b"dev"), branch="dev"))
    assert paths(writer, "dev") == ["dev.txt", "model.onnx"]
    assert writer.get("/api/models/ada/net").json()["sha"] == main
    factories.work()
    assert Version.objects.get(commit_id=dev).parent.commit_id == main
    assert api().get("/api/models/ada/net").json()["sha"] == main
    assert paths(api(), "dev") == ["dev.txt", "model.onnx"]
    assert writer.delete("/api/models/ada/net/branch/dev").status_code == 200
    refused(writer.delete("/api/models/ada/net/branch/dev"), 404, "RevisionNotFound")
    refused(commit(writer, added("x", b"x"), branch="dev"), 404, "RevisionNotFound")
    assert paths(api(), dev) == ["dev.txt", "model.onnx"]


def test_a_branch_of_an_empty_model_and_one_made_again(writer, net):
    writer.post("/api/models/ada/net/branch/feature%2Fone", {"startingPoint": "main"})
    made(commit(writer, added("a.txt", b"a"), branch="feature%2Fone"))
    assert paths(writer, "feature%2Fone") == ["a.txt"]
    writer.post(
        "/api/models/ada/net/branch/feature%2Fone", {"overwrite": True, "emptyBranch": True}
    )
    assert history.head(net, "feature/one") is None
    assert Branch.objects.count() == 1


# git-LFS.

BATCH = "/ada/net.git/info/lfs/objects/batch"


def batch(client, *contents, path=BATCH, operation="upload", transfers=("basic", "multipart")):
    objects = [{"oid": sha256(content), "size": len(content)} for content in contents]
    body = {"operation": operation, "transfers": transfers, "objects": objects}
    return client.post(path, body | {"hash_algo": "sha256"})


def here(address):
    return address.removeprefix("http://testserver")


def sent(api, address, content):
    """PUT to a signed address, as clients do: without a token."""
    return api().put(here(address), content, content_type="application/octet-stream")


def test_an_object_comes_to_a_signed_address_and_is_committed(writer, api, net):
    content = b"weights" * 1_000
    answer = batch(writer, content)
    assert answer["Content-Type"] == "application/vnd.git-lfs+json"
    assert answer.json()["transfer"] == "basic"
    actions = answer.json()["objects"][0]["actions"]
    verify = here(actions["verify"]["href"])
    told = {"oid": sha256(content), "size": len(content)}
    # git-lfs sends no token there, huggingface_hub does.
    assert api().post(verify, told).status_code == writer.post(verify, told).status_code == 404
    assert sent(api, actions["upload"]["href"], content).status_code == 200
    assert api().post(verify, told).status_code == writer.post(verify, told).status_code == 200
    assert api().post(verify, told | {"size": 1}).status_code == 404
    assert api().post(verify + "x", told).status_code == 403
    assert "actions" not in batch(writer, content).json()["objects"][0]
    made(commit(writer, pointed("w.bin", content), added("model.onnx", ONNX)))
    copy = {"key": "lfsFile", "value": {"path": "w2.bin", "algo": "sha256", "oid": sha256(content)}}
    made(commit(writer, copy))
    fetched = writer.get("/ada/net/resolve/main/w2.bin")
    assert b"".join(fetched.streaming_content) == content


def test_wrong_bytes_are_not_kept(writer, api, net):
    content = b"right"
    href = batch(writer, content).json()["objects"][0]["actions"]["upload"]["href"]
    assert sent(api, href, b"wrong").status_code == 400
    assert not Blob.objects.exists()
    refused(commit(writer, pointed("w.bin", content)), 400)
    href = batch(writer, content).json()["objects"][0]["actions"]["upload"]["href"]
    assert sent(api, href, b"rig").status_code == 400
    assert sent(api, href, content).status_code == 200


def test_an_object_of_another_model_is_no_right(writer, api, bob, net):
    private = factories.model(bob, "secret", visibility="private")
    content = b"secret weights"
    other = api(bob)
    assert private.ref == "bob/secret"
    path = "/bob/secret.git/info/lfs/objects/batch"
    href = batch(other, content, path=path).json()["objects"][0]["actions"]["upload"]["href"]
    assert sent(api, href, content).status_code == 200
    assert "actions" in batch(writer, content).json()["objects"][0]
    refused(commit(writer, pointed("stolen.bin", content)), 400)
    mine = factories.model(bob, "mine")
    refused(commit(other, pointed("mine.bin", content), to=mine.ref), 400)
    assert batch(writer, content, path=path).status_code == 404
    assert batch(api(), content, path=path).status_code == 401


def test_an_object_comes_in_parts(writer, api, net, settings):
    settings.HUB_LIMITS_PUT_BYTES = 1_000
    content = bytes(range(250)) * 10
    answer = batch(writer, content).json()
    assert answer["transfer"] == "multipart"
    upload = answer["objects"][0]["actions"]["upload"]
    urls = {name: url for name, url in upload["header"].items() if name.isdigit()}
    assert (upload["header"]["chunk_size"], sorted(urls)) == ("1000", ["00001", "00002", "00003"])
    etags = []
    for number in (3, 1, 2):
        part = content[(number - 1) * 1_000 : number * 1_000]
        if number == 2:
            told = {"oid": sha256(content), "parts": etags}
            assert api().post(here(upload["href"]), told).status_code == 400
        put = sent(api, urls[f"{number:05}"], part)
        assert put.status_code == 200
        etags.append({"partNumber": number, "etag": put["ETag"]})
        if number == 3:  # another secret key does not end what is under way
            settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
            settings.SECRET_KEY = "another"
    told = {"oid": sha256(content), "parts": etags}
    assert api().post(here(upload["href"]), told).status_code == 200
    made(commit(writer, pointed("w.bin", content)))
    assert not list(store().root.glob("staging/*"))


def test_signed_addresses_end_and_are_for_one_upload(writer, api, net, ada):
    href = batch(writer, b"abc").json()["objects"][0]["actions"]["upload"]["href"]
    assert sent(api, href[:-1] + ("a" if href[-1] != "a" else "b"), b"abc").status_code == 403
    with override_settings(SECRET_KEY="another"):
        assert sent(api, href, b"abc").status_code == 403
    Upload.objects.all().delete()
    assert sent(api, href, b"abc").status_code == 404


def test_an_object_that_is_readable_is_fetched(writer, api, ada):
    content = bytes(1_100_000)
    factories.version(ada, contents={"model.onnx": ONNX, "w.onnx_data": content})
    told = batch(api(), content, operation="download").json()["objects"][0]
    got = api().get(here(told["actions"]["download"]["href"]))
    assert b"".join(got.streaming_content) == content
    assert batch(api(), b"unknown", operation="download").json()["objects"][0]["error"]


# Xet.


class Xet:
    """What hf_xet does, in the order in which it does it."""

    def __init__(self, client, api, model="ada/net"):
        answer = client.get(f"/api/models/{model}/xet-write-token/main")
        assert answer.status_code == 200, answer.content
        told = answer.json()
        assert answer["X-Xet-Cas-Url"] == told["casUrl"]
        assert answer["X-Xet-Access-Token"] == told["accessToken"]
        assert answer["X-Xet-Token-Expiration"] == str(told["exp"])
        self.guest = api()
        self.cas = here(told["casUrl"])
        self.headers = {"Authorization": f"Bearer {told['accessToken']}"}

    def post(self, path, content=b"", **headers):
        return self.guest.post(f"{self.cas}/{path}", content, **(self.headers | headers))

    def xorb(self, *contents, scheme=0):
        name, body = xet_samples.xorb(*contents, scheme=scheme)
        return name, self.post(f"v1/xorbs/default/{name}", body)

    def shard(self, *files):
        return self.post("v1/shards", xet_samples.shard(*files))


@pytest.fixture
def xet(writer, api, net):
    return Xet(writer, api)


ONE, TWO, THREE = b"a" * 70_000, b"b" * 50_001, b"c" * 9


@pytest.mark.capability("xet")
def test_a_file_comes_in_chunks_and_a_later_one_names_the_same(writer, xet, net, events_delivered):
    name, answer = xet.xorb(ONE, TWO, THREE, scheme=2)
    assert (answer.status_code, answer.json()) == (200, {"was_inserted": True})
    assert xet.xorb(ONE, TWO, THREE, scheme=2)[1].json() == {"was_inserted": False}
    content = ONE + TWO
    answer = xet.shard((sha256(content), [(name, 0, 2, len(content))]))
    assert (answer.status_code, answer.json()) == (200, {"result": 1})
    made(commit(writer, pointed("w.bin", content), added("model.onnx", ONNX)))
    assert Xorb.objects.get().is_kept
    whole = THREE + TWO + ONE
    terms = [(name, 2, 3, len(THREE)), (name, 1, 2, len(TWO)), (name, 0, 1, len(ONE))]
    with events_delivered():
        assert xet.shard((sha256(whole), terms)).status_code == 200
    kept = Xorb.objects.get()
    assert not kept.is_kept
    with pytest.raises(FileNotFoundError):
        store().get(chunks.key_of(str(kept.store), kept.name))
    again = TWO + THREE + TWO
    terms = [(name, 1, 3, len(TWO + THREE)), (name, 1, 2, len(TWO))]
    assert xet.shard((sha256(again), terms)).status_code == 200
    made(commit(writer, pointed("again.bin", again)))
    fetched = writer.get("/ada/net/resolve/main/again.bin")
    assert b"".join(fetched.streaming_content) == again


@pytest.mark.capability("xet")
@pytest.mark.parametrize(
    "path",
    [
        "v1/chunks/default/00",
        "v1/xorb-grants/default/00",
        "v1/xorb-commits/default/00/grant/1",
        "v2/shards",
        "v1/whatever",
    ],
)
def test_what_is_not_there_is_404_for_everybody(xet, api, path):
    for method in ("GET", "POST", "PUT", "HEAD"):
        assert api()(method, f"{xet.cas}/{path}").status_code == 404
    assert api().get(f"{xet.cas}/v1/shards", **xet.headers).status_code == 404


@pytest.mark.capability("xet")
def test_hostile_xorbs_and_shards_leave_nothing(xet):
    name, body = xet_samples.xorb(ONE)
    other, _ = xet_samples.xorb(TWO)
    assert xet.post(f"v1/xorbs/default/{other}", body).status_code == 400
    assert xet.post(f"v1/xorbs/default/{name}", body[:-1]).status_code == 400
    assert xet.post("v1/xorbs/default/nothex", body).status_code == 400
    assert not Xorb.objects.exists()
    xet.xorb(ONE)
    for terms in (
        [(other, 0, 1, len(TWO))],
        [(name, 0, 2, len(ONE))],
        [(name, 0, 1, len(ONE) + 1)],
    ):
        assert xet.shard((sha256(ONE), terms)).status_code == 400
    good = (sha256(ONE), [(name, 0, 1, len(ONE))])
    wrong = (sha256(b"else"), [(name, 0, 1, len(ONE))])
    assert xet.shard(good, wrong).status_code == 400
    assert xet.post("v1/shards", xet_samples.shard(good)[:-30]).status_code == 400
    assert not Upload.objects.exclude(state=Upload.State.ABANDONED).exists()
    assert not XorbPart.objects.exists()
    assert not list(store().root.glob("staging/*"))
    assert xet.shard(good).status_code == 200


@pytest.mark.capability("xet")
def test_a_small_shard_cannot_fill_the_hub(xet, settings):
    name, _ = xet.xorb(ONE)
    settings.HUB_LIMITS_NAMESPACE_BYTES = 10 * len(ONE)
    terms = [(name, 0, 1, len(ONE))] * 11
    assert xet.shard((sha256(ONE * 11), terms)).status_code == 413
    assert not Upload.objects.exists()


@pytest.mark.capability("xet")
def test_a_store_is_of_one_model_and_its_token_too(xet, writer, api, bob, ada, net):
    name, _ = xet.xorb(ONE)
    theirs = factories.model(bob, "theirs")
    other = Xet(api(bob), api, theirs.ref)
    assert other.shard((sha256(ONE), [(name, 0, 1, len(ONE))])).status_code == 400
    xet.headers, mine = other.headers, xet.headers
    assert xet.xorb(TWO)[1].status_code == 401
    xet.headers = {"Authorization": "Bearer nonsense"}
    assert xet.xorb(TWO)[1].status_code == 401
    xet.headers = mine
    refused(api(bob).get("/api/models/ada/net/xet-write-token/main"), 404, "RepoNotFound")
    refused(api(ada, ["read"]).get("/api/models/ada/net/xet-write-token/main"), 403)
    ada.tokens.all().delete()
    assert xet.xorb(TWO)[1].status_code == 401


@pytest.mark.capability("xet")
def test_what_a_session_may_write_ends_with_the_password(client, api, ada, net):
    client.force_login(ada)
    xet = Xet(client, api)
    assert xet.xorb(ONE)[1].status_code == 200
    ada.set_password("another long password")
    ada.save()
    assert xet.xorb(TWO)[1].status_code == 401


@pytest.mark.capability("xet")
def test_what_is_collected_ends_the_epoch_and_nothing_of_a_living_one_is_lost(writer, xet, net):
    name, _ = xet.xorb(ONE)
    xet.shard((sha256(ONE), [(name, 0, 1, len(ONE))]))
    Upload.objects.all().delete()
    long_ago = timezone.now() - timedelta(days=3)
    Blob.objects.update(touched_at=long_ago)
    assert collector.collect() == 0  # the store was used just now
    assert xet.shard((sha256(ONE), [(name, 0, 1, len(ONE))])).status_code == 200
    Upload.objects.all().delete()
    Blob.objects.update(touched_at=long_ago)
    XetStore.objects.update(used_at=long_ago)
    assert collector.collect() == 1
    assert not Xorb.objects.exists()
    assert xet.xorb(ONE)[1].status_code == 404
    after = writer.get("/api/models/ada/net/xet-write-token/main").json()["casUrl"]
    assert here(after) != xet.cas


@pytest.mark.capability("xet")
def test_lost_bytes_end_the_epoch_so_that_they_are_sent_again(xet, writer, api, net):
    name, _ = xet.xorb(ONE)
    kept = Xorb.objects.get()
    store().delete([chunks.key_of(str(kept.store), kept.name)])
    assert xet.shard((sha256(ONE), [(name, 0, 1, len(ONE))])).status_code == 400
    fresh = Xet(writer, api)
    assert fresh.cas != xet.cas
    assert fresh.xorb(ONE)[1].json() == {"was_inserted": True}
    assert fresh.shard((sha256(ONE), [(name, 0, 1, len(ONE))])).status_code == 200


@pytest.mark.capability("xet")
def test_idle_stores_with_chunks_that_no_file_holds_are_emptied(xet, net):
    xet.xorb(ONE)
    assert xet_collector.collect() == 0
    XetStore.objects.update(used_at=timezone.now() - timedelta(days=8))
    assert xet_collector.collect() == 1
    assert not Xorb.objects.exists()


def test_parts_cover_a_xorb_or_do_not():
    xorb = Xorb(lengths=chunks.pack_lengths([1, 2, 3]))
    assert chunks.is_covered(xorb, [XorbPart(start=1, end=3), XorbPart(start=0, end=2)])
    assert not chunks.is_covered(xorb, [XorbPart(start=0, end=1), XorbPart(start=2, end=3)])
