"""Commits of a repository that has no ONNX model: every reader of the repository has them."""

from __future__ import annotations

import re

from registry.models import Commit, Membership, Version
from registry.versions.services import files as file_services
from registry.versions.services import registered_models, versions
from tests import factories, samples
from tests.api.protocols.huggingface.conftest import body, refused
from tests.api.protocols.huggingface.test_writing import (
    added,
    batch,
    commit,
    deleted,
    here,
    made,
    paths,
    pointed,
    sent,
)

ONNX = samples.mlp()
LARGE = b"tokens " * 2_000_000  # large enough for git-LFS


def titles(caller, revision="main"):
    answer = caller.get(f"/api/models/ada/net/commits/{revision}")
    assert answer.status_code == 200, answer.content
    return [row["title"] for row in answer.json()]


def test_every_reader_has_the_commits_of_a_tokenizer(writer, api, net):
    first = made(commit(writer, added("tokenizer.json", b"{}"), summary="First"))
    card = b"---\nlicense: mit\n---\n# Tokens\n"
    second = made(commit(writer, added("README.md", card), summary="Second"))
    guest = api()
    info = guest.get("/api/models/ada/net").json()
    assert info["sha"] == second
    assert info["cardData"] == {"license": "mit"}
    assert paths(guest, first) == ["tokenizer.json"]
    assert paths(guest, second) == ["README.md", "tokenizer.json"]
    assert titles(guest) == ["Second", "First"]
    answer = guest.get(f"/ada/net/resolve/{first}/tokenizer.json")
    assert body(answer) == b"{}"
    assert answer["X-Repo-Commit"] == first
    assert "immutable" not in answer["Cache-Control"]  # it may become private yet
    tree = guest.get("/api/models/ada/net/tree/main?recursive=true&expand=true").json()
    assert [row["path"] for row in tree] == ["README.md", "tokenizer.json"]
    assert guest.post("/api/models/ada/net/paths-info/main", {"paths": ["README.md"]}).json()
    assert refs_of(guest)["branches"] == {"main": second}


def test_the_page_of_the_repository_lists_its_files(writer, api, net):
    made(commit(writer, added("tokenizer.json", b"{}"), added("a b/words.txt", b"one two")))
    guest = api()
    page = guest.get("/models/ada/net").content.decode()
    paths = re.findall(r'href="(/ada/net/resolve/[^"]+)"', page)
    assert [body(guest.get(path)) for path in paths] == [b"one two", b"{}"]
    assert "No ONNX model has been published here." in page


def refs_of(caller):
    answer = caller.get("/api/models/ada/net/refs").json()
    return {
        kind: {ref["name"]: ref["targetCommit"] for ref in answer[kind]}
        for kind in ("branches", "tags")
    }


def test_from_the_first_model_on_only_what_is_published_is_for_readers(writer, api, net):
    card_only = made(commit(writer, added("README.md", b"# Soon\n"), summary="Card"))
    model = made(commit(writer, added("model.onnx", ONNX), summary="Model"))
    guest = api()
    assert guest.get("/api/models/ada/net").json()["sha"] == card_only
    refused(guest.get(f"/api/models/ada/net/revision/{model}"), 404, "RevisionNotFound")
    factories.work("failed")
    without = made(commit(writer, deleted("model.onnx"), summary="No model"))
    # The hub keeps the model of the commit before; nothing of it was proven.
    refused(guest.get(f"/ada/net/resolve/{without}/README.md"), 404, "RevisionNotFound")
    assert titles(writer) == ["No model", "Model", "Card"]
    assert titles(guest) == ["Card"]
    last = made(commit(writer, added("model.onnx", ONNX), summary="Again"))
    factories.work()
    assert guest.get("/api/models/ada/net").json()["sha"] == last
    assert titles(guest) == ["Again", "Card"]
    assert paths(guest, card_only) == ["README.md"]  # what was once readable stays so


def test_a_model_in_a_draft_by_hand_counts_too(writer, api, ada, net):
    factories.draft(ada, net, {"model.onnx": ONNX})
    oid = made(commit(writer, added("README.md", b"# Soon\n")))
    refused(api().get(f"/api/models/ada/net/revision/{oid}"), 401, "RepoNotFound")


def test_a_card_that_was_changed_by_hand_since_is_not_that_of_the_commit(writer, api, ada, net):
    made(commit(writer, added("README.md", b"---\nlicense: mit\n---\n# One\n")))
    text = "---\nlicense: apache-2.0\nname: Secret\n---\n# Two\n"
    file_services.write_card(ada, version=Version.objects.get(), text=text)
    for caller in (api(), writer):
        assert caller.get("/api/models/ada/net").json()["cardData"] == {"license": "mit"}


def test_who_may_not_see_the_repository_sees_no_commit(writer, api, ada, bob, net):
    oid = made(commit(writer, added("a.txt", b"a")))
    registered_models.edit(ada, model=net, visibility="private")
    for caller in (api(), api(bob)):
        answer = caller.get(f"/api/models/ada/net/revision/{oid}")
        refused(answer, 401 if caller.headers == {} else 404, "RepoNotFound")
        assert caller.get(f"/ada/net/resolve/{oid}/a.txt").status_code in (401, 404)
    Membership.objects.create(namespace=net.namespace, user=bob, role="reader")
    assert body(api(bob).get(f"/ada/net/resolve/{oid}/a.txt")) == b"a"


def test_a_gate_is_before_the_bytes_of_commits_too(writer, api, ada, net):
    oid = made(commit(writer, added("a.txt", b"a")))
    registered_models.edit(ada, model=net, gate="manual")
    assert paths(api(), oid) == ["a.txt"]
    refused(api().get(f"/ada/net/resolve/{oid}/a.txt"), 401, "GatedRepo")


def test_a_large_file_of_a_commit_is_an_object_for_readers(writer, api, net):
    entry = batch(writer, LARGE).json()["objects"][0]
    sent(api, entry["actions"]["upload"]["href"], LARGE)
    oid = made(commit(writer, pointed("vocab.txt", LARGE)))
    entry = batch(api(), LARGE, operation="download").json()["objects"][0]
    assert body(api().get(here(entry["actions"]["download"]["href"]))) == LARGE
    assert api()("HEAD", f"/ada/net/resolve/{oid}/vocab.txt")["X-Linked-Size"] == str(len(LARGE))


def test_a_branch_without_a_model_is_seen_with_its_first_commit(writer, api, net):
    base = made(commit(writer, added("a.txt", b"a")))
    writer.post("/api/models/ada/net/branch/next", {"startingPoint": "main"})
    writer.post("/api/models/ada/net/branch/empty", {"emptyBranch": True})
    assert refs_of(api())["branches"] == {"main": base, "next": base}
    oid = made(commit(writer, added("b.txt", b"b"), branch="next"))
    assert refs_of(api())["branches"] == {"main": base, "next": oid}
    assert paths(api(), "next") == ["a.txt", "b.txt"]
    refused(api().get("/api/models/ada/net/revision/empty"), 404, "RevisionNotFound")


def test_a_deleted_draft_is_gone_for_readers(writer, api, ada, net):
    oid = made(commit(writer, added("a.txt", b"a")))
    versions.delete_draft(ada, version=Version.objects.get())
    assert not Commit.objects.exists()
    refused(api().get(f"/api/models/ada/net/revision/{oid}"), 404, "RevisionNotFound")
    assert api().get("/api/models/ada/net/tree/main").json() == []


def test_a_withdrawn_version_takes_the_commits_before_it_along(writer, api, ada, net):
    oid = made(commit(writer, added("secret.txt", b"oops")))
    made(commit(writer, added("model.onnx", ONNX)))
    factories.work()
    assert body(api().get(f"/ada/net/resolve/{oid}/secret.txt")) == b"oops"
    versions.withdraw(ada, version=Version.objects.get(), reason="a secret")
    refused(api().get(f"/ada/net/resolve/{oid}/secret.txt"), 404, "RevisionNotFound")
